"""What tables show: one definition of every line, for the terminal, the page and notebooks alike.

`quantities(comparison)` gives the lines of a comparison's table; `simulations` has those of `ehfl simulate`. Each has a
label, what it means in words, and the cell of an arm; whoever renders them decides only where they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ehfl.analysis.cells import (
    Cell,
    Quantity,
    amount_cell,
    gap_cell,
    index_cell,
    metric_cell,
    p_value_lines,
    percent_cell,
    positive_cell,
)
from ehfl.analysis.compared_with import baselines, best_arms
from ehfl.analysis.energy_lines import energy_lines, goal_lines
from ehfl.analysis.numbers import DASH, value
from ehfl.analysis.possible import possible_caption, possible_lines
from ehfl.analysis.served_lines import served_lines
from ehfl.analysis.simulations import ENERGY, FAIR, LEAST, MOST, UNEVEN, WEIGHT
from ehfl.analysis.slowdown_lines import slowdown_lines

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison
    from ehfl.analysis.rows import Row
    from ehfl.analysis.worlds import World


def quantities(comparison: Comparison) -> list[Quantity[Row]]:
    """Return the lines of a comparison's table in reading order, those of a group next to each other.

    Where no two arms met the same there is nothing that one could differ from.
    """
    return [
        *_results(comparison),
        *served_lines(comparison.rows, to=baselines(comparison)),
        *goal_lines(comparison),
        *_participation(comparison.worlds),
        *possible_lines(comparison.rows),
        *energy_lines(comparison),
        _fairness(),
        *_traffic(comparison),
        *_weights(comparison.rows),
        *slowdown_lines(comparison),
    ]


def caption(comparison: Comparison) -> str:
    """Return what stands below a comparison's table: what figures are relative to, and what the intervals are."""
    seeds = sorted({row.seeds for row in comparison.rows})
    over = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    paired = [row.difference for row in comparison.rows if row.difference]
    parts = [
        f"goal: {comparison.metric.name} {value(comparison.metric, comparison.goal)}",
        f"differences to {baselines(comparison)}" if paired else "",
        f"slowdowns relative to {best_arms(comparison)}" if comparison.contests else "",
        "one seed, so no intervals" if seeds == [1] else f"95 % t-intervals over {over} seeds",
        _tests(sum(found.p_value is not None for found in paired)),
        possible_caption(comparison.rows),
    ]
    return "; ".join(part for part in parts if part)


def _tests(n: int) -> str:
    """Return what the p-values of n comparisons are."""
    corrected = ", and with Holm's correction for the comparisons of a line" if n > 1 else ""
    return f"p-values of paired t-tests{corrected}" if n else ""


def _results(comparison: Comparison) -> list[Quantity[Row]]:
    metric, group = comparison.metric, "Result"
    better = "lower is better" if metric.lower_is_better else "higher is better"
    points = " [points]" if metric.is_share else ""
    # With a single world the caption is enough; with several, columns must say which of them go together.
    marked = [world.baseline for world in comparison.contests] if len(comparison.worlds) > 1 else []

    def difference(row: Row) -> Cell:
        is_marked = row.difference is None and row.arm in marked
        return Cell("baseline") if is_marked else gap_cell(metric, row.difference)

    differences: list[Quantity[Row]] = [
        Quantity(group, f"difference{points}", f"Final {metric.name} minus that of {baselines(comparison)}, over "
                 "pairs of runs that met the same; in bold if p < 0.05 after Holm's correction", difference,
                 nested=True),
        *p_value_lines(group, comparison.rows, lambda row: row.difference),
    ]  # fmt: skip
    return [
        Quantity(group, f"final {metric.name}", f"After the last round, mean over seeds and 95 % interval; {better}",
                 lambda row: metric_cell(metric, row.final)),
        *(differences if comparison.contests else ()),
        Quantity(group, "area under the curve", "Divided by the rounds, from the first evaluation to the last; "
                 f"{better}", lambda row: metric_cell(metric, row.area)),
    ]  # fmt: skip


def _participation(worlds: Sequence[World]) -> list[Quantity[Row]]:
    wanted = " or ".join(f"{target:,}" for target in dict.fromkeys(world.target for world in worlds))
    group = f"Participants a round, {wanted} wanted"
    return [
        Quantity(group, "participants, mean", "Clients that took part in a round, mean",
                 lambda row: amount_cell(row.participants)),
        Quantity(group, "standard deviation", "Of their number over the rounds: the lower, the steadier",
                 lambda row: amount_cell(row.participants_std), nested=True),
        Quantity(group, "lowest (mean)", "The fewest in any round, mean over seeds",
                 lambda row: amount_cell(row.participants_min), nested=True),
        Quantity(group, "empty rounds", "Rounds without any participant, mean over seeds",
                 lambda row: amount_cell(row.empty_rounds)),
        Quantity(group, "clients short a round", f"Clients missing to the {wanted} wanted, mean",
                 lambda row: amount_cell(row.shortfall)),
    ]  # fmt: skip


def _fairness() -> Quantity[Row]:
    return Quantity(ENERGY, "fairness (Jain)", FAIR, lambda row: index_cell(row.fairness))


def _traffic(comparison: Comparison) -> list[Quantity[Row]]:
    """Return what turns send, unless all arms send one model each way, of one size: then participants say it all."""
    known = {arm.traffic for arm in comparison.arms} - {None}
    if len(known) < 2 and all((sent.down, sent.up) == (1, 1) for sent in known if sent is not None):
        return []
    return [
        Quantity(ENERGY, "uploaded [MB]", "Models that turns send to the server, as published, at 4 bytes a weight",
                 lambda row: amount_cell(row.uploaded)),
        Quantity(ENERGY, "downloaded [MB]", "Models that turns send to clients, likewise",
                 lambda row: amount_cell(row.downloaded)),
    ]  # fmt: skip


def _weights(rows: Sequence[Row]) -> list[Quantity[Row]]:
    group = "What clients weigh in a plain mean"
    moved: Quantity[Row] = Quantity(
        group, "labels moved", "Share of the label mixture that these weights move from some labels to others, mean "
        "over seeds", lambda row: Cell(DASH) if row.labels_moved is None else percent_cell(row.labels_moved),
        nested=True,
    )  # fmt: skip
    return [
        Quantity(group, "chi^2 of weights", UNEVEN, lambda row: positive_cell(row.chi_square)),
        Quantity(group, LEAST, f"{WEIGHT}, of the client with the least", lambda row: amount_cell(row.least_weight),
                 nested=True),
        Quantity(group, MOST, f"{WEIGHT}, of the client with the most", lambda row: amount_cell(row.most_weight),
                 nested=True),
        *([moved] if any(row.labels_moved is not None for row in rows) else []),
    ]  # fmt: skip
