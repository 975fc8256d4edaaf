"""Energy by the clock: a pattern that repeats."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.per_client import for_fleet, numbers_per_client, of_clients, shown
from ehfl.energy.recorded import recorded_units
from ehfl.randomness import MAX_ROUNDS
from ehfl.validation import InvalidValue


@dataclass(frozen=True, eq=False)
class Periodic:
    """A_i(t) = pattern[(t - shift_i) mod period], the period as long as the pattern.

    Nothing is left to chance: what a device gets that is charged by the clock, and the arrivals that energy cycles
    assume (Güler and Yener, arXiv 2102.11274), one unit every E rounds. `pattern` is a list of whole numbers [units],
    or a file of them; `shift`, by how many rounds a client's pattern is later, is one number for all or one per client,
    rounded down. In specs `shift = { low = 0, high = 23 }` spreads clients evenly over a day of 24 rounds.

    >>> day = Periodic([0, 2, 1], shift=[0, 1])
    >>> day.units(seed=0, rounds=range(4), clients=range(2)).tolist()
    [[0, 1], [2, 0], [1, 2], [0, 1]]
    >>> day.mean_rates(2).tolist()
    [1.0, 1.0]
    """

    per_client: ClassVar[tuple[str, ...]] = ("shift",)
    pattern: ArrayLike | Path
    shift: ArrayLike = 0  # [rounds]
    _pattern: IntArray = field(init=False, repr=False)  # (period,)
    _shifts: FloatArray = field(init=False, repr=False)  # shape () or (n_clients,)

    def __post_init__(self) -> None:
        pattern = recorded_units("pattern", self.pattern, axes=("period",))
        if pattern.max() > MAX_LEVEL:
            raise InvalidValue("pattern", f"at most {MAX_LEVEL}", pattern.max())
        object.__setattr__(self, "_pattern", pattern.astype(np.uint8 if pattern.max() < 256 else np.int32))
        object.__setattr__(self, "_shifts", numbers_per_client("shift", self.shift, -MAX_ROUNDS, MAX_ROUNDS))

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the pattern's units, shape (len(rounds), len(clients)); the seed changes nothing."""
        period = self._pattern.size
        phases = np.floor(of_clients(self._shifts, clients)).astype(np.int64) % period
        # Between -period and period: a negative index counts from the end, which is what a period asks for.
        places = (np.asarray(rounds, dtype=np.int64) % period)[:, None] - np.atleast_1d(phases)
        return np.broadcast_to(self._pattern[places], (len(rounds), len(clients)))

    def expected(self, rounds: range, clients: range) -> FloatArray:
        """Return what a forecaster knows beforehand, which is all of it [units], (len(rounds), len(clients))."""
        return self.units(0, rounds, clients).astype(np.float64)

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the pattern's mean, shape (n_clients,)."""
        for_fleet("shift", self._shifts, n_clients)  # refuses another number of clients
        return np.broadcast_to(self._pattern.mean(), (n_clients,))

    def __repr__(self) -> str:
        return f"Periodic({self._pattern.size} rounds, {shown(shift=self._shifts)})"
