"""A comparison's compact table: arms as rows, the columns that answer "who won, and at what price"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from ehfl.analysis.sweep import Sweep, is_apart
from ehfl.quantities import as_time
from ehfl.report.tables.output import Column, number_column, pair_column
from ehfl.report.tables.render import Cell, Line, Table, broken
from ehfl.report.write import DASH, counted, fixed, listed, shown_decimals, value, with_unit

if TYPE_CHECKING:
    from ehfl.analysis import Comparison, Difference, Row

_MOST_ARMS = 15  # whose rows, curves and colours a reader can still tell apart
_MOST_POINTS = 24  # rows of the table of a sweep; of more, some are left out
_MOST_NAMES = 4  # of schedulers
_column = partial(number_column, fine=True)


def compact_table(comparison: Comparison) -> Table:
    """Return the compact table of a comparison: of many arms the most telling ones, of a large sweep its points."""
    title = f"{comparison.name}: {setting(comparison)}"
    sweep = Sweep.of(comparison)
    if sweep is not None and len(comparison.arms) > _MOST_ARMS:
        return _sweep_table(comparison, sweep, title, _note(comparison))
    kept = most_telling(comparison)
    columns = list(_columns(kept))
    lines = [
        Line(world.short(row.arm), tuple(Cell(cells[row.arm]) for _, cells in columns), world.name)
        for world in kept.worlds
        for row in kept.rows_of(world)
    ]
    if folded := len(comparison.rows) - len(kept.rows):
        lines.append(Line(f"{folded} more, closer to their baseline: --full", ()))
    return Table(tuple(name for name, _ in columns), tuple(lines), _note(comparison), title, arms_are_rows=True)


def _sweep_table(comparison: Comparison, sweep: Sweep, title: str, note: str) -> Table:
    """Return the final metric of each line at each point, with its interval."""
    metric, points = comparison.metric, list(sweep.points)
    step = -(-len(points) // _MOST_POINTS)
    shown = points[::step]
    factor, unit = (100, " [%]") if metric.is_share else (1, "")
    columns = []
    for line in sweep.lines:
        rows = {point: sweep.rows.get((line, point)) for point in shown}
        starred = [point for point, row in rows.items() if is_apart(row)]
        finals = {point: None if row is None else row.final for point, row in rows.items()}
        columns.append(number_column(broken(line), finals, factor, fine=True, starred=starred))
    lines = [Line(point, tuple(Cell(column[point]) for _, column in columns)) for point in shown]
    if left_out := len(points) - len(shown):
        lines.append(Line(f"{counted(left_out, 'point')} between these left out: --full", ()))
    what = f"{metric.name}{unit} after the last round; {note}"
    return Table(tuple(head for head, _ in columns), tuple(lines), what, title, arms_are_rows=True)


def most_telling(comparison: Comparison) -> Comparison:
    """Return the comparison with 15 of its arms at most: baselines, then those that differ most from theirs."""
    baselines = {world.baseline for world in comparison.worlds}

    def rank(row: Row) -> tuple[bool, bool, float]:
        gap = row.difference
        return row.arm not in baselines, gap is None or not gap.distinguishable, -abs(gap.mean) if gap else 0.0

    kept = {row.arm for row in sorted(comparison.rows, key=rank)[:_MOST_ARMS]}
    return replace(
        comparison,
        arms=tuple(arm for arm in comparison.arms if arm.name in kept),
        rows=tuple(row for row in comparison.rows if row.arm in kept),
        worlds=tuple(
            replace(world, arms=tuple(arm for arm in world.arms if arm.name in kept))
            for world in comparison.worlds
            if world.baseline in kept
        ),
    )


def as_text(comparison: Comparison) -> str:
    """Return the compact table as plain text under its title, and each run that is missing with its cause."""
    table = compact_table(comparison)
    return "\n".join([table.title, "", table.text(), *(f"left out: {one}" for one in comparison.missing)])


def as_html(comparison: Comparison) -> str:
    """Return the same as HTML, for notebooks."""
    table = compact_table(comparison)
    lines = [table.title, *(f"left out: {one}" for one in comparison.missing)]
    return f"<p>{'<br>'.join(map(escape, lines))}</p>\n{table.html()}"


def _note(comparison: Comparison) -> str:
    """Return what the table's signs mean."""
    rows = comparison.rows
    tested = [row.difference for row in rows if row.difference and row.difference.p_value is not None]
    intervals = "one seed: no intervals" if all(row.seeds == 1 for row in rows) else "± 95 % interval over seeds"
    holm = ", Holm-corrected" if len(tested) > 1 else ""
    return intervals + (f"; * p < 0.05 against the baseline, paired t-test{holm}" if tested else "")


def setting(comparison: Comparison) -> str:
    """Return what was run, in one line: the metric, the task, rounds, local steps, seeds, clients wanted."""
    arms = comparison.arms
    parts = [
        f"{comparison.metric.name}{_common(comparison, ' on {}', 'learning', 'task', 'name')}",
        _from_to([arm.rounds for arm in arms], "round") + _length(comparison),
        _turn(comparison),
        _from_to([len(arm.seeds) for arm in arms], "seed"),
        f"{_wanted(comparison)} wanted a round",
    ]
    return ", ".join(part for part in parts if part)


def fleet_and_schedulers(comparison: Comparison) -> str:
    """Return what fleets harvest, where that is one model, and by what clients are chosen."""
    harvest = _common(comparison, "{} harvest, ", "fleet", "harvest", "name")
    schedulers = list(dict.fromkeys(arm.scheduler or "user class" for arm in comparison.arms))
    if len(schedulers) > _MOST_NAMES:
        return f"{harvest}{len(schedulers)} schedulers"
    return f"{harvest}scheduler{'s' if len(schedulers) > 1 else ''} {listed(schedulers)}"


def _turn(comparison: Comparison) -> str:
    """Return how long a turn is, in local steps or in epochs; empty where arms differ."""
    if any(arm.trials[0].spec.get("learning", {}).get("local_epochs") for arm in comparison.arms):
        return _common(comparison, "local epochs: {}", "learning", "local_epochs")
    return _common(comparison, "K = {}", "learning", "local_steps")


def _common(comparison: Comparison, text: str, *keys: str) -> str:
    """Return the text with the value that every arm's spec has under these keys; empty where they differ or lack it."""
    found = set()
    for arm in comparison.arms:
        at: Any = arm.trials[0].spec
        for key in keys:
            at = at.get(key) if isinstance(at, Mapping) else None
        found.add(at if isinstance(at, str | int) else None)
    (one, *others) = found
    return "" if others or one is None else text.format(one)


def _length(comparison: Comparison) -> str:
    """Return how long rounds take, and how long all of them; empty where that is not known."""
    clock = comparison.clock
    if not clock.is_known:
        return ""
    seconds = {clock.lengths[arm.name] * arm.rounds for arm in comparison.arms}
    whole = f" ({with_unit(clock.scale, seconds.pop())})" if len(seconds) == 1 else ""
    return f" of {' or '.join(dict.fromkeys(map(as_time, clock.lengths.values())))}{whole}"


def _wanted(comparison: Comparison) -> str:
    """Return how many of how many clients are wanted a round, ranges where worlds differ: "3 to 4 of 6 clients"."""
    clients = [world.arms[0].trials[0].participation.n_clients for world in comparison.worlds]
    return f"{_from_to([world.target for world in comparison.worlds])} of {_from_to(clients, 'client')}"


def _from_to(found: Sequence[int], noun: str = "") -> str:
    """Return the number, or the range of numbers, and what is counted.

    >>> _from_to([8, 8], "round"), _from_to([20, 8, 1000], "round"), _from_to([1], "seed")
    ('8 rounds', '8 to 1,000 rounds', '1 seed')
    """
    least, most = min(found), max(found)
    counts = counted(most, noun) if noun else f"{most:,}"
    return counts if least == most else f"{least:,} to {counts}"


def _columns(comparison: Comparison) -> Iterator[Column]:
    metric, rows = comparison.metric, comparison.rows
    factor, unit, points = (100, "[%]", "[points]") if metric.is_share else (1, "", "")
    yield _column(f"{metric.name}\n{unit}", {row.arm: row.final for row in rows}, factor)
    if comparison.contests:
        baselines = {world.baseline: "baseline" for world in comparison.contests}
        gaps = {row.arm: row.difference for row in rows}
        starred = _distinguishable(gaps)
        yield number_column(f"difference\n{points}", gaps, factor, missing=baselines, starred=starred, sign="+")
    if any(row.worst_class for row in rows):
        starred = _distinguishable({row.arm: row.worst_class_difference for row in rows})
        yield _column("worst\nclass [%]", {row.arm: row.worst_class for row in rows}, 100, starred=starred)
    yield from _to_goal(comparison)
    if any(row.share_of_possible for row in rows):
        yield _column("share of\npossible [%]", {row.arm: row.share_of_possible for row in rows}, 100)
    means, deviations = (
        _plain({row.arm: getattr(row, name) for row in rows}) for name in ("participants", "participants_std")
    )
    yield pair_column("clients\na round, sd", means, deviations)
    weights = {row.arm: f"{row.least_weight:.2f}-{row.most_weight:.2f}" if row.chi_square else DASH for row in rows}
    yield "weight in\nmean x N", weights


def _distinguishable(gaps: Mapping[str, Difference | None]) -> set[str]:
    return {arm for arm, gap in gaps.items() if gap and gap.distinguishable}


def _to_goal(comparison: Comparison) -> Iterator[Column]:
    """Yield what arms took to the goal: rounds, or times where rounds differ in length, and energy."""
    rows, clock, goal = comparison.rows, comparison.clock, value(comparison.metric, comparison.goal)
    # Where some run did not reach the goal there is no mean: how many did.
    missed = {row.arm: f"{row.reached} of {row.seeds}" for row in rows if row.rounds_to_goal is None}
    if clock.differs:
        times = {row.arm: clock.scale.estimate(row.time_to_goal) for row in rows}
        yield _column(f"time to {goal}\n[{clock.scale.unit}]", times, missing=missed)
    else:
        yield _column(f"rounds to\n{goal}", {row.arm: row.rounds_to_goal for row in rows}, missing=missed)
    scale = comparison.energy_scale(max((row.energy_to_goal.mean for row in rows if row.energy_to_goal), default=0.0))
    unit = "" if scale.unit == "units" else f" [{scale.unit}]"
    yield _column(f"energy to\n{goal}{unit}", {row.arm: scale.estimate(row.energy_to_goal) for row in rows})


def _plain(numbers: Mapping[str, float]) -> Column:
    most = max(numbers.values())
    decimals = min(2, shown_decimals(most, digits=3)) if most else 0
    texts = {arm: fixed(number, decimals) for arm, number in numbers.items()}
    width = max(map(len, texts.values()))
    return "", {arm: text.rjust(width) for arm, text in texts.items()}
