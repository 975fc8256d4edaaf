"""The smallest battery, panel, fleet or round length that does what is wanted: bracketing on the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.planning.want import Want

Shares = FloatArray  # of rounds with as many clients as wanted, seed by seed, (n_seeds,); NaN: cannot be played
_STEP = 2.0  # by which a bracket grows
_FINE = 0.01  # how close to each other a bracket's ends come, as a share of the upper


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What a search found: the smallest value that does what is wanted, or the best that was reached."""

    value: float  # the smallest that does; where none does, the one with the largest share of rounds
    found: bool  # whether it does what is wanted
    shares: Shares  # at the value, seed by seed
    below: float | None  # the largest value tried that does not do; None where the least allowed does, or none does
    shares_below: Shares | None
    tried: dict[float, float]  # mean share by value, NaN where a value cannot be played
    share_wanted: float
    high: float  # the largest value that the search allowed

    @property
    def share(self) -> float:
        """The share of rounds at the value, mean over seeds."""
        return float(self.shares.mean())

    @property
    def sure(self) -> int:
        """How many seeds do what is wanted each by itself."""
        return int(np.count_nonzero(self.shares >= self.share_wanted - 1e-12))


def smallest(
    want: Want, shares: Callable[[float], Shares], *, start: float, low: float, high: float, whole: bool = False
) -> Answer:
    """Search [low, high] for the smallest value at which the mean share of rounds is as wanted, to 1 %.

    `shares` simulates a value under the same seeds every time (common random numbers), so that two values differ by the
    value alone: from `start` the bracket is doubled or halved until its ends differ in what they do, then the middle is
    tried until they are within 1 % (of whole numbers: neighbours). That is exact for these seeds if the share grows
    with the value. It need not: a bigger battery may in rare cases change who is picked and lose a round. So the search
    promises no more than it played: `value` does and `below` does not. It ends after at most
    log2(high / low) + 9 values, of whole numbers log2(high / low) + log2(high) + 4.

    >>> smallest(Want(1, 0.9), lambda x: np.array([x / 100]), start=8, low=1, high=1000, whole=True).value
    90
    """
    trials: dict[float, Shares] = {}

    def does(value: float) -> bool:
        if value not in trials:
            trials[value] = shares(value)
        return bool(trials[value].mean() >= want.share - 1e-12)

    def near(value: float) -> float:
        return min(max(_rounded(value, whole), low), high)

    upper, lower = near(start), None
    if does(upper):
        while upper > low and lower is None:
            less = near(upper / _STEP)
            upper, lower = (less, None) if does(less) else (upper, less)
    else:
        while upper < high and not does(upper):
            upper, lower = near(upper * _STEP), upper
    found = does(upper)
    while found and lower is not None and not _close(lower, upper, whole):
        middle = near(math.sqrt(lower * upper))
        upper, lower = (middle, lower) if does(middle) else (upper, middle)
    tried = {value: float(seen.mean()) for value, seen in sorted(trials.items())}
    if not found:
        upper, lower = max(tried, key=lambda value: (np.nan_to_num(tried[value], nan=-1.0), -value)), None
    below = None if lower is None else trials[lower]
    return Answer(upper, found, trials[upper], lower, below, tried, want.share, high)


def _close(lower: float, upper: float, whole: bool) -> bool:
    return upper - lower <= 1 if whole else upper - lower <= _FINE * upper


def _rounded(value: float, whole: bool) -> float:
    """Return an integer, or a number of four digits: more cannot be bought."""
    return round(value) if whole else float(f"{value:.4g}")


@dataclass(frozen=True, eq=False, slots=True)
class Sustained:
    """The most clients that can be wanted in every round and had in a share of them."""

    clients: int  # 0 where not even one can
    share_wanted: float
    shares: Shares  # with `clients` wanted, seed by seed; all 1 for none
    shares_above: Shares | None  # with one more wanted; None where these are all clients


def most_sustained(share: float, shares: Callable[[int], Shares], most: int) -> Sustained:
    """Return the largest number of clients, up to `most`, that take part in this share of rounds if they are wanted.

    A larger target spends more, so the share falls with the number that is wanted, and bisection finds where.

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
