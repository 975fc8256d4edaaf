"""The smallest value that meets a requirement in a share of the years, with an interval: order statistics of years.

Each year of weather (a seed) has a smallest value of its own with which the requirement is met. The answer is the
quantile of these values that the requirement names, 90 % for "in 9 of 10 years", and the interval lies between two of
the sorted values. Whatever the distribution of the years, the number of years below the quantile is binomial, which
gives the ranks (David and Nagaraja, Order Statistics, 2003, section 7.1).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ehfl.arrays import FloatArray

CONFIDENCE = 0.9
PRECISION = 0.35  # half of the interval, relative to the value
PILOT, FRESH, MOST_YEARS = 4, 20, 120  # years that schedulers are compared in, that check the answer, that are played
_STEP = 1.02  # between neighbouring values that are tried
_WHOLE = 100  # integers up to this one are all tried
_GROWTH = 1.5  # of the number of years, until the interval is narrow enough

_AT_ONCE = 4  # years that are played next for a rank, the hardest first: a few that fail decide it

Trial = tuple[float, int]  # a value and a seed
Play = Callable[[Sequence[Trial]], FloatArray]  # the share of rounds in each, (n_trials,); NaN: cannot be played


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

    def grow(self, n_years: int) -> None:
        """Add the seeds that follow, up to this number of years."""
        following = max(self.fails) + 1
        self.add(range(following, following + n_years - len(self.fails)))

    def does_in(self, level: int, n_years: int) -> bool:
        """Return whether a level does in at least `n_years`; not all are played if some of them decide it."""
        while sum(one <= level for one in self.does.values()) < n_years:
            if sum(one < level for one in self.fails.values()) < n_years:
                return False
            self._try(dict.fromkeys(self._open(level)[: _AT_ONCE // 2], level))
        return True

    def levels_of(self, ranks: Sequence[int], start: int, step: int, within: int = 1) -> list[int]:
        """Return, by rank, the first level that does in as many years, len(levels) if none does.

        `start` is tried first, then levels in growing steps, then they are bisected, up to `within` too high. All ranks
        are searched at the same time, a year being played with one level for all of them: all cores have work.
        """
        while True:
            trials: dict[int, int] = {}  # the level by seed
            for rank in ranks:
                if (level := self._next(rank, start, step, within)) is not None:
                    trials = dict.fromkeys(self._open(level)[:_AT_ONCE], level) | trials
            if not trials:
                return [self._bracket(rank)[1] for rank in ranks]
            self._try(trials)

    def met(self, level: int) -> int:
        """Return the number of years in which a level does."""
        if undecided := self._open(level):
            self._try(dict.fromkeys(undecided, level))
        return sum(one <= level for one in self.does.values())

    def none_does(self, rank: int) -> bool:
        """Return whether the last level is known to do in fewer years than `rank`."""
        return self._bracket(rank)[0] == len(self.levels) - 1

    def tried(self) -> dict[float, float]:
        """Return the mean share of the years played, by value; NaN where a value cannot be played."""
        return {self.levels[one]: float(np.mean(list(self.shares[one].values()))) for one in sorted(self.shares)}

    @property
    def best(self) -> int:
        """The level with the largest mean share so far."""
        return max(sorted(self.shares), key=lambda one: np.nan_to_num(self.tried()[self.levels[one]], nan=-1.0))

    def _bracket(self, rank: int) -> tuple[int, int]:
        """Return the last level known to do in fewer years than `rank`, and the first known to do in as many."""
        return sorted(self.fails.values())[rank - 1], sorted(self.does.values())[rank - 1]

    def _next(self, rank: int, start: int, step: int, within: int) -> int | None:
        """Return the level to try next for a rank, None if it is found."""
        low, high = self._bracket(rank)
        below, above = low >= 0, high < len(self.levels)
        if high - low <= (within if above else 1):
            return None
        if below == above:
            level = (low + high) // 2 if below else start
        elif low < start < high:
            level = start
        else:
            level = low + step + abs(low - start) if below else high - step - abs(high - start)
        return min(max(level, low + 1), high - 1)

    def _open(self, level: int) -> list[int]:
        """Return the years of which it is not known whether a level does, the hardest first."""
        found = [one for one in self.fails if self.fails[one] < level < self.does[one]]
        return sorted(found, key=lambda seed: -self.fails[seed])

    def _try(self, trials: Mapping[int, int]) -> None:
        """Play years, each with a level."""
        order = sorted((level, seed) for seed, level in trials.items())
        played = self.play([(self.levels[level], seed) for level, seed in order])
        for (level, seed), share in zip(order, played, strict=True):
            self.shares.setdefault(level, {})[seed] = float(share)
            (self.does if share >= self.wanted - 1e-12 else self.fails)[seed] = level


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

    >>> play = lambda trials: np.array([min(1.0, value / (50 + seed)) for value, seed in trials])
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
        if not years.does_in(level, rank):
            return _answer(years, share, beyond=beat)
    start = min(bisect_left(levels, direction * now, key=lambda value: direction * value), len(levels) - 1)
    step = max(1, len(levels) // 16)
    start = years.levels_of([rank], start, step, within=step)[0]
    if start == len(levels) and precision is not None:
        return _answer(years, share)  # no value does even in the first years
    years.add(list(seeds)[PILOT:])
    if precision is not None:
        years.grow(years_needed(share))
    found = _answer(years, share, start, step)
    if precision is None:
        return found
    while found.half_width > precision and found.years < MOST_YEARS:
        years.grow(min(round(_GROWTH * found.years), MOST_YEARS))
        found = _answer(years, share, start, step)
    if not found.found:
        return found
    following = max(years.fails) + 1
    fresh = play([(found.value, seed) for seed in range(following, following + FRESH)])
    checked = int(np.count_nonzero(fresh >= wanted - 1e-12)), FRESH
    return replace(found, fresh=checked)


def _answer(years: Years, share: float, start: int = 0, step: int = 1, beyond: float | None = None) -> Answer:
    """Return the answer of these years, played where it is not known; without a search if another one is better."""
    levels, n_years = years.levels, len(years.fails)
    wanted: Sequence[int | None] = ranks(n_years, share)
    if beyond is not None or years.none_does(ranks(n_years, share)[1]):
        wanted = (None, None, None)
    places = sorted((one for one in wanted if one is not None), key=lambda one: one != wanted[1])  # first the quantile
    found_at = dict(zip(places, years.levels_of(places, start, step), strict=True))
    places_found = (len(levels) if one is None else found_at[one] for one in wanted)
    first, value, last = (None if level == len(levels) else levels[level] for level in places_found)
    ends = (None, None) if value is None else (first, last)
    best = years.best if value is None else levels.index(value)
    met = years.met(best) if beyond is None else 0
    tried = years.tried()
    return Answer(
        levels[best], value is not None, ends, n_years, met, tried.get(levels[best], math.nan), tried, levels[-1],
        beyond=beyond,
    )  # fmt: skip
