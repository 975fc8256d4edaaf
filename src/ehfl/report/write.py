"""Numbers, units and names as people read them: one way of writing them in tables, sentences and figures.

A mean, half the width of its interval and the interval's ends have the decimals that show two significant digits of
that half width. An end has more of them where it would otherwise round onto a value that the interval leaves out: no
reader could tell "1.07 (1 to 1.13)" from an interval that holds 1. Student's t knows no bounds: what is shown of an
interval ends where values do, the estimate itself stays as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Difference, Estimate
    from ehfl.analysis.units import Scale
    from ehfl.runs import Metric

DASH = "–"  # noqa: RUF001  where there is nothing to say
_HUGE = 1e9  # from here on a power of ten is easier to read than its zeros
_MOST_DECIMALS = 6
_EQUAL = 1e-9  # half widths below this share of the mean are rounding: every seed gave the same


def value(metric: Metric, x: float) -> str:
    """Return a metric's value: a share in percent, anything else to three significant digits.

    >>> from ehfl.runs import Metric
    >>> value(Metric("accuracy", bounds=(0, 1)), 0.9391), value(Metric("loss", lower_is_better=True), 0.01234)
    ('93.9 %', '0.0123')
    """
    return percent(x) if metric.is_share else amount(x)


def signed(metric: Metric, x: float) -> str:
    """Return a difference between two values with its sign: of shares in points of a percent.

    >>> from ehfl.runs import Metric
    >>> signed(Metric("accuracy", bounds=(0, 1)), 0.0134), signed(Metric("loss", lower_is_better=True), -0.0021)
    ('+1.3', '-0.00210')
    """
    if not math.isfinite(x):
        return DASH
    return fixed(100 * x, 1, "+") if metric.is_share else _significant(x, sign="+")


def p_value(p: float | None) -> str:
    """Return a p-value to as many digits as mean something, on its own side of 0.05.

    >>> p_value(0.0314), p_value(0.0042), p_value(0.0004), p_value(0.5), p_value(0.0496), p_value(None)
    ('0.03', '0.004', '< 0.001', '0.50', '0.0496', '–')
    """
    if p is None or not math.isfinite(p):
        return DASH
    if p < 0.001:
        return "< 0.001"
    return fixed(p, 3) if p < 0.01 else fixed(p, kept_off(0.05, p, 2))


def amount(x: float | None) -> str:
    """Return a count or a ratio: integers as such, others to three significant digits, rounded to integers from 100 on.

    >>> amount(1234.6), amount(99.7), amount(93.26), amount(5.0), amount(1.7), amount(0.31416)
    ('1,235', '100', '93.3', '5', '1.70', '0.314')
    """
    return _significant(x) if x is not None and math.isfinite(x) else DASH


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.0213)
    '2.1 %'
    """
    return f"{fixed(100 * share, 1)} %" if math.isfinite(100 * share) else amount(share)


def fixed(x: float, decimals: int, sign: str = "-") -> str:
    """Return a number with that many decimals; huge and tiny ones as a power of ten.

    >>> fixed(1234.567, 1), fixed(-0.0004, 2), fixed(1.234e-9, 11), fixed(2e300, 0)
    ('1,234.6', '0.00', '1.23e-09', '2e+300')
    """
    if abs(x) < _HUGE and decimals <= _MOST_DECIMALS:
        return _unsigned_zero(f"{x:{sign},.{decimals}f}")
    digits = (math.floor(math.log10(abs(x))) if x else 0) + decimals
    if digits < 0 or not x:
        return "0"
    return f"{x:{sign}.{min(digits, 2 if abs(x) >= _HUGE else digits)}e}".replace(".00e", "e")


def shown_decimals(half: float, digits: int = 2) -> int:
    """Return the number of decimals that shows `digits` significant digits.

    >>> [shown_decimals(half) for half in (12.0, 1.23, 0.0996, 0.02)]
    [0, 1, 2, 3]
    """
    exponent = int(f"{half:.{digits - 1}e}".partition("e")[2])
    return max(0, digits - 1 - exponent)


def kept_off(null: float | None, x: float, decimals: int) -> int:
    """Return `decimals`, or as many more as keep x from rounding to `null`, the value of no effect.

    >>> kept_off(1.0, 1.0004, 2), kept_off(1.0, 1.02, 2), kept_off(None, 1.0004, 2)
    (4, 2, 2)
    """
    if null is None or x == null:
        return decimals
    return max(decimals, shown_decimals(abs(x - null), digits=1))


def _significant(x: float, sign: str = "-") -> str:
    if x == round(x) or 99.5 <= abs(x) < _HUGE:
        return fixed(x, 0, sign)
    return f"{x:{sign}#.3g}".removesuffix(".")


def _unsigned_zero(text: str) -> str:
    """Return the text without the sign that a rounded zero has.

    >>> _unsigned_zero("-0.0")
    '0.0'
    """
    return text.lstrip("+-") if not text.strip("+-0.") else text


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
    >>> from ehfl.runs import Metric
    >>> write_metric(Metric("accuracy", bounds=(0, 1)), Estimate(0.939, 0.857, 1.021, 3))
    Written(mean='93.9 %', half_width='± 8.2', ends='85.7 to 100.0')
    """
    factor, unit = (100, " %") if metric.is_share else (1, "")
    least, most = (None if end is None else factor * end for end in metric.bounds)
    return _write(found, value(metric, found.mean), factor, unit, least=least, most=most)


def write_gap(metric: Metric, found: Difference, sign: int = 1) -> Written:
    """Return a difference between two values, of shares in points of a percent; times `sign` if it is to be turned.

    >>> from ehfl.analysis import Difference
    >>> from ehfl.runs import Metric
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


def with_unit(scale: Scale, x: float) -> str:
    """Return an amount in joules or seconds in the scale's unit, as a sentence has it.

    >>> from ehfl.analysis.units import Scale
    >>> with_unit(Scale("Wh", 3600.0), 4500.0), with_unit(Scale("days", 86_400.0), 86_400.0)
    ('1.25 Wh', '1 day')
    """
    number = amount(scale.of(x))
    return f"{number} {'day' if scale.unit == 'days' and number == '1' else scale.unit}"


def spoken(arm: str, *, begins: bool = False) -> str:
    """Return an arm's name as it reads in a sentence; a name that is more than plain words stays as it is.

    >>> spoken("round-robin", begins=True), spoken("round-robin:1", begins=True)
    ('Round robin', 'round-robin:1')
    """
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", arm):
        return arm
    words = arm.replace("-", " ")
    return words[0].upper() + words[1:] if begins else words


def listed(names: Iterable[str], word: str = "and") -> str:
    """Return names as a sentence has them.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "round"), counted(1500, "round")
    ('1 round', '1,500 rounds')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
