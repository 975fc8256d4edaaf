"""The server's record of its devices: in the current round, in past ones, and of all rounds as a participation."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ehfl.arrays import FloatArray, IntArray, Levels
from ehfl.energy import EnergyTotals, Fleet
from ehfl.flower.wire.messages import Answer
from ehfl.runs import Devices, as_reason
from ehfl.scheduling import Participation

log = logging.getLogger("ehfl.flower")


class Seen:
    """The rounds as seen by the server; the last one is in progress."""

    def __init__(self, n_clients: int) -> None:
        self._n_clients = n_clients
        self.past: list[Devices] = []
        self.energy: dict[int, int] = {}  # client -> level reported at the start of this round
        self.asked: set[int] = set()  # clients that got an order in this round
        self.lost: dict[int, str] = {}  # client -> reason why its update is not used
        self.own_data = False  # whether any client has its own data
        self._spent = [0] * n_clients  # known payments of each client since the first round
        self._reported = [0] * n_clients  # payments in its account at its last report

    def begin(self, heard: Mapping[int, Answer]) -> None:
        """Begin a round with the clients' levels and payments."""
        self.asked, self.lost = set(), {}
        self.energy = {client: answer.energy for client, answer in heard.items()}
        self.own_data |= any(answer.owns_data for answer in heard.values())
        for client, answer in heard.items():
            if answer.totals.paid < self._reported[client]:
                log.warning("client %d: its account said %d paid and now says %d: an older one was put back, or it was "
                            "lost; what was paid is counted all the same",
                            client, self._reported[client], answer.totals.paid)  # fmt: skip
            self.paid(answer)

    @property
    def levels(self) -> Levels:
        """Return each client's level, (n_clients,); 0 for clients without a report, so that they are not selected."""
        energy: Levels = np.zeros(self._n_clients, np.int32)
        energy[list(self.energy)] = list(self.energy.values())
        return energy

    def paid(self, answer: Answer) -> None:
        """Record a client's payments so far."""
        self._reported[answer.client] = answer.totals.paid
        self._spent[answer.client] = max(self._spent[answer.client], answer.totals.paid)

    def counts(self, client: int, cost: int) -> None:
        """Record the cost of a used turn, which the report of a lost account may not contain."""
        before = self.past[-1].spent[client] if self.past else 0
        self._spent[client] = max(self._spent[client], before + cost)

    def lose(self, client: int, reason: str) -> None:
        """Record why a client with an order is left out."""
        self.lost[client] = as_reason(reason)
        log.warning("round %d: client %d is left out: %s", len(self.past), client, self.lost[client])

    def unheard(self, kept: Iterable[int]) -> list[int]:
        """Return the clients with an order that are neither kept nor lost."""
        return sorted(self.asked - set(kept) - self.lost.keys())

    def end(self) -> Devices:
        """End the round; return its record of the devices."""
        energy = tuple(self.energy.get(client) for client in range(self._n_clients))
        seen = Devices(energy, tuple(sorted(self.asked)), dict(self.lost), tuple(self._spent))
        self.past.append(seen)
        return seen

    def replay(self, seen: Devices) -> None:
        """Restore a round of an earlier process."""
        self._spent, self._reported = list(seen.spent), list(seen.spent)
        self.past.append(seen)


def participation_of(
    rounds: Sequence[Devices],
    final: Mapping[int, int],
    totals: Mapping[int, EnergyTotals],
    fleet: Fleet,
    *,
    target: int,
    scheduler: str,
    seed: int,
    mains_powered: bool,
    weights: FloatArray | None = None,
    steps: IntArray | None = None,
) -> Participation:
    """Return the participants and the energy balance, as far as devices have reported it.

    `final` and `totals` are the reports after the last round, by client. A missing level is replaced by the client's
    last report. A payment is counted in the round in which the server receives its report, or in the last round if it
    comes later.
    """
    energy = _levels(rounds, final, fleet)
    spent = np.array([seen.spent for seen in rounds], np.int64)  # (n_rounds, n_clients), cumulative
    for client, total in totals.items():
        spent[-1, client] = max(spent[-1, client], total.paid)
    took_part = [seen.took_part for seen in rounds]
    return Participation(
        n_clients=fleet.clients,
        offsets=np.append(0, np.cumsum([len(clients) for clients in took_part])).astype(np.int32),
        participants=np.array([client for clients in took_part for client in clients], np.int32),
        spent=np.diff(spent.sum(axis=1), prepend=0),
        final_energy=energy[-1],
        totals=_together(energy, spent[-1], totals, mains_powered=mains_powered),
        target=target,
        scheduler=scheduler,
        seed=seed,
        mains_powered=mains_powered,
        unit=fleet.unit,
        energy=energy,
        weights=weights,
        steps=steps,
        quantum=fleet.quantum,
        round_length=fleet.round_length,
    )


def _levels(rounds: Sequence[Devices], final: Mapping[int, int], fleet: Fleet) -> Levels:
    """Return E_i(t), (n_rounds + 1, n_clients), from the reports."""
    heard = [*(seen.energy for seen in rounds), [final.get(client) for client in range(fleet.clients)]]
    levels = np.empty((len(heard), fleet.clients), np.int32)
    known = fleet.start()
    for t, row in enumerate(heard):
        known = np.array([old if new is None else new for old, new in zip(known, row, strict=True)], np.int32)
        levels[t] = known
    return levels


def _together(
    energy: Levels, spent: IntArray, totals: Mapping[int, EnergyTotals], *, mains_powered: bool
) -> EnergyTotals:
    """Return the energy balance of all clients; a client without a final report gets the values that balance."""
    harvested = wasted = lost = 0
    for client in range(energy.shape[1]):
        initial, stored = int(energy[0, client]), int(energy[-1, client])
        drawn = 0 if mains_powered else int(spent[client])
        reported = totals.get(client)
        gained = drawn + stored - initial
        if reported is not None and reported.harvested - reported.wasted - reported.lost == gained:
            harvested, wasted, lost = harvested + reported.harvested, wasted + reported.wasted, lost + reported.lost
        else:
            harvested, wasted = harvested + max(gained, 0), wasted + max(-gained, 0)
    paid = int(spent.sum())
    return EnergyTotals(
        initial=int(energy[0].sum(dtype=np.int64)),
        harvested=harvested,
        spent=0 if mains_powered else paid,
        stored=int(energy[-1].sum(dtype=np.int64)),
        wasted=wasted,
        mains=paid if mains_powered else 0,
        lost=lost,
    )
