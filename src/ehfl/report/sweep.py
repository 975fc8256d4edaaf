"""A sweep in few lines, however many arms it has: a table of points and lines, and a sentence for each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ehfl.analysis.sweep import Sweep, is_apart
from ehfl.report.tables import cells
from ehfl.report.tables.output import number_column
from ehfl.report.tables.render import Cell, Line, Table, broken
from ehfl.report.write import counted, listed

if TYPE_CHECKING:  # SciPy, behind rows, takes long to load
    from ehfl.analysis import Comparison, Row

_MOST_POINTS = 24  # rows of the table; of more, some are left out
_MOST_NAMES = 4  # points that a sentence lists


def sweep_table(comparison: Comparison, sweep: Sweep, title: str, note: str) -> Table:
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


def sweep_sentences(comparison: Comparison, sweep: Sweep) -> Iterator[str]:
    """Say at which points each line differs from the first one, and where the metric is best."""
    metric = comparison.metric
    first, *others = sweep.lines
    alike = []
    for line in others:
        rows = {point: row for point in sweep.points if (row := sweep.rows.get((line, point))) and row.difference}
        if not rows:
            continue
        better, worse = (
            {point: row for point, row in rows.items() if is_apart(row) and (sign * _gap(row) > 0)}
            for sign in (metric.sign, -metric.sign)
        )
        parts = [f"{word} at {_points(found)}{_most(comparison, found)}"
                 for word, found in (("better", better), ("worse", worse)) if found]  # fmt: skip
        if not parts:
            alike.append(line)
        elif same := len(rows) - len(better) - len(worse):
            parts.append(f"no difference shown at {same} of {counted(len(rows), 'point')}")
        if parts:
            yield f"{line} against {first}: {', '.join(parts)}."
    if alike:
        more = len(alike) - _MOST_NAMES
        names = [*alike[:_MOST_NAMES], f"{more} others"] if more > 0 else alike
        yield f"No difference to {first} is shown at any point for {listed(names)}."
    (line, point), best = max(sweep.rows.items(), key=lambda one: metric.sign * one[1].final.mean)
    among = f"{line} at {point}" if others else point
    yield f"The best {metric.name}, {cells.metric(metric, best.final).sentence}, is that of {among}."


def _gap(row: Row) -> float:
    return 0.0 if row.difference is None else row.difference.mean


def _points(rows: dict[str, Row]) -> str:
    names = list(rows)
    return listed(names) if len(names) <= _MOST_NAMES else counted(len(names), "point")


def _most(comparison: Comparison, rows: dict[str, Row]) -> str:
    point, row = max(rows.items(), key=lambda one: abs(_gap(one[1])))
    assert row.difference is not None
    unit = " points" if comparison.metric.is_share else ""
    where = f"most at {point}: " if len(rows) > 1 else ""
    return f" ({where}{cells.gap(comparison.metric, row.difference).text}{unit})"
