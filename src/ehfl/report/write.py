"""Numbers, units and names as people read them: one way of writing them in tables, sentences and figures.

Means with their intervals are `tables.cells`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ehfl.analysis.units import Scale
    from ehfl.runs import Metric

DASH = "–"  # noqa: RUF001  where there is nothing to say
_HUGE = 1e9  # from here on a power of ten is easier to read than its zeros
_MOST_DECIMALS = 6


def value(metric: Metric, x: float) -> str:
    """Return a metric's value: a share in percent, anything else to three significant digits.

    >>> from ehfl.runs import Metric
    >>> value(Metric("accuracy", bounds=(0, 1)), 0.9391), value(Metric("loss", lower_is_better=True), 0.01234)
    ('93.9 %', '0.0123')
    """
    return percent(x) if metric.is_share else amount(x)


def signed(metric: Metric, x: float) -> str:
    """Return a difference between two values with its sign: of shares in percentage points.

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


def with_unit(scale: Scale, x: float) -> str:
    """Return an amount in joules or seconds in the scale's unit, as a sentence has it.

    >>> from ehfl.analysis.units import Scale
    >>> with_unit(Scale("Wh", 3600.0), 4500.0), with_unit(Scale("days", 86_400.0), 86_400.0)
    ('1.25 Wh', '1 day')
    """
    number = amount(scale.of(x))
    return f"{number} {'day' if scale.unit == 'days' and number == '1' else scale.unit}"


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
