"""Means over seeds with their intervals, and differences between arms that met the same weather."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit  # Student's t; scipy.stats would take a second to import

from ehfl.arrays import FloatArray, real_numbers
from ehfl.validation import InvalidValue

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds and its 95 % interval (Student's t); without an interval where there is a single seed."""

    mean: float
    low: float | None
    high: float | None
    n: int  # seeds


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of paired differences, its 95 % interval, and the p-value of Student's paired t-test, two-sided."""

    mean: float
    low: float | None
    high: float | None
    n: int  # pairs
    p_value: float | None  # of no difference; None where the seeds show no spread to judge chance by
    holm_p_value: float | None = None  # corrected for all comparisons of its table's line; None outside a table

    @property
    def distinguishable(self) -> bool:
        """Whether the p-value is below 0.05: in a table the corrected one, elsewhere that of this difference alone."""
        p = self.p_value if self.holm_p_value is None else self.holm_p_value
        return p is not None and p < 1 - CONFIDENCE


def estimate(values: ArrayLike) -> Estimate:
    """Return the mean of one value a seed with its 95 % interval.

    >>> found = estimate([1.0, 2.0, 3.0])  # the mean +- 4.303 * 1 / sqrt(3)
    >>> round(found.low, 3), found.mean, round(found.high, 3)
    (-0.484, 2.0, 4.484)
    """
    sample = _one_a_seed("values", values)
    mean = float(sample.mean())
    if sample.size < 2:
        return Estimate(mean, None, None, sample.size)
    return estimate_with(mean, _standard_error(sample), sample.size)


def estimate_with(mean: float, error: float, n: int) -> Estimate:
    """Return a mean with its 95 % interval, given its standard error over n seeds, at least two.

    >>> estimate_with(2.0, 0.0, 3)
    Estimate(mean=2.0, low=2.0, high=2.0, n=3)
    """
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * error
    return Estimate(mean, mean - half, mean + half, n)


def difference(values: ArrayLike, baseline: ArrayLike) -> Difference:
    """Return the mean of values - baseline, pair by pair, with its interval and p-value.

    >>> difference([2.0, 3.0, 4.0], [1.0, 1.0, 1.0]).p_value  # t = 2 sqrt(3), two degrees of freedom
    0.0741...
    >>> difference([2.0, 3.0], [1.0])
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: baseline must be of as many values as it is paired with (2), got 1
    """
    mine, theirs = _one_a_seed("values", values), _one_a_seed("baseline", baseline)
    if mine.size != theirs.size:  # NumPy would repeat a single value and so make pairs up
        raise InvalidValue("baseline", f"of as many values as it is paired with ({mine.size})", theirs.size)
    gaps = mine - theirs
    found = estimate(gaps)
    return Difference(found.mean, found.low, found.high, found.n, _p_value(gaps))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for several comparisons, in the order given.

    Of m p-values in ascending order, p_(1) <= ... <= p_(m), the k-th becomes

        max over j <= k of min(1, (m - j + 1) p_(j)),

    so that the chance of any false claim is at most 5 % where those below 0.05 are claimed, however the comparisons
    depend on each other. S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979), 65-70.

    >>> holm([0.04, 0.01, 0.03])  # 3 x 0.01, 2 x 0.03, and 0.04 may not fall below its predecessor
    [0.06, 0.03, 0.06]
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def _one_a_seed(name: str, given: ArrayLike) -> FloatArray:
    allowed = "a list of one or more finite numbers"
    sample = real_numbers(name, given, allowed)
    if sample.ndim != 1 or sample.size == 0:
        raise InvalidValue(name, allowed, f"an array of shape {sample.shape}")
    if not np.isfinite(sample).all():
        raise InvalidValue(name, allowed, f"{sample[~np.isfinite(sample)][0]}")
    return sample


def _p_value(gaps: FloatArray) -> float | None:
    if gaps.size < 2:
        return None
    error = _standard_error(gaps)
    # The same difference with every seed, as a coarse metric and few seeds bring about, is no test of chance.
    if error <= 1e-9 * float(np.abs(gaps).max()):
        return 1.0 if gaps[0] == 0 else None
    return float(2 * stdtr(gaps.size - 1, -abs(float(gaps.mean())) / error))


def _standard_error(sample: FloatArray) -> float:
    return float(sample.std(ddof=1)) / math.sqrt(sample.size)
