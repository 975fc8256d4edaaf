"""A line of a table, and its cells: how a figure of an arm is read, and how it is sorted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ehfl.analysis.numbers import DASH, amount, amount_range, half_width, percent

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.statistics import Estimate

Subject = TypeVar("Subject")  # what a table has one of for each arm: a Row or a Summary


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of an arm, as it is read and as it is sorted."""

    text: str
    half_width: str = ""  # of the 95 % interval, "± 0.9"; empty where there is none
    ends: str = ""  # of the same interval, "60.8 to 62.6"
    order: float | None = None  # None where there is nothing to sort by
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

    @property
    def heading(self) -> str:
        """The label where it stands above a column."""
        return self.label[:1].upper() + self.label[1:]


def estimate_cell(found: Estimate | None, *, at_most: bool = False) -> Cell:
    """Return a count or a ratio with its interval, a dash where there is none; `at_most` marks it as a bound.

    >>> from ehfl.analysis import Estimate
    >>> estimate_cell(Estimate(2.0, 1.5, 2.5, 3), at_most=True)
    Cell(text='≤ 2', half_width='± 0.5', ends='1.5 to 2.5', order=2.0, strong=False)
    """
    if found is None:
        return Cell(DASH)
    text = amount(found.mean)
    bound = at_most and text != DASH
    return Cell(f"≤ {text}" if bound else text, half_width(found), amount_range(found), order_of(found.mean))


def amount_cell(x: float | None) -> Cell:
    """Return a count or a ratio."""
    return Cell(amount(x), order=order_of(x))


def percent_cell(share: float) -> Cell:
    """Return a share in percent."""
    return Cell(percent(share), order=order_of(share))


def index_cell(index: float) -> Cell:
    """Return an index in [0, 1]."""
    return Cell(f"{index:.3f}", order=order_of(index))


def order_of(x: float | None) -> float | None:
    """Return what a figure is sorted by: itself, where it is a finite number."""
    return x if x is not None and math.isfinite(x) else None
