"""The participation of rounds on devices, in the same file format as that of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ehfl.arrays import FloatArray, IntArray, Levels
from ehfl.energy import EnergyTotals, Fleet
from ehfl.runs import Devices
from ehfl.scheduling import Participation


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
        told = totals.get(client)
        gained = drawn + stored - initial
        if told is not None and told.harvested - told.wasted - told.lost == gained:
            harvested, wasted, lost = harvested + told.harvested, wasted + told.wasted, lost + told.lost
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
