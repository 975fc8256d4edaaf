"""Cells of tables: a figure of an arm with its interval over seeds, a dash where there is none.

A mean, half the width of its interval and the interval's ends have the decimals that show two significant digits of
that half width. An end has more of them where it would otherwise round onto a value that the interval leaves out: no
reader could tell "1.07 (1 to 1.13)" from an interval that holds 1. Student's t knows no bounds: what is shown of an
interval ends where values do, the estimate itself stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ehfl.report import write
from ehfl.report.tables.render import Cell

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Difference, Estimate
    from ehfl.arrays import FloatArray
    from ehfl.runs import Metric

NONE = Cell(write.DASH)
_EQUAL = 1e-9  # half widths below this share of the mean are rounding: every seed gave the same


def over_seeds(values: Sequence[float] | FloatArray) -> Estimate | float:
    """Return the mean of one value a seed with its interval; the value itself where all seeds have the same.

    Seeds of a repeated record see one weather: that they agree says nothing about another one.
    """
    low, high = min(values), max(values)
    if high - low <= _EQUAL * max(abs(low), abs(high)):
        return float(values[0])
    from ehfl.analysis.statistics import estimate

    return estimate(values)


def metric(of: Metric, found: Estimate | None) -> Cell:
    """Return a value of the metric: a share in percent, its interval within the metric's bounds.

    >>> from ehfl.analysis import Estimate
    >>> from ehfl.runs import Metric
    >>> metric(Metric("accuracy", bounds=(0, 1)), Estimate(0.939, 0.857, 1.021, 3)).sentence
    '93.9 % (85.7 to 100.0)'
    """
    if found is None:
        return NONE
    factor, unit = (100, " %") if of.is_share else (1, "")
    least, most = (None if end is None else factor * end for end in of.bounds)
    return _cell(found, write.value(of, found.mean), factor, unit, least=least, most=most)


def gap(of: Metric, found: Difference | None, sign: int = 1) -> Cell:
    """Return a difference between two values of the metric, strong where it is distinguishable from 0.

    Of shares it is in percentage points; times `sign` if it is to be turned.

    >>> from ehfl.analysis import Difference
    >>> from ehfl.runs import Metric
    >>> gap(Metric("accuracy", bounds=(0, 1)), Difference(-0.013, -0.0259, -0.0001, 3, 0.049)).sentence
    '-1.3 (-2.6 to -0.01)'
    """
    if found is None:
        return NONE
    factor = 100 if of.is_share else 1
    least, most = of.bounds
    widest = None if least is None or most is None else factor * (most - least)  # that two values can be apart
    lowest = None if widest is None else -widest
    plain, strong = write.signed(of, sign * found.mean), found.distinguishable
    return _cell(found, plain, sign * factor, least=lowest, most=widest, null=0.0, plus=sign > 0, strong=strong)


def share(found: Estimate | float | None) -> Cell:
    """Return a share in percent."""
    from ehfl.runs import Metric

    if found is None or isinstance(found, int | float):
        return NONE if found is None else Cell(write.percent(found))
    return metric(Metric("share", bounds=(0, 1)), found)


def amount(found: Estimate | float | None, *, null: float | None = None) -> Cell:
    """Return a count or a ratio, not below 0; `null` is the value of no effect, such as a ratio of 1.

    >>> from ehfl.analysis import Estimate
    >>> amount(Estimate(1.066, 1.0004, 1.1316, 5), null=1.0).sentence, amount(Estimate(72.41, 65, 79.8, 5)).sentence
    ('1.066 (1.0004 to 1.132)', '72.4 (65.0 to 79.8)')
    """
    if found is None or isinstance(found, int | float):
        return Cell(write.amount(found))
    return _cell(found, write.amount(found.mean), null=null, least=0.0)


def positive(found: Estimate | None) -> Cell:
    """Return a figure that cannot be negative; one that may be 0 as what it is below.

    >>> from ehfl.analysis import Estimate
    >>> positive(Estimate(0.0001, -0.0002, 0.00043, 20)).text, positive(Estimate(0.25, None, None, 1)).text
    ('< 0.0005', '0.250')
    """
    if found is None or found.low is None or found.high is None or not found.low <= 0 < found.high:
        return amount(found)
    decimals = write.shown_decimals(found.high, digits=1)
    return Cell(f"< {write.fixed(math.ceil(found.high * 10**decimals) / 10**decimals, decimals)}")


def index(found: Estimate | float) -> Cell:
    """Return an index in [0, 1]."""
    return Cell(f"{found:.3f}") if isinstance(found, int | float) else amount(found)


def _cell(
    found: Estimate | Difference,
    plain: str,
    factor: float = 1,
    unit: str = "",
    *,
    least: float | None = None,
    most: float | None = None,
    null: float | None = None,
    plus: bool = False,
    strong: bool = False,
) -> Cell:
    """Return mean, half width and ends, times the factor; the mean as in `plain` where no interval gives it digits."""
    if found.low is None or found.high is None or not math.isfinite(found.high - found.low):
        return Cell(plain, strong=strong)
    low, high = sorted((factor * found.low, factor * found.high))
    half = (high - low) / 2
    if half <= _EQUAL * max(abs(low), abs(high)):
        return Cell(plain, "± 0", strong=strong)
    decimals = write.shown_decimals(half)
    low, high = max(low, -math.inf if least is None else least), min(high, math.inf if most is None else most)
    ends = [write.fixed(end, write.kept_off(null, end, decimals)) for end in (low, high)]
    mean = write.fixed(factor * found.mean, decimals, "+" if plus else "-")
    return Cell(f"{mean}{unit}", f"± {write.fixed(half, decimals)}", " to ".join(ends), strong)
