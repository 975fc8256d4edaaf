"""Cells of tables: a figure of an arm with its interval over seeds, a dash where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ehfl.report import write
from ehfl.report.tables.render import Cell

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Difference, Estimate
    from ehfl.arrays import FloatArray
    from ehfl.runs import Metric

NONE = Cell(write.DASH)


def over_seeds(values: Sequence[float] | FloatArray) -> Estimate | float:
    """Return the mean of one value a seed with its interval; the value itself where there is a single seed."""
    if len(values) == 1:
        return float(values[0])
    from ehfl.analysis.statistics import estimate

    return estimate(values)


def metric(of: Metric, found: Estimate | None) -> Cell:
    """Return a value of the metric."""
    return NONE if found is None else _cell(write.write_metric(of, found))


def gap(of: Metric, found: Difference | None) -> Cell:
    """Return a difference between two values of the metric, strong where it is distinguishable from 0."""
    return NONE if found is None else _cell(write.write_gap(of, found), strong=found.distinguishable)


def share(found: Estimate | float | None) -> Cell:
    """Return a share in percent."""
    from ehfl.runs import Metric

    if found is None or isinstance(found, int | float):
        return NONE if found is None else Cell(write.percent(found))
    return metric(Metric("share", bounds=(0, 1)), found)


def amount(found: Estimate | float | None, *, null: float | None = None) -> Cell:
    """Return a count or a ratio; see `write_amount` for `null`.

    >>> from ehfl.analysis import Estimate
    >>> amount(Estimate(2.0, 1.5, 2.5, 3))
    Cell(text='2.00', half_width='± 0.50', ends='1.50 to 2.50', strong=False)
    """
    if found is None or isinstance(found, int | float):
        return Cell(write.amount(found))
    return _cell(write.write_amount(found, null=null))


def positive(found: Estimate | None) -> Cell:
    """Return a figure that cannot be negative; one that may be 0 as what it is below.

    >>> from ehfl.analysis import Estimate
    >>> positive(Estimate(0.0001, -0.0002, 0.00043, 20)).text, positive(Estimate(0.25, None, None, 1)).text
    ('< 0.0005', '0.250')
    """
    if found is not None and found.low is not None and found.high is not None and found.low <= 0 < found.high:
        return Cell(f"< {write.upper_end(found)}")
    return amount(found)


def index(found: Estimate | float) -> Cell:
    """Return an index in [0, 1]."""
    return Cell(f"{found:.3f}") if isinstance(found, int | float) else amount(found)


def _cell(made: write.Written, *, strong: bool = False) -> Cell:
    return Cell(made.mean, made.half_width, made.ends, strong)
