"""What several worlds come to, a sentence each: what stands last in a terminal, first on the page and in table.txt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ehfl.analysis import Comparison, Estimate, Row
from ehfl.analysis.intervals import write_metric
from ehfl.analysis.served_lines import ACCURACY
from ehfl.analysis.worlds import World
from ehfl.history import Metric
from ehfl.report.phrases import apart, in_short, size, spoken
from ehfl.report.served_words import is_hidden


def headlines(comparison: Comparison) -> list[str]:
    """Return what can be told apart in each of several worlds; intervals and p-values are left to the sentences below.

    A single world needs none, since its sentences begin with it; nor does one whose seeds do not let chance be judged.
    """
    if len(comparison.worlds) == 1:
        return []
    return [headline for world in comparison.contests for headline in _headline(comparison, world)]


def _headline(comparison: Comparison, world: World) -> Iterator[str]:
    first, *others = comparison.rows_of(world)
    if any(row.difference is None or row.difference.p_value is None for row in others):
        return
    told = _extremes([row for row in others if _is_told(row)], comparison.metric)
    alike = [row for row in others if not _is_told(row)]
    fates = [_fate(comparison, world, row, first) for row in told]
    if alike:
        by = "" if told else _judged_by(comparison.metric, alike)
        fates.append(f"{in_short(world, *alike)} cannot be told from {in_short(world, first)}{by}")
    begins = "" if world.name else spoken((told or alike)[0].arm, begins=True)[0]  # a label that is plain words
    text = "; ".join(fates)
    yield f"{world.name}: {text}." if world.name else f"{begins}{text[1:]}."


def _is_told(row: Row) -> bool:
    """Return whether the metric or the worst class leaves no doubt that an arm differs from its baseline."""
    return any(gap is not None and gap.distinguishable for gap in (row.difference, row.worst_class_difference))


def _extremes(rows: Sequence[Row], metric: Metric) -> list[Row]:
    """Return the arm that did best, and the one that did worst if it did worse than the baseline."""
    if not rows:
        return []
    *_, best = ranked = sorted(rows, key=lambda row: metric.sign * _gap(row))
    return [best] + [row for row in ranked[:1] if row is not best and metric.sign * _gap(row) < 0]


def _gap(row: Row) -> float:
    assert row.difference is not None
    return row.difference.mean


def _fate(comparison: Comparison, world: World, row: Row, first: Row) -> str:
    """Return what became of an arm that differs clearly from the first one, by the metric or by the worst class."""
    arm, other, metric = in_short(world, row), in_short(world, first), comparison.metric
    found, classes = row.difference, row.worst_class_difference
    assert found is not None
    better = found.mean * metric.sign > 0
    average = f"beat {other} by {size(metric, found)}" if better else f"ended {apart(metric, found)} {other}"
    if classes is None or not classes.distinguishable:
        return f"{arm} {average}"
    shares = f"gets {_share(row.worst_class)} of the worst class right, {other} {_share(first.worst_class)}"
    if not found.distinguishable:
        return f"{arm} {shares}, though their averages cannot be told apart"
    return f"{arm} {average}{', which hides that it' if is_hidden(comparison, world, row) else ' and'} {shares}"


def _judged_by(metric: Metric, rows: Sequence[Row]) -> str:
    classes = all(row.worst_class_difference is not None for row in rows)
    return f", neither by {metric.name} nor by the worst class" if classes else f" by {metric.name}"


def _share(found: Estimate | None) -> str:
    assert found is not None
    return write_metric(ACCURACY, found).mean
