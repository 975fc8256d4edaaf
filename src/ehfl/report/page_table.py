"""The page's table: which figures of an arm it shows, what each means, and how it is written and sorted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ehfl.experiment import Comparison, Estimate, Row
from ehfl.report.numbers import DASH, amount, at_most, gap, p_value, value
from ehfl.report.phrases import amount_range, gap_range, metric_range


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure: as it is read, what stands below it in small print, and what it is sorted by."""

    text: str
    below: str = ""
    order: float | None = None  # None where there is nothing to sort by: goes last
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, what it means in words, and the figure of a row."""

    group: str
    heading: str
    meaning: str
    cell: Callable[[Row], Cell]


def columns(comparison: Comparison) -> list[Column]:
    """Return the columns that follow the arm's name, those of a group side by side."""
    return [*_results(comparison), *_to_goal(comparison), *_participation(comparison), *_slowdown(comparison)]


def _results(comparison: Comparison) -> list[Column]:
    metric, first = comparison.metric, comparison.rows[0].arm
    better = "lower is better" if metric.lower_is_better else "higher is better"

    def final(found: Estimate) -> Cell:
        return Cell(value(metric, found.mean), metric_range(metric, found), _order(found.mean))

    def difference(row: Row) -> Cell:
        found = row.difference
        if found is None:
            return Cell(DASH)
        return Cell(gap(metric, found.mean), gap_range(metric, found), _order(found.mean), found.distinguishable)

    def chance(row: Row) -> Cell:
        p = row.difference.p_value if row.difference else None
        return Cell(p_value(p), order=_order(p))

    paired = f"Final {metric.name} minus that of {first}, seed by seed; in bold if the 95 % interval "
    return [
        Column("Result", f"Final {metric.name}", f"After the last round, mean over seeds and 95 % interval; {better}",
               lambda row: final(row.final)),
        Column("Result", f"Against {first}", f"{paired}leaves zero out", difference),
        Column("Result", "p", "Student's paired t-test, two-sided, not corrected for several comparisons", chance),
        Column("Result", "Area", f"Area under the curve / rounds, from the first evaluation to the last; {better}",
               lambda row: final(row.area)),
    ]  # fmt: skip


def _to_goal(comparison: Comparison) -> list[Column]:
    group = f"To the goal of {value(comparison.metric, comparison.goal)}"
    missing = "nothing is given unless all of them did"
    return [
        Column(group, "Rounds", f"Rounds until the {comparison.metric.name} came to the goal; {missing}",
               lambda row: _to_the_goal(row, row.rounds_to_goal)),
        Column(group, "Energy", f"Units of energy that training took until then; {missing}",
               lambda row: _to_the_goal(row, row.energy_to_goal)),
        Column(group, "Reached by", "Seeds whose run came to the goal, of all seeds",
               lambda row: Cell(f"{row.reached} of {row.seeds}", order=row.reached / row.seeds)),
    ]  # fmt: skip


def _participation(comparison: Comparison) -> list[Column]:
    group = f"Participants a round, {comparison.target:,} wanted"
    return [
        Column(group, "Mean", "Clients that took part in a round, mean", lambda row: _plain(row.participants)),
        Column(group, "Std", "Standard deviation of their number over the rounds: the lower, the steadier",
               lambda row: _plain(row.participants_std)),
        Column(group, "Min", "The fewest in any round, mean over seeds", lambda row: _plain(row.participants_min)),
        Column(group, "Empty", "Rounds without any participant, mean over seeds", lambda row: _plain(row.empty_rounds)),
        Column(group, "Short", f"Clients a round short of the {comparison.target:,} wanted, mean",
               lambda row: _plain(row.shortfall)),
        Column("Energy and turns", "Waste", "Share of the harvest that found the battery full",
               lambda row: Cell(f"{100 * row.waste:.1f} %", order=_order(row.waste))),
        Column("Energy and turns", "Fairness", "Jain's index of turns per client: 1 when all have equally many",
               lambda row: Cell(f"{row.fairness:.3f}", order=_order(row.fairness))),
    ]  # fmt: skip


def _slowdown(comparison: Comparison) -> list[Column]:
    group = f"Rounds, relative to {comparison.best}"
    return [
        Column(group, "Measured", f"Rounds to the goal over those of {comparison.best}, seed by seed, 95 % interval",
               lambda row: _estimate(row.measured_slowdown)),
        Column(group, "Predicted", "What theory says for the same bound, given the problem's constants",
               lambda row: _plain(row.predicted_slowdown)),
        Column(group, "Noise limit", "The same where gradient noise is all that holds learning back",
               lambda row: _plain(row.noise_limit)),
    ]  # fmt: skip


def _estimate(found: Estimate | None) -> Cell:
    return Cell(amount(found.mean), amount_range(found), _order(found.mean)) if found else Cell(DASH)


def _to_the_goal(row: Row, found: Estimate | None) -> Cell:
    cell = _estimate(found)
    return replace(cell, text=at_most(row, cell.text)) if found else cell


def _plain(x: float | None) -> Cell:
    return Cell(DASH if x is None else amount(x), order=_order(x))


def _order(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None
