"""The participants of past rounds, kept for the participation and for schedulers that ask about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import Clients, FloatArray, IntArray
from ehfl.randomness import TILE
from ehfl.scheduling.participation import flags_of, pack


class Past:
    """The participants of each round so far, packed where the fleet is large.

    Turns and recent rates are counted when a scheduler first reads them, and from then on with each read: in most
    simulations none does, and for a large fleet counting takes longer than the rest of the round.
    """

    def __init__(self, n_clients: int) -> None:
        self._n_clients = n_clients
        self.rounds: list[tuple[int, NDArray[Any]]] = []  # the round, and its participants as `pack` returns them
        self._counted = 0  # of these rounds, that are in the next two
        self._turns: IntArray | None = None
        self._last: IntArray | None = None
        self._recent: dict[float, Recent] = {}  # by rate

    @property
    def turns(self) -> IntArray:
        """The number of turns of each client, (n_clients,), read-only."""
        return read_only(self._arrays()[0])

    @property
    def last_turn(self) -> IntArray:
        """The round in which each client last took part, (n_clients,), read-only; -1 before its first turn."""
        return read_only(self._arrays()[1])

    def recent(self, rate: float, t: int) -> FloatArray:
        """Return the recent participation rate of each client before round t, (n_clients,), read-only."""
        found = self._recent.setdefault(rate, Recent(self._n_clients, rate))
        for s, kept in self.rounds[found.counted :]:
            found.note(s, self._those(kept))
        return read_only(found.before(t))

    def note(self, t: int, clients: Clients) -> None:
        """Record the participants of round t."""
        # A copy, since a scheduler may return one array every time.
        self.rounds.append((t, pack(clients, self._n_clients) if self._n_clients > TILE else clients.copy()))

    def _arrays(self) -> tuple[IntArray, IntArray]:
        """Return turns and last turns, including all rounds that were noted."""
        if self._turns is None or self._last is None:
            self._turns = np.zeros(self._n_clients, np.int32)
            self._last = np.full(self._n_clients, -1, np.int32)
        for t, kept in self.rounds[self._counted :]:
            those = self._those(kept)
            self._turns[those] += 1
            self._last[those] = t
        self._counted = len(self.rounds)
        return self._turns, self._last

    def _those(self, kept: NDArray[Any]) -> NDArray[Any]:
        """Return participants as an index into arrays of all clients: their numbers, or a flag for each client."""
        return flags_of(kept, self._n_clients) if kept.dtype == np.uint8 else kept


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


class Recent:
    """sum over past rounds s of rate (1 - rate)^(t-1-s) 1{i in S_s}: in round t, for each client.

    >>> recent = Recent(n_clients=2, rate=0.5)
    >>> recent.note(0, np.array([0]))
    >>> recent.note(1, np.array([0, 1]))
    >>> recent.before(2).tolist(), recent.before(3).tolist()
    ([0.75, 0.5], [0.375, 0.25])
    """

    def __init__(self, n_clients: int, rate: float) -> None:
        self._left = 1 - rate  # of a round's share, with each round that follows
        self._rate = rate
        self._shares = np.zeros(n_clients)
        self._rounds = 0  # that are in the shares, those that were not noted included
        self.counted = 0  # rounds that were noted

    def note(self, t: int, those: NDArray[Any]) -> None:
        """Add the participants of round t."""
        self._shares = self.before(t + 1)
        self._shares[those] += self._rate
        self._rounds, self.counted = t + 1, self.counted + 1

    def before(self, t: int) -> FloatArray:
        """Return the shares at the start of round t, (n_clients,), as a new array."""
        return self._shares * self._left ** (t - self._rounds)
