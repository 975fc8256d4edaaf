"""The energy budget of a fleet: harvest and cost, independent of the scheduler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import Fleet
from ehfl.energy.study.survey import month_of
from ehfl.randomness import batch_rounds

_AT_ONCE = 2**22  # harvest amounts per block, to limit memory


@dataclass(frozen=True, eq=False, slots=True)
class Budget:
    """The clients' mean harvests, in the fleet's unit per round, and the costs of a round."""

    harvest: FloatArray  # mean harvest after charging losses, (n_clients,) [units per round]
    drain: FloatArray  # lost while standing by, (n_clients,) [units a round]
    cost: FloatArray  # (n_clients,) [units]
    capacity: FloatArray  # (n_clients,) [units]
    by_month: FloatArray | None = None  # harvest of each month, (12, n_clients); None without a calendar

    @property
    def payable(self) -> FloatArray:
        """Share of the rounds that each client can pay for, on average, (n_clients,)."""
        return payable(self.harvest, self.drain, self.cost)

    @property
    def sustainable(self) -> float:
        """The mean number of participants per round that the mean harvest pays for."""
        return float(self.payable.sum())

    @property
    def sustainable_by_month(self) -> FloatArray | None:
        """The same with each month's harvest, (12,), NaN for months without data."""
        if self.by_month is None:
            return None
        return np.asarray(payable(self.by_month, self.drain, self.cost).sum(axis=1))

    @property
    def rounds_kept(self) -> FloatArray:
        """Rounds that a full battery pays for, (n_clients,)."""
        return self.capacity / self.cost


def payable(harvest: FloatArray, drain: FloatArray, cost: FloatArray) -> FloatArray:
    """Return min((harvest - drain) / cost, 1), at least 0; 1 because a client takes part at most once per round."""
    share: FloatArray = np.clip((harvest - drain) / cost, 0, 1)
    return share


def budget_of(fleet: Fleet, rounds: int, seed: int = 0, calendar: Calendar | None = None) -> Budget:
    """Return the budget over `rounds` rounds with a seed; for 0 rounds, from the harvest's long-run mean.

    >>> from ehfl.energy import Bernoulli
    >>> fleet = Fleet(clients=4, harvest=Bernoulli(0.5), capacity=6, cost=2)
    >>> round(budget_of(fleet, rounds=1000).sustainable, 3), budget_of(fleet, rounds=0).sustainable
    (1.011, 1.0)
    """
    n_clients, storage = fleet.clients, fleet.storage
    efficiency = np.ones(1) if storage is None else storage.efficiency
    months = None if calendar is None else calendar.months(range(rounds))
    sums = np.zeros((12 if months is not None else 1, n_clients))
    step = max(1, min(rounds, max(_AT_ONCE // n_clients, batch_rounds(n_clients))))
    for start in range(0, rounds, step):
        part = range(start, min(start + step, rounds))
        units = np.asarray(fleet.harvest.units(seed, part, range(n_clients)), dtype=np.float64)
        if months is None:
            sums[0] += units.sum(axis=0)
        else:
            np.add.at(sums, months[part.start : part.stop], units)
    stored = sums * efficiency
    counts = np.full(1, rounds) if months is None else np.bincount(months, minlength=12)
    means = np.divide(stored, counts[:, None], out=np.full(sums.shape, np.nan), where=counts[:, None] > 0)
    return Budget(
        harvest=stored.sum(axis=0) / rounds if rounds else fleet.rates * efficiency,
        drain=np.broadcast_to(fleet.drain_a_round, (n_clients,)),
        cost=np.broadcast_to(fleet.costs.astype(np.float64), (n_clients,)),
        capacity=np.broadcast_to(np.asarray(fleet.capacity, dtype=np.float64), (n_clients,)),
        by_month=None if months is None else means,
    )


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
SEASONS = {"winter": (11, 0, 1), "spring": (2, 3, 4), "summer": (5, 6, 7), "autumn": (8, 9, 10)}  # in the north
_DAY, _HOUR = 86_400, 3600  # [s]
YEAR = 365 * _DAY  # without leap days, as typical years are [s]


@dataclass(frozen=True, slots=True)
class Calendar:
    """Rounds of `round_length` seconds from a time of a day of the year on; day 0 is the first of January.

    >>> Calendar(first_day=31, round_length=3600).months(range(2)).tolist()  # February
    [1, 1]
    """

    first_day: int
    round_length: float  # [s]
    first_second: float = 0.0  # of that day at which round 0 begins
    southern: bool = False  # whether winter begins in June

    def months(self, rounds: range) -> IntArray:
        """Return the month in which each round begins, 0 to 11."""
        return month_of(self.first_day + (self._begins(rounds) // _DAY).astype(np.int64))

    def hours(self, rounds: range) -> IntArray:
        """Return the hour of the day in which each round begins, 0 to 23."""
        hours: IntArray = (self._begins(rounds) % _DAY // _HOUR).astype(np.int64)
        return hours

    def in_season(self, name: str, n_rounds: int) -> NDArray[np.bool_]:
        """Return which rounds begin in a season or month of this name, (n_rounds,)."""
        return np.isin(self.months(range(n_rounds)), self.months_of(name))

    def months_of(self, name: str) -> tuple[int, ...]:
        """Return the months of a season or of a month's name.

        >>> Calendar(0, 3600).months_of("winter"), Calendar(0, 3600, southern=True).months_of("winter")
        ((11, 0, 1), (5, 6, 7))
        """
        if name in MONTHS:
            return (MONTHS.index(name),)
        return tuple((month + 6 * self.southern) % 12 for month in SEASONS[name])

    def by_month_and_hour(self, values: FloatArray) -> FloatArray:
        """Return the mean of the rounds' values by month and hour, (12, 24); NaN without rounds."""
        rounds = range(len(values))
        sums, counts = np.zeros((12, 24)), np.zeros((12, 24))
        places = self.months(rounds), self.hours(rounds)
        np.add.at(sums, places, values)
        np.add.at(counts, places, 1)
        means: FloatArray = np.divide(sums, counts, out=np.full((12, 24), np.nan), where=counts > 0)
        return means

    def _begins(self, rounds: range) -> FloatArray:
        # Add a little, since ten times 0.1 s is slightly less than a second in floating point.
        begins = np.arange(rounds.start, rounds.stop, dtype=np.float64) * self.round_length
        return begins + (self.first_second + 1e-6)
