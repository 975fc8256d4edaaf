"""Which month and which hour of the day a round falls into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.survey import month_of

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAY, _HOUR = 86_400, 3600  # [s]
YEAR = 365 * _DAY  # without leap days, as typical years are [s]


@dataclass(frozen=True, slots=True)
class Calendar:
    """Rounds of so many seconds from a time of a day of the year on; day 0 is the first of January.

    >>> Calendar(first_day=31, round_length=3600).months(range(2)).tolist()  # February
    [1, 1]
    """

    first_day: int
    round_length: float  # [s]
    first_second: float = 0.0  # of that day at which round 0 begins

    def months(self, rounds: range) -> IntArray:
        """Return the month in which each round begins, 0 to 11."""
        return month_of(self.first_day + (self._begins(rounds) // _DAY).astype(np.int64))

    def hours(self, rounds: range) -> IntArray:
        """Return the hour of the day in which each round begins, 0 to 23."""
        hours: IntArray = (self._begins(rounds) % _DAY // _HOUR).astype(np.int64)
        return hours

    def by_month(self, values: FloatArray) -> FloatArray:
        """Return the mean of what each round has in each month, (12, ...); NaN for months that no round is in."""
        months = self.months(range(len(values)))
        return np.stack([_mean(values[months == month]) for month in range(12)])

    def by_month_and_hour(self, values: FloatArray) -> FloatArray:
        """Return the means of what each round has, (12, 24); NaN where there is no such round."""
        rounds = range(len(values))
        sums, counts = np.zeros((12, 24)), np.zeros((12, 24))
        places = self.months(rounds), self.hours(rounds)
        np.add.at(sums, places, values)
        np.add.at(counts, places, 1)
        means: FloatArray = np.divide(sums, counts, out=np.full((12, 24), np.nan), where=counts > 0)
        return means

    def _begins(self, rounds: range) -> FloatArray:
        # A little later than they do, since 0.1 s times ten is not quite a second in floating point.
        begins = np.arange(rounds.start, rounds.stop, dtype=np.float64) * self.round_length
        return begins + (self.first_second + 1e-6)


def _mean(values: FloatArray) -> FloatArray:
    return np.full(values.shape[1:], np.nan) if not len(values) else np.asarray(values.mean(axis=0))
