"""Numbers as people read them: one way of writing them, in the terminal's tables and on the page."""

from __future__ import annotations

import math

from ehfl.experiment.comparison import Metric
from ehfl.experiment.statistics import Difference, Estimate

DASH = "–"  # noqa: RUF001  where there is nothing to say


def value(metric: Metric, x: float) -> str:
    """Return a metric's value: accuracy in percent, anything else to three significant digits.

    >>> value(Metric("accuracy"), 0.9391), value(Metric("loss", lower_is_better=True), 0.01234)
    ('93.9 %', '0.0123')
    """
    if not math.isfinite(x):
        return DASH
    return f"{100 * x:.1f} %" if in_percent(metric) else _significant(x)


def gap(metric: Metric, x: float) -> str:
    """Return a difference between two values with its sign: of accuracies in points of a percent.

    >>> gap(Metric("accuracy"), 0.0134), gap(Metric("loss", lower_is_better=True), -0.0021)
    ('+1.3 points', '-0.0021')
    """
    if not math.isfinite(x):
        return DASH
    text = f"{100 * x:+.1f}" if in_percent(metric) else _significant(x, sign="+")
    return f"{_unsigned_zero(text)} points" if in_percent(metric) else _unsigned_zero(text)


def interval(metric: Metric, estimate: Estimate | Difference) -> str:
    """Return the half width of an interval, empty where a single seed gives none.

    >>> interval(Metric("accuracy"), Estimate(0.93, 0.912, 0.948, 3))
    '± 1.8 points'
    >>> interval(Metric("accuracy"), Estimate(0.93, None, None, 1))
    ''
    """
    if estimate.low is None or estimate.high is None:
        return ""
    half = (estimate.high - estimate.low) / 2
    return f"± {100 * half:.1f} points" if in_percent(metric) else f"± {half:.2g}"


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

    >>> amount(1234.6), amount(99.96), amount(93.26), amount(5.0), amount(0.31416)
    ('1,235', '100', '93.3', '5', '0.314')
    """
    return _significant(x) if math.isfinite(x) else DASH


def in_percent(metric: Metric) -> bool:
    """Whether the metric is a share, which people read in percent."""
    return metric.name == "accuracy"


def _significant(x: float, sign: str = "-") -> str:
    return f"{x:{sign},.0f}" if abs(x) >= 99.95 else f"{x:{sign}.3g}"


def _unsigned_zero(text: str) -> str:
    """Return the text without the sign that a rounded zero has.

    >>> _unsigned_zero("-0.0")
    '0.0'
    """
    return text.lstrip("+-") if float(text) == 0 else text
