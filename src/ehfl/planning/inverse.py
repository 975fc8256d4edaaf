"""The smallest battery, panel, fleet or round length that does what is wanted: bracketing on the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.planning.want import Want
from ehfl.validation import InvalidValue

Shares = FloatArray  # of rounds with as many clients as wanted, seed by seed, (n_seeds,)
_STEP = 2.0  # by which a bracket grows
_FINE = 0.01  # how close to each other a bracket's ends come, as a share of the upper


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """The smallest value that was found to do, and what was seen on the way."""

    value: float
    shares: Shares  # at the value, seed by seed
    below: float | None  # the largest value tried that does not do; None where the least allowed does
    shares_below: Shares | None
    tried: dict[float, float]  # mean share by value
    share_wanted: float

    @property
    def share(self) -> float:
        """The share of rounds at the value, mean over seeds."""
        return float(self.shares.mean())

    @property
    def sure(self) -> int:
        """How many seeds do what is wanted each by itself."""
        return int(np.count_nonzero(self.shares >= self.share_wanted - 1e-12))


def smallest(
    want: Want,
    shares: Callable[[float], Shares],
    *,
    start: float,
    low: float,
    high: float,
    whole: bool = False,
    name: str = "value",
    shown: Callable[[float], str] = "{:g}".format,
) -> Answer:
    """Return the smallest value in [low, high] at which the mean share of rounds is as wanted, to 1 %.

    `shares` simulates a value under the same seeds every time (common random numbers), so that two values differ by the
    value alone, and a share that grows with the value in every seed is found by bisection: from `start` the bracket is
    doubled or halved until its ends differ in what they do, then the middle is tried until they are within 1 % (or, of
    whole numbers, neighbours). What is found is exact for these seeds if the share grows with the value; a bigger
    battery may in rare cases change who is picked and lose a round, so the value below is always one that was tried.

    >>> smallest(Want(1, 0.9), lambda x: np.array([x / 100]), start=8, low=1, high=1000, whole=True).value
    90
    """
    trials: dict[float, Shares] = {}

    def does(value: float) -> bool:
        if value not in trials:
            trials[value] = shares(value)
        return bool(trials[value].mean() >= want.share - 1e-12)

    value = _rounded(min(max(start, low), high), whole)
    upper, lower = _shrunk(value, low, does, whole) if does(value) else _grown(value, high, does, whole)
    if upper is None:
        best = max(trials, key=lambda tried: trials[tried].mean())
        close = f"with {shown(best)} there are {want.clients:,} in {100 * trials[best].mean():.3g} % of rounds"
        raise InvalidValue(name, f"such that {want} can be had within {shown(low)} to {shown(high)}", close)
    while lower is not None and not _close(lower, upper, whole):
        middle = _rounded(math.sqrt(lower * upper), whole)
        if does(middle):
            upper = middle
        else:
            lower = middle
    found = {tried: float(seen.mean()) for tried, seen in sorted(trials.items())}
    return Answer(upper, trials[upper], lower, None if lower is None else trials[lower], found, want.share)


Bracket = tuple[float | None, float | None]  # a value that does, and one below it that does not


def _shrunk(value: float, low: float, does: Callable[[float], bool], whole: bool) -> Bracket:
    """Return a value that does and, below it, one that does not; None where the least allowed does."""
    while value > low:
        less = max(_rounded(value / _STEP, whole), low)
        if not does(less):
            return value, less
        value = less
    return value, None


def _grown(value: float, high: float, does: Callable[[float], bool], whole: bool) -> Bracket:
    """Return a value that does, None where the most allowed does not, and one below it that does not."""
    while value < high:
        more = min(_rounded(value * _STEP, whole), high)
        if does(more):
            return more, value
        value = more
    return None, value


def _close(lower: float, upper: float, whole: bool) -> bool:
    return upper - lower <= 1 if whole else upper - lower <= _FINE * upper


def _rounded(value: float, whole: bool) -> float:
    """Return a whole number, or one of four digits: nobody buys a battery by the fifth."""
    return round(value) if whole else float(f"{value:.4g}")


@dataclass(frozen=True, eq=False, slots=True)
class Sustained:
    """The most clients that can be wanted in every round and had in a share of them."""

    clients: int  # 0 where not even one can
    share_wanted: float
    shares: Shares  # with so many wanted, seed by seed; all 1 for nobody
    shares_above: Shares | None  # with one more wanted; None where these are all clients


def most_sustained(share: float, shares: Callable[[int], Shares], most: int) -> Sustained:
    """Return the largest number of clients, up to `most`, that take part in this share of rounds if so many are wanted.

    Whoever wants more spends more, so the share falls with the number that is wanted, and bisection finds where.

    >>> most_sustained(0.9, lambda n: np.array([1 - n / 100]), most=50).clients
    10
    """
    trials: dict[int, Shares] = {}
    low, high = 0, most + 1  # wanted: as many as these are had, and are not
    while high - low > 1:
        middle = (low + high) // 2
        trials[middle] = shares(middle)
        if trials[middle].mean() >= share - 1e-12:
            low = middle
        else:
            high = middle
    seeds = next(iter(trials.values())).size
    return Sustained(low, share, trials.get(low, np.ones(seeds)), trials.get(high))
