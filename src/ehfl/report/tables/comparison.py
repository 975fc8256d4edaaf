"""Every figure of a comparison: one definition of each row, for the terminal, table.txt and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ehfl.analysis.units import Scale
from ehfl.report.tables import cells
from ehfl.report.tables.render import ENERGY, POSSIBLE, Cell, Quantity, Table, lines_of, p_value_lines, shared
from ehfl.report.write import DASH, value
from ehfl.runs import Metric

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis import Comparison, Row

ACCURACY = Metric("accuracy", bounds=(0, 1))  # what classes and clients are judged by, whatever the task's metric is
_POINTS = Scale("points", 0.01)  # of shares
_INTERVAL = "mean over seeds and 95 % interval"
_PAIRS = "over paired runs; in bold if p < 0.05 after Holm's correction"
_UNLESS = "empty unless every seed reached it"

Rows = Iterator[Quantity["Row"]]


def comparison_table(comparison: Comparison) -> Table:
    """Return the figures of arms side by side, mean over interval."""
    names = tuple(row.arm for row in comparison.rows)
    return Table(names, lines_of(quantities(comparison), comparison.rows), caption(comparison), comparison.name)


def quantities(comparison: Comparison) -> list[Quantity[Row]]:
    """Return the lines of a comparison's table in reading order, those of a group next to each other."""
    return [
        *_results(comparison),
        *_served(comparison),
        *_to_goal(comparison),
        *_participation(comparison),
        *_possible(comparison.rows),
        *_energy(comparison),
        *_weights(comparison.rows),
        *_slowdown(comparison),
        *_by_class(comparison),
    ]


def caption(comparison: Comparison) -> str:
    """Return what stands below a comparison's table: what figures are relative to, and what the intervals are."""
    seeds = sorted({row.seeds for row in comparison.rows})
    over = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    paired = [row.difference for row in comparison.rows if row.difference]
    tested = sum(found.p_value is not None for found in paired)
    corrected = ", and with Holm's correction for the comparisons of a line" if tested > 1 else ""
    parts = [
        f"goal: {comparison.metric.name} {value(comparison.metric, comparison.goal)}",
        f"differences to {baselines(comparison)}" if paired else "",
        f"slowdowns relative to {best_arms(comparison)}" if comparison.contests else "",
        "one seed, so no intervals" if seeds == [1] else f"95 % t-intervals over {over} seeds",
        f"p-values of paired t-tests{corrected}" if tested else "",
        "what is achievable is an upper bound"
        if any(row.possible == "an upper bound" for row in comparison.rows)
        else "",
    ]
    return "; ".join(part for part in parts if part)


def baselines(comparison: Comparison) -> str:
    """Return what differences are to: the first arm of each world that has others."""
    return _each("the baseline", [world.baseline for world in comparison.contests])


def best_arms(comparison: Comparison) -> str:
    """Return what slowdowns are relative to: the arm that theory calls best of each world that has others."""
    return _each("the best arm by theory", [world.best for world in comparison.contests])


def _each(what: str, arms: Sequence[str]) -> str:
    """Return the arm; of several worlds, what it is in each.

    >>> _each("the baseline", ["a"]), _each("the baseline", ["a", "b"])
    ('a', 'the baseline (a, b)')
    """
    return arms[0] if len(arms) == 1 else f"{what} ({', '.join(arms)})"


def _results(comparison: Comparison) -> Rows:
    metric, group = comparison.metric, "Result"
    better = f"{'lower' if metric.lower_is_better else 'higher'} is better"
    # With a single world the caption is enough; with several, columns must say which of them go together.
    marked = [world.baseline for world in comparison.contests] if len(comparison.worlds) > 1 else []

    def difference(row: Row) -> Cell:
        is_marked = row.difference is None and row.arm in marked
        return Cell("baseline") if is_marked else cells.gap(metric, row.difference)

    last = f"After the last round, {_INTERVAL}; {better}"
    yield Quantity(group, f"final {metric.name}", last, lambda row: cells.metric(metric, row.final))
    if comparison.contests:
        label = f"difference{' [points]' if metric.is_share else ''}"
        minus = f"Final {metric.name} minus that of {baselines(comparison)}, {_PAIRS}"
        yield Quantity(group, label, minus, difference, nested=True)
        yield from p_value_lines(group, comparison.rows, lambda row: row.difference)
    mean = f"Mean of the curve from the first evaluation to the last; {better}"
    yield Quantity(group, "area under the curve", mean, lambda row: cells.metric(metric, row.area))


def _served(comparison: Comparison) -> Rows:
    """Yield the lines on the worst class and the worst clients, none where the task has no classes."""
    rows, group = comparison.rows, "Who is served"
    if all(row.worst_class is None for row in rows):
        return
    lowest = f"Lowest accuracy of any class after the last round, {_INTERVAL}"
    yield Quantity(group, "worst class", lowest, lambda row: cells.metric(ACCURACY, row.worst_class))
    which = "The class whose accuracy is the lowest, mean over seeds"
    yield Quantity(group, "lowest on average", which, lambda row: Cell(row.worst_class_name or DASH), nested=True)
    if any(row.worst_class_difference for row in rows):
        minus = f"Accuracy of the worst class minus that of {baselines(comparison)}, {_PAIRS}"
        yield Quantity(group, "difference [points]", minus,
                       lambda row: cells.gap(ACCURACY, row.worst_class_difference), nested=True)  # fmt: skip
        yield from p_value_lines(group, rows, lambda row: row.worst_class_difference)
    if any(row.worst_tenth for row in rows):
        own = "Accuracy under each client's own mixture of labels, after the last round"
        tenth = f"{own}: mean over the tenth of the clients that a run serves worst, at least one"
        yield Quantity(group, "worst tenth of clients", tenth, lambda row: cells.metric(ACCURACY, row.worst_tenth))
        yield Quantity(group, "spread over clients [points]", f"{own}: standard deviation over clients",
                       lambda row: cells.amount(_POINTS.estimate(row.client_spread)))  # fmt: skip


def _to_goal(comparison: Comparison) -> Rows:
    """Yield how many rounds, how long and how much energy arms took to the goal."""
    rows, clock, energy = comparison.rows, comparison.clock, _energy_scale(comparison)
    group = f"To the goal of {value(comparison.metric, comparison.goal)}"
    if any(row.reached < row.seeds for row in rows):
        reached = "Seeds whose run reached the goal, of all seeds"
        yield Quantity(group, "seeds at the goal", reached, lambda row: Cell(f"{row.reached} of {row.seeds}"))
    until = f"Rounds until the {comparison.metric.name} reached the goal; {_UNLESS}"
    yield Quantity(group, "rounds to goal", until, lambda row: cells.amount(row.rounds_to_goal))
    if clock.is_known:
        yield Quantity(group, f"time to goal [{clock.scale.unit}]", f"How long these rounds take; {_UNLESS}",
                       lambda row: cells.amount(clock.scale.estimate(row.time_to_goal)))  # fmt: skip
    spent = f"Energy that training took until then, all clients together; {_UNLESS}"
    yield Quantity(group, f"energy to goal [{energy.unit}]", spent,
                   lambda row: cells.amount(energy.estimate(row.energy_to_goal)))  # fmt: skip


def _participation(comparison: Comparison) -> Rows:
    wanted = " or ".join(f"{target:,}" for target in dict.fromkeys(world.target for world in comparison.worlds))
    group = f"Participants a round, {wanted} wanted"
    yield shared(group, "participants, mean", lambda row: cells.amount(row.participants))
    yield shared(group, "standard deviation", lambda row: cells.amount(row.participants_std), nested=True)
    fewest = "The fewest in any round, mean over seeds"
    yield Quantity(group, "lowest (mean)", fewest, lambda row: cells.amount(row.participants_min), nested=True)
    yield shared(group, "empty rounds", lambda row: cells.amount(row.empty_rounds))
    yield shared(group, "clients short a round", lambda row: cells.amount(row.shortfall))


def _possible(rows: Sequence[Row]) -> Rows:
    """Yield the shares of what was possible, where any arm has one: none on mains power or with fewer steps a turn."""
    if any(row.possible for row in rows):
        yield shared(POSSIBLE, "share of possible", lambda row: cells.share(row.share_of_possible))
        yield shared(POSSIBLE, "of the lowest", lambda row: cells.share(row.share_of_lowest), nested=True)


def _energy_scale(comparison: Comparison) -> Scale:
    """Return what all energies of the table are shown in: that of the largest, so that they can be compared."""
    return comparison.energy_scale(max(row.energy_spent or 0.0 for row in comparison.rows))


def _energy(comparison: Comparison) -> Rows:
    """Yield what became of the energy and, where arms differ in it, what was sent."""
    rows, scale = comparison.rows, _energy_scale(comparison)
    if any(row.energy_spent is not None for row in rows):
        spent = "Energy that all rounds took, all clients together, mean over seeds"
        yield Quantity(ENERGY, f"energy spent [{scale.unit}]", spent,
                       lambda row: cells.amount(row.energy_spent and scale.of(row.energy_spent)))  # fmt: skip
    yield shared(ENERGY, "harvest wasted", lambda row: cells.share(row.waste))
    if any(row.lost for row in rows):
        yield shared(ENERGY, "energy lost", lambda row: cells.share(row.lost))
    yield shared(ENERGY, "fairness (Jain)", lambda row: cells.index(row.fairness))
    # Where all arms send one model each way, of one size, participants say it all.
    sent = {arm.traffic for arm in comparison.arms if arm.traffic is not None}
    if len(sent) > 1 or any((one.down, one.up) != (1, 1) for one in sent):
        up = "Models that turns send to the server, as published, at 4 bytes a weight"
        yield Quantity(ENERGY, "uploaded [MB]", up, lambda row: cells.amount(row.uploaded))
        down = "Models that turns send to clients, likewise"
        yield Quantity(ENERGY, "downloaded [MB]", down, lambda row: cells.amount(row.downloaded))


def _weights(rows: Sequence[Row]) -> Rows:
    group = "Weight of clients in a plain mean"
    yield shared(group, "chi^2 of weights", lambda row: cells.positive(row.chi_square))
    yield shared(group, "smallest weight [1/N]", lambda row: cells.amount(row.least_weight), nested=True)
    yield shared(group, "largest weight [1/N]", lambda row: cells.amount(row.most_weight), nested=True)
    if any(row.labels_moved is not None for row in rows):
        moved = "Share of the label mixture that these weights move to other labels, mean over seeds"
        yield Quantity(group, "labels moved", moved, lambda row: cells.share(row.labels_moved), nested=True)


def _slowdown(comparison: Comparison) -> Rows:
    """Yield the lines on how long arms take, as measured and in the noise limit, where there are arms to compare."""
    if not comparison.contests:
        return
    best, counted = best_arms(comparison), "Time" if comparison.clock.differs else "Rounds"
    group, compared = f"{counted}, relative to {best}", {arm.name for one in comparison.contests for arm in one.arms}
    over = f"{counted} to the goal over that of {best}, over paired runs, and 95 % interval"
    yield Quantity(group, "slowdown, measured", over, lambda row: cells.amount(row.measured_slowdown, null=1.0))
    limit = "Bound for a plain mean if gradient noise dominates and the clients' data do not differ"
    yield Quantity(group, "noise limit", limit,
                   lambda row: cells.amount(row.noise_limit if row.arm in compared else None), nested=True)  # fmt: skip


def _by_class(comparison: Comparison) -> Rows:
    """Yield a line for each class that all arms have."""
    from ehfl.analysis.served import common_classes, final_by_class
    from ehfl.analysis.statistics import estimate

    def cell(place: int, row: Row) -> Cell:
        found = final_by_class(comparison.arm(row.arm))
        if found is None or np.isnan(found[:, place]).any():
            return cells.NONE
        return cells.metric(ACCURACY, estimate(found[:, place]))

    for place, name in enumerate(common_classes(comparison.arms)):
        meaning = f"Accuracy on this class after the last round, {_INTERVAL}"
        yield Quantity("Accuracy by class", f"class {name}", meaning, partial(cell, place))
