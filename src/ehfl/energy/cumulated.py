"""Power that is constant between given times, repeated for ever: its energy between any two times, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Cumulated:
    """E(tau) = integral of P from 0 to tau, several columns at once; after its period it goes on from the beginning.

    Rounds' energies are differences of E, so that rounds of any length add up to what the power brings.

    >>> power = Cumulated.of(np.array([0.0, 10.0, 40.0]), np.array([[1.0], [2.0]]))
    >>> power.between(np.array([0.0, 15.0, 30.0, 60.0]), np.array([0])).ravel().tolist()
    [20.0, 30.0, 50.0]
    """

    times: FloatArray  # from 0 to the period, (n + 1,) [s]
    watts: FloatArray  # from each time to the next, (n, n_columns) [W]
    energy: FloatArray  # until each time, (n + 1, n_columns) [J]
    even: bool  # whether the times are evenly spaced, so that a row need not be searched for

    @classmethod
    def of(cls, times: FloatArray, watts: FloatArray) -> Cumulated:
        """Cumulate the power between so many times and the next."""
        steps, energy = np.diff(times), np.zeros((times.size, watts.shape[1]))
        np.cumsum(watts * steps[:, None], axis=0, out=energy[1:])
        return cls(times, np.ascontiguousarray(watts), energy, even=bool(np.ptp(steps) <= 1e-9 * steps.max()))

    @property
    def period(self) -> float:
        """After how long it is repeated [s]."""
        return float(self.times[-1])

    @property
    def mean(self) -> FloatArray:
        """The mean power of each column, (n_columns,) [W]."""
        means: FloatArray = self.energy[-1] / self.period
        return means

    def between(self, edges: Floats, columns: IntArray, later: FloatArray | None = None) -> FloatArray:
        """Return the energy from each time to the next [J], shape (len(edges) - 1, len(columns)).

        `later` is how much later than `edges` each column begins, from 0 to the period, (len(columns),) [s].
        """
        turns, within = (part[:, None] for part in np.divmod(edges, self.period))
        if later is not None:
            within = within + later
            again = within >= self.period
            turns, within = turns + again, within - again * self.period
        row = self._rows(within)
        cell = row * self.watts.shape[1] + columns
        until = self.energy.ravel()[cell] + self.watts.ravel()[cell] * (within - self.times[row])
        # Whole periods are taken out before the difference, so that late rounds are as exact as early ones.
        found: FloatArray = np.diff(turns, axis=0) * self.energy[-1, columns] + np.diff(until, axis=0)
        return np.maximum(found, 0.0)  # rounding may leave a hair less than nothing

    def _rows(self, within: FloatArray) -> IntArray:
        """Return the row at each time; beside an edge either neighbour will do, since E has no jumps."""
        if self.even:
            row = (within * (self.watts.shape[0] / self.period)).astype(np.intp)
        else:
            row = np.searchsorted(self.times, within, side="right") - 1
        rows: IntArray = np.minimum(row, self.watts.shape[0] - 1)
        return rows
