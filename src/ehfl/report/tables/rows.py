"""Rows of tables: a label, what it means, and the cell of each arm. Meanings of rows that tables share stand here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ehfl.report.tables.render import Cell, Line
from ehfl.report.write import p_value

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Difference

Subject = TypeVar("Subject")  # what a table has one of for each arm: a Row, Simulations, an Audit

ENERGY, POSSIBLE = "Energy and turns", "Perfect foresight"  # groups
_WEIGHT = "weight in a plain mean of the participants, relative to equal weights"
_MEANINGS = {  # of rows that both played and trained arms have, by label
    "participants, mean": "Clients that took part in a round, mean over seeds",
    "standard deviation": "Standard deviation of n_t over the rounds",
    "empty rounds": "Rounds without any participant, mean over seeds",
    "clients short a round": "Mean of max(wanted - n_t, 0)",
    "harvest wasted": "Share of the harvest that arrived at full batteries",
    "energy lost": "Share of all energy that was lost in charging, leakage and standby",
    "fairness (Jain)": "Jain's index of the turns of clients: 1 where all have the same number",
    "chi^2 of weights": "N sum (q_i - 1/N)^2, where q_i is the weight of client i in a plain mean of the participants: "
    "0 if all are equal",
    "smallest weight [1/N]": f"Smallest {_WEIGHT}",
    "largest weight [1/N]": f"Largest {_WEIGHT}",
    "share of possible": "Mean of sqrt(n_t), relative to the largest that is achievable with perfect foresight",
    "of the lowest": "The same for the smallest n_t, from the first round that can have participants",
}


@dataclass(frozen=True, slots=True)
class Quantity(Generic[Subject]):
    """One line of a table."""

    group: str  # which neighbours it belongs to
    label: str
    meaning: str  # a sentence without its full stop
    cell: Callable[[Subject], Cell]
    nested: bool = False  # whether it says more of the line above


def shared(group: str, label: str, cell: Callable[[Subject], Cell], *, nested: bool = False) -> Quantity[Subject]:
    """Return a line that several tables have, with its meaning."""
    return Quantity(group, label, _MEANINGS[label], cell, nested)


def lines_of(quantities: Iterable[Quantity[Subject]], subjects: Sequence[Subject]) -> tuple[Line, ...]:
    """Return a line for each quantity, with the cells of these subjects."""
    return tuple(
        Line(one.label, tuple(map(one.cell, subjects)), one.group, one.meaning, one.nested) for one in quantities
    )


def p_value_lines(
    group: str, subjects: Sequence[Subject], gap_of: Callable[[Subject], Difference | None]
) -> list[Quantity[Subject]]:
    """Return the line of p-values of a line of differences, and where they are several that of the corrected ones."""

    def line(label: str, meaning: str, kind: str) -> Quantity[Subject]:
        return Quantity(group, label, meaning, lambda one: Cell(p_value(getattr(gap_of(one), kind, None))), nested=True)

    raw = line("p-value", "Student's paired t-test, two-sided, of each comparison alone", "p_value")
    meaning = "The same with Holm's correction for all comparisons of this line"
    tested = sum(found is not None and found.p_value is not None for found in map(gap_of, subjects))
    return [raw, *([line("p-value, Holm", meaning, "holm_p_value")] if tested > 1 else [])]
