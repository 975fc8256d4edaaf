"""A line of a table, and its cells: how a figure of an arm is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ehfl.analysis.intervals import Written, upper_end, write_amount, write_gap, write_metric
from ehfl.analysis.numbers import DASH, amount, p_value, percent

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.statistics import Difference, Estimate
    from ehfl.history import Metric

Subject = TypeVar("Subject")  # what a table has one of for each arm: a Row or a Summary


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of an arm, as it is read."""

    text: str
    half_width: str = ""  # of the 95 % interval, "± 0.9"; empty where there is none
    ends: str = ""  # of the same interval, "60.8 to 62.6"
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Quantity(Generic[Subject]):
    """One line of a table."""

    group: str  # which neighbours it belongs to
    label: str
    meaning: str  # a sentence without its full stop
    cell: Callable[[Subject], Cell]
    nested: bool = False  # whether it says more of the line above

    @property
    def indented(self) -> str:
        """The label where lines stand below each other."""
        return f"  {self.label}" if self.nested else self.label


def metric_cell(metric: Metric, found: Estimate | None) -> Cell:
    """Return a value of the metric with its interval, a dash where there is none."""
    return Cell(DASH) if found is None else _cell(write_metric(metric, found))


def gap_cell(metric: Metric, found: Difference | None) -> Cell:
    """Return a difference with its interval, strong where it is distinguishable from 0; a dash where there is none."""
    return Cell(DASH) if found is None else _cell(write_gap(metric, found), strong=found.distinguishable)


def p_value_lines(
    group: str, subjects: Sequence[Subject], gap_of: Callable[[Subject], Difference | None]
) -> list[Quantity[Subject]]:
    """Return the line of p-values of a line of differences, and where they are several that of the corrected ones."""

    def alone(subject: Subject) -> Cell:
        found = gap_of(subject)
        return Cell(p_value(found.p_value if found else None))

    def corrected(subject: Subject) -> Cell:
        found = gap_of(subject)
        return Cell(p_value(found.holm_p_value if found else None))

    raw = Quantity(group, "p-value", "Student's paired t-test, two-sided, of each comparison alone", alone, nested=True)
    meaning = "The same with Holm's correction for all comparisons of this line"
    tested = sum(found is not None and found.p_value is not None for found in map(gap_of, subjects))
    return [raw, *([Quantity(group, "p-value, Holm", meaning, corrected, nested=True)] if tested > 1 else [])]


def _cell(made: Written, *, strong: bool = False) -> Cell:
    return Cell(made.mean, made.half_width, made.ends, strong)


def estimate_cell(found: Estimate | None, *, null: float | None = None) -> Cell:
    """Return a count or a ratio with its interval, a dash where there is none; see `write_amount` for `null`.

    >>> from ehfl.analysis import Estimate
    >>> estimate_cell(Estimate(2.0, 1.5, 2.5, 3))
    Cell(text='2.00', half_width='± 0.50', ends='1.50 to 2.50', strong=False)
    """
    return Cell(DASH) if found is None else _cell(write_amount(found, null=null))


def positive_cell(found: Estimate | None) -> Cell:
    """Return a figure that cannot be negative with its interval; one that may be 0 as what it is below.

    >>> from ehfl.analysis import Estimate
    >>> positive_cell(Estimate(0.0001, -0.0002, 0.00043, 20)).text, positive_cell(Estimate(0.25, None, None, 1)).text
    ('< 0.0005', '0.250')
    """
    if found is None:
        return Cell(DASH)
    may_be_zero = found.low is not None and found.high is not None and found.low <= 0 < found.high
    return Cell(f"< {upper_end(found)}") if may_be_zero else estimate_cell(found)


def amount_cell(x: float | None) -> Cell:
    """Return a count or a ratio."""
    return Cell(amount(x))


def percent_cell(share: float) -> Cell:
    """Return a share in percent."""
    return Cell(percent(share))


def index_cell(index: float) -> Cell:
    """Return an index in [0, 1]."""
    return Cell(f"{index:.3f}")
