"""Numbers as people read them: one way of writing them, in the terminal's tables and on the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # learning's libraries take seconds to load, and `ehfl simulate` prints tables too
    from ehfl.experiment import Difference, Estimate, Metric, Row

DASH = "–"  # noqa: RUF001  where there is nothing to say


def value(metric: Metric | None, x: float) -> str:
    """Return a metric's value: accuracy in percent, anything else (or no metric) to three significant digits.

    >>> from ehfl.experiment import Metric
    >>> value(Metric("accuracy"), 0.9391), value(Metric("loss", lower_is_better=True), 0.01234)
    ('93.9 %', '0.0123')
    """
    if not math.isfinite(x):
        return DASH
    return f"{100 * x:.1f} %" if in_percent(metric) else _significant(x)


def gap(metric: Metric, x: float) -> str:
    """Return a difference between two values with its sign: of accuracies in points of a percent.

    >>> from ehfl.experiment import Metric
    >>> gap(Metric("accuracy"), 0.0134), gap(Metric("loss", lower_is_better=True), -0.0021)
    ('+1.3 points', '-0.0021')
    """
    if not math.isfinite(x):
        return DASH
    text = f"{100 * x:+.1f}" if in_percent(metric) else _significant(x, sign="+")
    return f"{_unsigned_zero(text)} points" if in_percent(metric) else _unsigned_zero(text)


def interval(metric: Metric | None, estimate: Estimate | Difference) -> str:
    """Return the half width of an interval, empty where a single seed gives none.

    >>> from ehfl.experiment import Metric
    >>> from ehfl.experiment import Estimate
    >>> interval(Metric("accuracy"), Estimate(0.93, 0.912, 0.948, 3))
    '± 1.8 points'
    >>> interval(Metric("accuracy"), Estimate(0.93, None, None, 1))
    ''
    """
    if estimate.low is None or estimate.high is None:
        return ""
    half = (estimate.high - estimate.low) / 2
    return f"± {100 * half:.1f} points" if in_percent(metric) else f"± {_significant(half, digits=2)}"


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


def amount(x: float) -> str:
    """Return a count or a ratio: whole from a hundred on, else to three significant digits.

    >>> amount(1234.6), amount(99.7), amount(93.26), amount(5.0), amount(0.31416)
    ('1,235', '100', '93.3', '5', '0.314')
    """
    return _significant(x) if math.isfinite(x) else DASH


def at_most(row: Row, text: str) -> str:
    """Return what it took to come to the goal, as a bound where a run was there by its first evaluation."""
    return f"≤ {text}" if row.untimed and text != DASH else text


def in_percent(metric: Metric | None) -> bool:
    """Whether the metric is a share, which people read in percent."""
    return metric is not None and metric.name == "accuracy"


def _significant(x: float, sign: str = "-", digits: int = 3) -> str:
    return f"{x:{sign},.0f}" if abs(x) >= 99.5 else f"{x:{sign}.{digits}g}"


def _unsigned_zero(text: str) -> str:
    """Return the text without the sign that a rounded zero has.

    >>> _unsigned_zero("-0.0")
    '0.0'
    """
    return text.lstrip("+-") if not text.strip("+-0.") else text
