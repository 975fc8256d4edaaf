"""Given arrivals, played back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ehfl.energy.harvest import FloatArray, IntArray
from ehfl.validation import InvalidValue


@dataclass(frozen=True, eq=False)
class Replay:
    """A_i(t) as given: `arrivals` has shape (n_rounds, n_clients), whole units, none negative.

    >>> Replay([[1, 0], [0, 2]]).units(seed=0, rounds=range(1, 2), clients=range(2)).tolist()
    [[0, 2]]
    """

    arrivals: ArrayLike
    _units: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            given = np.array(self.arrivals)
        except ValueError:
            raise InvalidValue("arrivals", "rows of equal length, one a round", "rows that differ") from None
        if given.ndim != 2 or given.size == 0:
            raise InvalidValue("arrivals", "of shape (n_rounds, n_clients)", f"shape {given.shape}")
        if given.dtype.kind not in "iu":
            raise InvalidValue("arrivals", "whole numbers of units", f"an array of {given.dtype}")
        if given.min() < 0:
            raise InvalidValue("arrivals", "at least 0", given.min())
        given.flags.writeable = False
        object.__setattr__(self, "_units", given)

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the recorded units; the seed changes nothing."""
        if len(rounds) and rounds[-1] >= self._units.shape[0]:
            raise InvalidValue("rounds", f"at most {self._units.shape[0]} (as recorded)", rounds[-1] + 1)
        return self._units[rounds.start : rounds.stop : rounds.step, clients.start : clients.stop : clients.step]

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return each client's mean over the recorded rounds, shape (n_clients,)."""
        if self._units.shape[1] != n_clients:
            raise InvalidValue("arrivals", f"one column per client ({n_clients})", f"{self._units.shape[1]} columns")
        means: FloatArray = self._units.mean(axis=0)
        return means

    def __repr__(self) -> str:
        return "Replay({} rounds, {} clients)".format(*self._units.shape)
