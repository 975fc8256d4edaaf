"""Parts of sentences: names of arms, and the ends of an interval.

Student's t knows no bounds: what is shown of an interval ends where values do, the estimate itself stays as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from ehfl.experiment import Difference, Estimate, Metric
from ehfl.report.numbers import amount, gap, in_percent, p_value, value


def spoken(arm: str, *, begins: bool = False) -> str:
    """Return an arm's name as it reads in a sentence; a name that is more than plain words stays as it is.

    >>> spoken("round-robin", begins=True), spoken("round-robin:1", begins=True)
    ('Round robin', 'round-robin:1')
    """
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", arm):
        return arm
    words = arm.replace("-", " ")
    return words[0].upper() + words[1:] if begins else words


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def metric_range(metric: Metric, found: Estimate) -> str:
    """Return the ends of an interval of the metric's values, accuracies within 0 to 100 %; empty for a single seed.

    >>> metric_range(Metric("accuracy"), Estimate(0.939, 0.857, 1.021, 3))
    '85.7 to 100.0'
    """
    if found.low is None or found.high is None:
        return ""
    ends = (_within(end, 0.0, 1.0) if in_percent(metric) else end for end in (found.low, found.high))
    low, high = (value(metric, end).removesuffix(" %") for end in ends)
    return f"{low} to {high}"


def gap_range(metric: Metric, found: Difference, sign: int = 1) -> str:
    """Return the ends of a difference's interval, lower end first once multiplied by the sign; empty for a single seed.

    >>> gap_range(Metric("accuracy"), Difference(-0.013, -0.017, -0.009, 3, 0.01), sign=-1)
    '0.9 to 1.7'
    """
    if found.low is None or found.high is None:
        return ""
    ends = sorted((sign * found.low, sign * found.high))
    if in_percent(metric):
        ends = [_within(end, -1.0, 1.0) for end in ends]
    low, high = (gap(metric, end).removesuffix(" points").removeprefix("+") for end in ends)
    return f"{low} to {high}"


def amount_range(found: Estimate) -> str:
    """Return the ends of an interval of counts or ratios, not below 0; empty for a single seed.

    >>> amount_range(Estimate(2.0, 1.5, 2.5, 3)), amount_range(Estimate(1.65, -3.31, 6.61, 2))
    ('1.5 to 2.5', '0 to 6.61')
    """
    if found.low is None or found.high is None:
        return ""
    low, high = (_within(end, 0.0, math.inf) for end in (found.low, found.high))
    return f"{amount(low)} to {amount(high)}"


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


def _within(x: float, least: float, most: float) -> float:
    """Return what is nearest to x between these; what is no number stays none."""
    return min(max(x, least), most)


def counted(n: int, noun: str) -> str:
    """Return so many of something.

    >>> counted(1, "round"), counted(1500, "round")
    ('1 round', '1,500 rounds')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
