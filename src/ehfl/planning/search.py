"""The smallest value that meets a requirement in a share of the years, with an interval: order statistics of years.

Each year of weather (a seed) has a smallest value of its own with which the requirement is met. The answer is the
quantile of these values that the requirement names, 90 % for "in 9 of 10 years", and the interval lies between two of
the sorted values. Whatever the distribution of the years, the number of years below the quantile is binomial, which
gives the ranks (David and Nagaraja, Order Statistics, 2003, section 7.1).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ehfl.arrays import FloatArray

CONFIDENCE = 0.9
PRECISION = 0.2  # half of the interval, relative to the value
PILOT, FRESH, MOST_YEARS = 4, 20, 120  # years that schedulers are compared in, that check the answer, that are played
_STEP = 1.02  # between neighbouring values that are tried
_WHOLE = 100  # integers up to this one are all tried
_GROWTH = 1.5  # of the number of years, until the interval is narrow enough

Play = Callable[[float, Sequence[int]], FloatArray]  # shares of rounds with a value, one a year; NaN: cannot be played


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """The smallest value that does (for clients to sustain, the largest), or the one that came closest."""

    value: float
    found: bool  # whether it meets the requirement in the share of the years
    ends: tuple[float | None, float | None]  # of the interval, the easier end last; None: these years do not bound it
    years: int  # that were played to find it
    met: int  # years that meet the requirement with `value`
    share: float  # of rounds with `value`, mean over the years that were played with it
    tried: dict[float, float]  # mean share of the years played, by value; NaN where a value cannot be played
    largest: float  # the last value that was allowed
    fresh: tuple[int, int] = (0, 0)  # years that had no part in the search and meet the requirement, and their number
    beyond: float | None = None  # the better scheduler's value, which was not enough under this one; then no search

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Its lower and upper end; values that become easier to meet as they fall have the easier end below."""
        harder, easier = self.ends
        return (easier, harder) if self.largest < max(self.tried) else (harder, easier)

    @property
    def half_width(self) -> float:
        """Half of the interval, relative to the value; infinite if it has one end."""
        first, last = self.ends
        return math.inf if first is None or last is None else abs(last - first) / 2 / self.value


@dataclass
class Years:
    """For each year, the last level known to fail and the first known to do; `levels` become easier to meet."""

    levels: Sequence[float]
    play: Play
    wanted: float  # share of the rounds
    fails: dict[int, int] = field(default_factory=dict)  # by seed; -1 where no level is known to
    does: dict[int, int] = field(default_factory=dict)  # by seed; len(levels) where no level is known to
    shares: dict[int, dict[int, float]] = field(default_factory=dict)  # by level and seed

    def add(self, seeds: Sequence[int]) -> None:
        """Add years of which nothing is known."""
        self.fails |= dict.fromkeys(seeds, -1)
        self.does |= dict.fromkeys(seeds, len(self.levels))

    def met(self, level: int) -> int:
        """Return in how many years a level does; it is played in those of which that is not known."""
        open_ = [seed for seed in self.fails if self.fails[seed] < level < self.does[seed]]
        for seed, share in zip(open_, self.play(self.levels[level], open_) if open_ else (), strict=True):
            self.shares.setdefault(level, {})[seed] = float(share)
            (self.does if share >= self.wanted - 1e-12 else self.fails)[seed] = level
        return sum(one <= level for one in self.does.values())

    def level_of(self, n_years: int, start: int, step: int) -> int:
        """Return the first level that does in at least `n_years`, len(levels) if none does.

        From `start` on levels are tried in growing steps, then bisected.
        """
        while True:
            low, high = sorted(self.fails.values())[n_years - 1], sorted(self.does.values())[n_years - 1]
            if high - low <= 1:
                return high
            below, above = low >= 0, high < len(self.levels)
            middle = (low + high) // 2 if below == above else min(low + step, high - 1) if below else high - step
            if below != above:
                step *= 2
            elif not below:
                middle = start
            self.met(min(max(middle, low + 1), high - 1))


def levels_between(low: float, high: float, now: float, whole: bool) -> list[float]:
    """Return the values to try, ascending: integers up to 100, else neighbours 2 % apart, with the present one.

    >>> levels_between(1, 4, 2, whole=True), levels_between(0.98, 1.03, 1.0, whole=False)
    ([1, 2, 3, 4], [0.98, 0.9804, 1.0, 1.02, 1.03])
    """
    if whole:
        few = range(math.ceil(low), math.floor(min(high, _WHOLE)) + 1)
        more = np.geomspace(max(low, _WHOLE), high, 2 + round(math.log(high / max(low, _WHOLE), _STEP))) \
            if high > _WHOLE else np.empty(0)  # fmt: skip
        return sorted({*few, *np.rint(more).astype(int).tolist(), *([round(now)] if low <= now <= high else [])})
    first, last = (math.log(end / now, _STEP) for end in (low, high))
    inner = (float(f"{now * _STEP**k:.4g}") for k in range(math.ceil(first), math.floor(last) + 1))
    return sorted({low, high, *(value for value in inner if low < value < high)})


def ranks(n_years: int, share: float) -> tuple[int | None, int, int | None]:
    """Return the ranks, from 1, of the interval's ends and of the quantile among sorted values of the years.

    >>> ranks(29, 0.9), ranks(28, 0.9)
    ((23, 27, 29), (22, 26, None))
    """
    chance = [math.comb(n_years, k) * share**k * (1 - share) ** (n_years - k) for k in range(n_years + 1)]
    below = np.cumsum(chance)  # of at most k years below the quantile
    tail = (1 - CONFIDENCE) / 2
    lower = int(np.searchsorted(below, tail, side="right"))
    upper = int(np.searchsorted(below, 1 - tail, side="left")) + 1
    return lower or None, max(1, math.ceil(share * n_years - 1e-9)), upper if upper <= n_years else None


def years_needed(share: float) -> int:
    """Return the number of years from which on both ends of the interval are bounded, at most MOST_YEARS."""
    return next((n for n in range(10, MOST_YEARS) if None not in ranks(n, share)), MOST_YEARS)


def search(
    levels: Sequence[float],
    play: Play,
    *,
    wanted: float,
    share: float,
    seeds: Sequence[int],
    precision: float | None,
    now: float,
    beat: float | None = None,
) -> Answer:
    """Return the first of the levels that meets `wanted` of the rounds in `share` of the years.

    With a precision, years follow the given seeds until the interval is that narrow, and FRESH more check the value;
    without one, exactly the seeds are played. `beat` is another scheduler's value: if it is not enough here in the
    first years, the search ends with that.

    >>> play = lambda value, seeds: np.array([min(1.0, value / (50 + seed)) for seed in seeds])
    >>> found = search(range(1, 200), play, wanted=1.0, share=0.9, seeds=range(40), precision=None, now=5)
    >>> found.value, found.ends
    (85, (82, 89))
    """
    years = Years(levels, play, wanted)
    pilot = list(seeds)[:PILOT]
    years.add(pilot)
    _, rank, _ = ranks(len(pilot), share)
    direction = 1 if levels[0] <= levels[-1] else -1
    if beat is not None:
        level = min(bisect_left(levels, direction * beat, key=lambda value: direction * value), len(levels) - 1)
        if years.met(level) < rank:
            return _answer(years, share, beyond=beat)
    start = min(bisect_left(levels, direction * now, key=lambda value: direction * value), len(levels) - 1)
    start = years.level_of(rank, start, max(1, len(levels) // 16))
    if start == len(levels) and precision is not None:
        return _answer(years, share)  # no value does even in the first years
    step = max(1, (max(years.does.values()) - min(years.does.values())) // 2)
    years.add(list(seeds)[PILOT:])
    found = _answer(years, share, start, step)
    if precision is None:
        return found
    while found.years < years_needed(share) or (found.half_width > precision and found.years < MOST_YEARS):
        following = max(years.fails) + 1
        n_years = min(max(years_needed(share), round(_GROWTH * found.years)), MOST_YEARS)
        years.add(range(following, following + n_years - found.years))
        found = _answer(years, share, start, step)
    if not found.found:
        return found
    fresh = play(found.value, range(max(years.fails) + 1, max(years.fails) + 1 + FRESH))
    checked = int(np.count_nonzero(fresh >= wanted - 1e-12)), FRESH
    return replace(found, fresh=checked)


def _answer(years: Years, share: float, start: int = 0, step: int = 1, beyond: float | None = None) -> Answer:
    """Return the answer of these years, played where it is not known; without a search if another one is better."""
    levels, n_years = years.levels, len(years.fails)
    lower, rank, upper = ranks(n_years, share)

    def value_at(place: int | None) -> float | None:
        level = None if place is None else years.level_of(place, start, step)
        return None if level is None or level == len(levels) else levels[level]

    value = None if beyond is not None else value_at(rank)
    ends = (None, None) if value is None else (value_at(lower), value_at(upper))
    tried = {levels[level]: float(np.mean(list(found.values()))) for level, found in sorted(years.shares.items())}
    found = value is not None
    if value is None:
        value = max(tried, key=lambda one: np.nan_to_num(tried[one], nan=-1.0))
    level = next(i for i, one in enumerate(levels) if one == value)
    met = sum(one <= level for one in years.does.values())
    reached = tried.get(value, math.nan)
    return Answer(value, found, ends, n_years, met, reached, tried, levels[-1], beyond=beyond)
