"""Power under one sky: what a day's weather gives all clients alike, times a factor of each client's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.calendar import DAY, YEAR
from ehfl.randomness import Purpose, words

BLOCK = 7  # days that are taken together from elsewhere in the season, so that bad weather lasts as long as it does
REACH = 10  # how far from their own place in the year they are taken [days]
SEASON = 15  # days before and after that a forecaster takes the mean of
_WORDS = 2.0**32
_RUN = 32

Drawn = Callable[[int], NDArray[np.uint32]]


@dataclass(frozen=True, eq=False)
class Sky:
    """Power of one watt installed: P(t) = table[day, step] in each step, the same every year or shuffled.

    Shuffled, each seed and each year is another year that could have been: blocks of `BLOCK` days are replaced by those
    that lie s days later, s uniform in -REACH..REACH (and in any of the table's years), the local block bootstrap of
    Paparoditis and Politis (2002), J. Time Ser. Anal. 23:587. All skies share s, so that weather that was recorded
    together stays together. Every s is a rotation of the table, so no mean over whole years changes.

    >>> sky = Sky(np.ones((1, 2, 24)), start=0.0, shuffled=False, variation=0.0)
    >>> sky.power(0, range(3), 1800.0, np.zeros(1, int), np.full(1, 2.0), drawn=None).tolist()
    [[2.0], [2.0], [2.0]]
    """

    tables: FloatArray  # (n_groups, n_days, n_steps), shares of the power installed
    start: float  # the time in the table at which round 0 begins [s]
    shuffled: bool
    variation: float  # of each client's own factor, day by day

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each group over the table, (n_groups,)."""
        found: FloatArray = self.tables.mean(axis=(1, 2))
        return found

    @cached_property
    def climate(self) -> Sky:
        """What is expected of a day: the mean over the days around it, of all years."""
        n_days = self.tables.shape[1]
        near = np.arange(-SEASON, SEASON + 1)
        years = np.arange(max(1, n_days // YEAR)) * YEAR
        tables = np.mean([np.roll(self.tables, -shift, axis=1) for shift in np.add.outer(years, near).ravel()], axis=0)
        return Sky(tables, self.start, shuffled=False, variation=0.0)

    def power(
        self, seed: int, rounds: range, round_length: float, groups: IntArray, own: FloatArray, drawn: Drawn
    ) -> FloatArray:
        """Return the mean power of each client during each round, shape (len(rounds), n_clients).

        The energy of a round is the exact integral over it of the power, which is constant in each step. `groups` says
        which table is each client's, `own` what it has installed, both of shape (n_clients,); `drawn` returns a word of
        each client for a day, of which its own factor is made: uniform in 1 - variation .. 1 + variation.
        """
        out = np.empty((len(rounds), own.size))
        for ahead, (rows, days, energy) in enumerate(self._by_day(seed, rounds, round_length)):
            power = energy / round_length
            for part in self._alike(days):
                factors = own * self._factors(drawn(int(days[part][0]))) if self.variation else own
                found = (power[part] if power.shape[1] == 1 else power[part].take(groups, axis=1)) * factors
                if ahead:
                    out[rows[part]] += found
                else:  # the first day of every round
                    out[part] = found
        return out

    def _factors(self, drawn: NDArray[np.uint32]) -> FloatArray:
        uniform: FloatArray = (drawn + np.float64(0.5)) / _WORDS
        return 1 + self.variation * (2 * uniform - 1)

    def _by_day(self, seed: int, rounds: range, round_length: float) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield the rounds that have a first, second, ... day, that day, and their energy in it, (n, n_groups) [J]."""
        numbers = np.arange(rounds.start, rounds.stop, rounds.step)
        begins, ends = (self.start + (numbers + one) * round_length for one in (0, 1))
        first = np.floor(begins / DAY).astype(np.int64)
        n_days = np.maximum(np.ceil(ends / DAY).astype(np.int64) - first, 1)
        for ahead in range(int(n_days.max(initial=0))):
            rows = np.flatnonzero(ahead < n_days)
            days = first[rows] + ahead
            begin, end = (np.clip(edge[rows] - days * DAY, 0, DAY) for edge in (begins, ends))
            yield rows, days, self._until(seed, days, end) - self._until(seed, days, begin)

    def _alike(self, days: IntArray) -> Iterator[slice]:
        """Yield runs of rounds in which each client's own factor is the same; short ones, which stay in the cache."""
        changes = np.flatnonzero(np.diff(days)) + 1 if self.variation else np.arange(_RUN, days.size, _RUN)
        edges = [0, *changes.tolist(), days.size]
        yield from (slice(*pair) for pair in pairwise(edges))

    def _until(self, seed: int, days: IntArray, time: FloatArray) -> FloatArray:
        """Return the energy of one watt from the beginning of these days to a time of each, (n_times, n_groups) [J]."""
        _, n_days, n_steps = self.tables.shape
        length = DAY / n_steps
        n_years = max(1, n_days // YEAR)
        blocks = (days // BLOCK).tolist() if self.shuffled else ()
        shifts = np.array([shift_of(seed, block, n_years) for block in blocks], np.int64) if self.shuffled else 0
        places = (days + shifts) % n_days
        steps = np.minimum((time / length).astype(np.int64), n_steps - 1)
        full, within = self._cumulated[:, places, steps], self.tables[:, places, steps]
        until: FloatArray = (full + within * (time - steps * length)).T
        return until

    @cached_property
    def _cumulated(self) -> FloatArray:
        """Energy of each day up to each step, (n_groups, n_days, n_steps) [J]."""
        length = DAY / self.tables.shape[2]
        sums = np.cumsum(self.tables * length, axis=2)
        return np.concatenate([np.zeros((*sums.shape[:2], 1)), sums[:, :, :-1]], axis=2)


@lru_cache(maxsize=4)  # rounds of one day follow each other, so its numbers are kept
def own_words(seed: int, day: int, clients: range) -> NDArray[np.uint32]:
    """Return a uniform 32-bit number of each client for one day."""
    drawn: NDArray[np.uint32] = words(seed, Purpose.OWN_WEATHER, range(day, day + 1), clients)[0]
    return drawn


@lru_cache(maxsize=10_000)
def shift_of(seed: int, block: int, n_years: int = 1) -> int:
    """Return how many days later in the table the days of a block are taken from, whole years of it included.

    >>> [abs(shift_of(seed=0, block=block)) <= REACH for block in range(3)]
    [True, True, True]
    """
    near, year = map(int, words(seed, Purpose.WEATHER, range(block, block + 1), range(2))[0])
    return near * (2 * REACH + 1) // 2**32 - REACH + YEAR * (year * n_years // 2**32)
