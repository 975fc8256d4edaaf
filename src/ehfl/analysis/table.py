"""What tables show: one definition of every line, for the terminal, the page and notebooks alike.

`quantities(comparison)` gives the lines of a comparison's table; `simulations` has those of `ehfl simulate`. Each has a
label, what it means in words, and the cell of an arm; whoever renders them decides only where they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehfl.analysis.cells import Cell, Quantity, amount_cell, estimate_cell, index_cell, percent_cell, written_cell
from ehfl.analysis.intervals import write_gap, write_metric
from ehfl.analysis.numbers import DASH, p_value, value
from ehfl.analysis.simulations import ENERGY, FAIR, WASTED

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row
    from ehfl.analysis.statistics import Estimate

_TESTED = "p-values of paired t-tests, not corrected for several comparisons"


def quantities(comparison: Comparison) -> list[Quantity[Row]]:
    """Return the lines of a comparison's table in reading order, those of a group next to each other.

    A single arm has nothing that it could differ from.
    """
    several = len(comparison.rows) > 1
    return [
        *_results(comparison, several=several),
        *_to_goal(comparison),
        *_participation(comparison.target),
        *(_slowdown(comparison.best) if several else ()),
    ]


def caption(comparison: Comparison) -> str:
    """Return what stands below a comparison's table: what figures are relative to, and what the intervals are."""
    seeds = sorted({row.seeds for row in comparison.rows})
    over = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    paired = [row.difference for row in comparison.rows if row.difference]
    parts = [
        f"goal: {comparison.metric.name} {value(comparison.metric, comparison.goal)}",
        f"differences to {comparison.rows[0].arm}" if paired else "",
        f"slowdowns relative to {comparison.best}" if len(comparison.rows) > 1 else "",
        "one seed, so no intervals" if seeds == [1] else f"95 % t-intervals over {over} seeds",
        _TESTED if any(found.n > 1 for found in paired) else "",
    ]
    return "; ".join(part for part in parts if part)


def _results(comparison: Comparison, *, several: bool) -> list[Quantity[Row]]:
    metric, group = comparison.metric, "Result"
    better = "lower is better" if metric.lower_is_better else "higher is better"
    points = " [points]" if metric.is_share else ""

    def final(found: Estimate) -> Cell:
        return written_cell(write_metric(metric, found))

    def difference(row: Row) -> Cell:
        found = row.difference
        if found is None:
            return Cell(DASH)
        return written_cell(write_gap(metric, found), strong=found.distinguishable)

    def chance(row: Row) -> Cell:
        return Cell(p_value(row.difference.p_value if row.difference else None))

    differences: list[Quantity[Row]] = [
        Quantity(group, f"difference{points}", f"Final {metric.name} minus that of {comparison.rows[0].arm}, over "
                 "pairs of runs that met the same; in bold if the 95 % interval leaves zero out", difference,
                 nested=True),
        Quantity(group, "p-value", "Student's paired t-test, two-sided, not corrected for several comparisons",
                 chance, nested=True),
    ]  # fmt: skip
    return [
        Quantity(group, f"final {metric.name}", f"After the last round, mean over seeds and 95 % interval; {better}",
                 lambda row: final(row.final)),
        *(differences if several else ()),
        Quantity(group, "area under the curve", "Divided by the rounds, from the first evaluation to the last; "
                 f"{better}", lambda row: final(row.area)),
    ]  # fmt: skip


def _to_goal(comparison: Comparison) -> list[Quantity[Row]]:
    metric, unit = comparison.metric, comparison.unit
    group = f"To the goal of {value(metric, comparison.goal)}"
    unless = "nothing is given unless every seed did"
    reached: Quantity[Row] = Quantity(
        group, "seeds at the goal", "Seeds whose run came to the goal, of all seeds",
        lambda row: Cell(f"{row.reached} of {row.seeds}"),
    )  # fmt: skip
    return [
        *([reached] if any(row.reached < row.seeds for row in comparison.rows) else []),
        Quantity(group, "rounds to goal", f"Rounds until the {metric.name} came to the goal; {unless}",
                 lambda row: estimate_cell(row.rounds_to_goal)),
        Quantity(group, f"energy to goal [{unit}]", "Energy that training took until then, all clients together; "
                 f"{unless}", lambda row: estimate_cell(row.energy_to_goal)),
    ]  # fmt: skip


def _participation(target: int) -> list[Quantity[Row]]:
    group = f"Participants a round, {target:,} wanted"
    return [
        Quantity(group, "participants, mean", "Clients that took part in a round, mean",
                 lambda row: amount_cell(row.participants)),
        Quantity(group, "standard deviation", "Of their number over the rounds: the lower, the steadier",
                 lambda row: amount_cell(row.participants_std), nested=True),
        Quantity(group, "lowest (mean)", "The fewest in any round, mean over seeds",
                 lambda row: amount_cell(row.participants_min), nested=True),
        Quantity(group, "empty rounds", "Rounds without any participant, mean over seeds",
                 lambda row: amount_cell(row.empty_rounds)),
        Quantity(group, "clients short a round", f"Clients missing to the {target:,} wanted, mean",
                 lambda row: amount_cell(row.shortfall)),
        Quantity(ENERGY, "harvest wasted", WASTED, lambda row: percent_cell(row.waste)),
        Quantity(ENERGY, "fairness (Jain)", FAIR, lambda row: index_cell(row.fairness)),
    ]  # fmt: skip


def _slowdown(best: str) -> list[Quantity[Row]]:
    group = f"Rounds, relative to {best}"
    return [
        Quantity(group, "slowdown, measured", f"Rounds to the goal over those of {best}, over pairs of runs that met "
                 "the same, and 95 % interval", lambda row: estimate_cell(row.measured_slowdown, null=1.0)),
        Quantity(group, "noise limit", "What theory says if gradient noise alone held learning back and "
                 "clients' data did not differ", lambda row: amount_cell(row.noise_limit), nested=True),
    ]  # fmt: skip
