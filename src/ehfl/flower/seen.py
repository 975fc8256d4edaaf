"""What the server of a run has seen of its devices: in the round that is on, and in those before it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import numpy as np

from ehfl.arrays import Levels
from ehfl.flower.messages import Answer
from ehfl.history import Devices, as_reason

log = logging.getLogger("ehfl.flower")


class Seen:
    """Rounds as the server saw them; the last one is being played."""

    def __init__(self, n_clients: int) -> None:
        self._n_clients = n_clients
        self.past: list[Devices] = []
        self.energy: dict[int, int] = {}  # client -> what it said at the start of this round
        self.asked: set[int] = set()  # to train in it
        self.lost: dict[int, str] = {}  # whose work does not count, and why
        self.own_data = False  # whether any client has said that its data are its own
        self._spent = [0] * n_clients  # what each client has paid since the first round, as far as is known
        self._told = [0] * n_clients  # what its account said of that, when it was last heard

    def begin(self, heard: Mapping[int, Answer]) -> None:
        """Begin a round with what clients have, and what they have paid so far."""
        self.asked, self.lost = set(), {}
        self.energy = {client: answer.energy for client, answer in heard.items()}
        self.own_data |= any(answer.owns_data for answer in heard.values())
        for client, answer in heard.items():
            if answer.totals.paid < self._told[client]:
                log.warning("client %d: its account said %d paid and now says %d: an older one was put back, or it was "
                            "lost; what was paid is counted all the same",
                            client, self._told[client], answer.totals.paid)  # fmt: skip
            self.paid(answer)

    @property
    def levels(self) -> Levels:
        """What each client has, (n_clients,); who was not heard has nothing to spend."""
        energy: Levels = np.zeros(self._n_clients, np.int32)
        energy[list(self.energy)] = list(self.energy.values())
        return energy

    def paid(self, answer: Answer) -> None:
        """Take down what a client has paid so far."""
        self._told[answer.client] = answer.totals.paid
        self._spent[answer.client] = max(self._spent[answer.client], answer.totals.paid)

    def counts(self, client: int, cost: int) -> None:
        """Take down a turn that counts: it has cost what it costs, though an account that was lost may not know it."""
        before = self.past[-1].spent[client] if self.past else 0
        self._spent[client] = max(self._spent[client], before + cost)

    def lose(self, client: int, reason: str) -> None:
        """Take down why a client that was asked is left out."""
        self.lost[client] = as_reason(reason)
        log.warning("round %d: client %d is left out: %s", len(self.past), client, self.lost[client])

    def unheard(self, kept: Iterable[int]) -> list[int]:
        """Return who was asked and neither is kept nor was lost."""
        return sorted(self.asked - set(kept) - self.lost.keys())

    def end(self) -> Devices:
        """End the round; return what was seen in it."""
        energy = tuple(self.energy.get(client) for client in range(self._n_clients))
        seen = Devices(energy, tuple(sorted(self.asked)), dict(self.lost), tuple(self._spent))
        self.past.append(seen)
        return seen

    def again(self, seen: Devices) -> None:
        """Take in a round that was played before this process began."""
        self._spent, self._told = list(seen.spent), list(seen.spent)
        self.past.append(seen)
