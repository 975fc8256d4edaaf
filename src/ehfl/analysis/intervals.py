"""Means with their intervals as people read them: as many digits as the interval gives a meaning to, and no more.

A mean, half the width of its interval and the interval's ends have the decimals that show two significant digits of
that half width. An end has more of them where it would otherwise round onto a value that the interval leaves out: no
reader could tell "1.07 (1 to 1.13)" from an interval that holds 1. Student's t knows no bounds: what is shown of an
interval ends where values do, the estimate itself stays as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehfl.analysis.numbers import amount, fixed, kept_off, shown_decimals, signed, value

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.statistics import Difference, Estimate
    from ehfl.history import Metric

_EQUAL = 1e-9  # half widths below this share of the mean are rounding: every seed gave the same


@dataclass(frozen=True, slots=True)
class Written:
    """A mean and its interval in words."""

    mean: str  # with its unit, such as "%"
    half_width: str = ""  # "± 0.9"; empty where a single seed gives none
    ends: str = ""  # "60.8 to 62.6", without a unit; empty also where every seed gave the same

    @property
    def text(self) -> str:
        """The mean, and the ends in brackets where there are any."""
        return f"{self.mean} ({self.ends})" if self.ends else self.mean


def write_metric(metric: Metric, found: Estimate) -> Written:
    """Return a mean of the metric's values: a share in percent, its interval within the metric's bounds.

    >>> from ehfl.analysis import Estimate
    >>> from ehfl.history import Metric
    >>> write_metric(Metric("accuracy", bounds=(0, 1)), Estimate(0.939, 0.857, 1.021, 3))
    Written(mean='93.9 %', half_width='± 8.2', ends='85.7 to 100.0')
    """
    factor, unit = (100, " %") if metric.is_share else (1, "")
    least, most = (None if end is None else factor * end for end in metric.bounds)
    return _write(found, value(metric, found.mean), factor, unit, least=least, most=most)


def write_gap(metric: Metric, found: Difference, sign: int = 1) -> Written:
    """Return a difference between two values, of shares in points of a percent; times `sign` if it is to be turned.

    >>> from ehfl.analysis import Difference
    >>> from ehfl.history import Metric
    >>> write_gap(Metric("accuracy", bounds=(0, 1)), Difference(-0.013, -0.0259, -0.0001, 3, 0.049)).text
    '-1.3 (-2.6 to -0.01)'
    """
    factor = 100 if metric.is_share else 1
    least, most = metric.bounds
    widest = None if least is None or most is None else factor * (most - least)  # that two values can be apart
    lowest = None if widest is None else -widest
    plain = signed(metric, sign * found.mean)
    return _write(found, plain, sign * factor, least=lowest, most=widest, null=0.0, plus=sign > 0)


def write_amount(found: Estimate, *, null: float | None = None) -> Written:
    """Return a count or a ratio, not below 0; `null` is the value of no effect, such as a ratio of 1.

    >>> from ehfl.analysis import Estimate
    >>> write_amount(Estimate(1.066, 1.0004, 1.1316, 5), null=1.0).text, write_amount(Estimate(72.41, 65, 79.8, 5)).text
    ('1.066 (1.0004 to 1.132)', '72.4 (65.0 to 79.8)')
    """
    return _write(found, amount(found.mean), null=null, least=0.0)


def upper_end(found: Estimate) -> str:
    """Return what a figure is below as far as its interval says, rounded up to a digit.

    >>> from ehfl.analysis import Estimate
    >>> upper_end(Estimate(0.0001, -0.0002, 0.00043, 20))
    '0.0005'
    """
    assert found.high is not None
    decimals = shown_decimals(found.high, digits=1)
    return fixed(math.ceil(found.high * 10**decimals) / 10**decimals, decimals)


def _write(
    found: Estimate | Difference,
    plain: str,
    factor: float = 1,
    unit: str = "",
    *,
    least: float | None = None,
    most: float | None = None,
    null: float | None = None,
    plus: bool = False,
) -> Written:
    """Return mean, half width and ends, times the factor; the mean as in `plain` where no interval gives it digits."""
    if found.low is None or found.high is None or not math.isfinite(found.high - found.low):
        return Written(plain)
    low, high = sorted((factor * found.low, factor * found.high))
    half = (high - low) / 2
    if half <= _EQUAL * max(abs(low), abs(high)):
        return Written(plain, "± 0")
    decimals = shown_decimals(half)
    low, high = max(low, -math.inf if least is None else least), min(high, math.inf if most is None else most)
    ends = [fixed(end, kept_off(null, end, decimals)) for end in (low, high)]
    mean = fixed(factor * found.mean, decimals, "+" if plus else "-")
    return Written(f"{mean}{unit}", f"± {fixed(half, decimals)}", " to ".join(ends))
