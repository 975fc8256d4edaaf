"""Parts of sentences: an arm's name, and the ends of an interval."""

from __future__ import annotations

import re

from ehfl.experiment import Difference, Estimate, Metric
from ehfl.report.numbers import amount, gap, p_value, value


def spoken(arm: str, *, begins: bool = False) -> str:
    """Return an arm's name as it reads in a sentence; a name that is more than plain words stays as it is.

    >>> spoken("round-robin", begins=True), spoken("round-robin:1", begins=True)
    ('Round robin', 'round-robin:1')
    """
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", arm):
        return arm
    words = arm.replace("-", " ")
    return words[0].upper() + words[1:] if begins else words


def metric_range(metric: Metric, found: Estimate) -> str:
    """Return the ends of an interval of the metric's values; empty for a single seed.

    >>> metric_range(Metric("accuracy"), Estimate(0.939, 0.921, 0.957, 3))
    '92.1 to 95.7'
    """
    if found.low is None or found.high is None:
        return ""
    low, high = (value(metric, end).removesuffix(" %") for end in (found.low, found.high))
    return f"{low} to {high}"


def gap_range(metric: Metric, found: Difference, sign: int = 1) -> str:
    """Return the ends of a difference's interval, lower end first once multiplied by the sign; empty for a single seed.

    >>> gap_range(Metric("accuracy"), Difference(-0.013, -0.017, -0.009, 3, 0.01), sign=-1)
    '0.9 to 1.7'
    """
    if found.low is None or found.high is None:
        return ""
    ends = sorted((sign * found.low, sign * found.high))
    low, high = (gap(metric, end).removesuffix(" points").removeprefix("+") for end in ends)
    return f"{low} to {high}"


def amount_range(found: Estimate) -> str:
    """Return the ends of an interval of counts or ratios; empty for a single seed.

    >>> amount_range(Estimate(2.0, 1.5, 2.5, 3))
    '1.5 to 2.5'
    """
    if found.low is None or found.high is None:
        return ""
    return f"{amount(found.low)} to {amount(found.high)}"


def with_range(text: str, ends: str) -> str:
    """Return the text with the interval's ends in brackets, where there are any.

    >>> with_range("2", "1.5 to 2.5"), with_range("2", "")
    ('2 (1.5 to 2.5)', '2')
    """
    return f"{text} ({ends})" if ends else text


def chance(found: Difference) -> str:
    """Return the p-value as in a sentence; empty for a single seed.

    >>> chance(Difference(0.1, 0.05, 0.15, 3, 0.01)), chance(Difference(0.1, 0.09, 0.11, 9, 0.00001))
    ('p = 0.01', 'p < 0.001')
    """
    if found.p_value is None:
        return ""
    text = p_value(found.p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
