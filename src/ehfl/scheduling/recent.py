"""How often each client took part of late: a mean over all past rounds in which each counts less than the next."""

from __future__ import annotations

import numpy as np

from ehfl.arrays import FloatArray, IntArray


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
        self._rounds = 0  # that are in the shares

    def note(self, t: int, clients: IntArray) -> None:
        """Take in who took part in round t."""
        self._shares = self.before(t + 1)
        self._shares[clients] += self._rate
        self._rounds = t + 1

    def before(self, t: int) -> FloatArray:
        """Return the shares at the start of round t, (n_clients,), an array of its own."""
        return self._shares * self._left ** (t - self._rounds)
