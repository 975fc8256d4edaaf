"""Numbers as people read them: one way of writing them in tables, sentences and figures.

Student's t knows no bounds: what is shown of an interval ends where values do, the estimate itself stays as it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Difference, Estimate
    from ehfl.history import Metric

DASH = "–"  # noqa: RUF001  where there is nothing to say


def value(metric: Metric, x: float) -> str:
    """Return a metric's value: a share in percent, anything else to three significant digits.

    >>> from ehfl.history import Metric
    >>> value(Metric("accuracy", bounds=(0, 1)), 0.9391), value(Metric("loss", lower_is_better=True), 0.01234)
    ('93.9 %', '0.0123')
    """
    return percent(x) if metric.is_share else amount(x)


def gap(metric: Metric, x: float) -> str:
    """Return a difference between two values with its sign: of shares in points of a percent.

    >>> from ehfl.history import Metric
    >>> gap(Metric("accuracy", bounds=(0, 1)), 0.0134), gap(Metric("loss", lower_is_better=True), -0.0021)
    ('+1.3 points', '-0.0021')
    """
    return f"{signed(metric, x)} points" if metric.is_share and math.isfinite(x) else signed(metric, x)


def signed(metric: Metric, x: float) -> str:
    """Return a difference as `gap` does, without its unit, for tables whose label has it."""
    if not math.isfinite(x):
        return DASH
    return _unsigned_zero(f"{100 * x:+.1f}" if metric.is_share else _significant(x, sign="+"))


def half_width(found: Estimate | Difference, *, in_percent: bool = False) -> str:
    """Return half the width of an interval, empty where a single seed gives none.

    >>> from ehfl.analysis import Estimate
    >>> half_width(Estimate(0.93, 0.912, 0.948, 3), in_percent=True), half_width(Estimate(0.93, None, None, 1))
    ('± 1.8', '')
    """
    if found.low is None or found.high is None:
        return ""
    half = (found.high - found.low) / 2
    return f"± {100 * half:.1f}" if in_percent else f"± {_significant(half, digits=2)}"


def p_value(p: float | None) -> str:
    """Return a p-value to as many digits as mean something.

    >>> p_value(0.0314), p_value(0.0042), p_value(0.0004), p_value(0.5), p_value(None)
    ('0.03', '0.004', '< 0.001', '0.50', '–')
    """
    if p is None or not math.isfinite(p):
        return DASH
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.01 else f"{p:.2f}"


def amount(x: float | None) -> str:
    """Return a count or a ratio: whole from a hundred on, else to three significant digits.

    >>> amount(1234.6), amount(99.7), amount(93.26), amount(5.0), amount(0.31416)
    ('1,235', '100', '93.3', '5', '0.314')
    """
    return _significant(x) if x is not None and math.isfinite(x) else DASH


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.0213)
    '2.1 %'
    """
    return f"{100 * share:.1f} %" if math.isfinite(share) else DASH


def metric_range(metric: Metric, found: Estimate) -> str:
    """Return the ends of an interval of the metric's values, within its bounds; empty for a single seed.

    >>> from ehfl.analysis import Estimate
    >>> from ehfl.history import Metric
    >>> metric_range(Metric("accuracy", bounds=(0, 1)), Estimate(0.939, 0.857, 1.021, 3))
    '85.7 to 100.0'
    """
    if found.low is None or found.high is None:
        return ""
    low, high = (value(metric, metric.within(end)).removesuffix(" %") for end in (found.low, found.high))
    return f"{low} to {high}"


def gap_range(metric: Metric, found: Difference, sign: int = 1) -> str:
    """Return the ends of a difference's interval, lower end first once multiplied by the sign; empty for a single seed.

    >>> from ehfl.analysis import Difference
    >>> from ehfl.history import Metric
    >>> gap_range(Metric("accuracy", bounds=(0, 1)), Difference(-0.013, -0.017, -0.009, 3, 0.01), sign=-1)
    '0.9 to 1.7'
    """
    if found.low is None or found.high is None:
        return ""
    least, most = metric.bounds
    widest = math.inf if least is None or most is None else most - least  # that two values can be apart
    ends = sorted((sign * found.low, sign * found.high))
    low, high = (signed(metric, _within(end, -widest, widest)).removeprefix("+") for end in ends)
    return f"{low} to {high}"


def amount_range(found: Estimate) -> str:
    """Return the ends of an interval of counts or ratios, not below 0; empty for a single seed.

    >>> from ehfl.analysis import Estimate
    >>> amount_range(Estimate(2.0, 1.5, 2.5, 3)), amount_range(Estimate(1.65, -3.31, 6.61, 2))
    ('1.5 to 2.5', '0 to 6.61')
    """
    if found.low is None or found.high is None:
        return ""
    low, high = (_within(end, 0.0, math.inf) for end in (found.low, found.high))
    return f"{amount(low)} to {amount(high)}"


def _within(x: float, least: float, most: float) -> float:
    """Return what is nearest to x between these; NaN stays NaN."""
    return min(max(x, least), most)


def _significant(x: float, sign: str = "-", digits: int = 3) -> str:
    return f"{x:{sign},.0f}" if abs(x) >= 99.5 else f"{x:{sign}.{digits}g}"


def _unsigned_zero(text: str) -> str:
    """Return the text without the sign that a rounded zero has.

    >>> _unsigned_zero("-0.0")
    '0.0'
    """
    return text.lstrip("+-") if not text.strip("+-0.") else text
