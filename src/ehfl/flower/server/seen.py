"""The server's record of its devices, in the current round and in past ones."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import numpy as np

from ehfl.arrays import Levels
from ehfl.flower.wire.messages import Answer
from ehfl.runs import Devices, as_reason

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
