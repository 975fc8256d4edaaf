"""Sentences on who is served: which class fares worst, how that differs between arms, and the worst clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ehfl.analysis import Comparison, Estimate, Row
from ehfl.analysis.intervals import write_gap, write_metric
from ehfl.analysis.served import hidden_by_average, is_always_worst
from ehfl.analysis.served_lines import ACCURACY
from ehfl.analysis.worlds import World
from ehfl.report.phrases import in_short, in_world, listed, with_range


def served_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of each world whose task has classes how the first arm's worst one fares, and where it clearly differs."""
    for world in comparison.worlds:
        first, *others = comparison.rows_of(world)
        if first.worst_class is not None:
            told = _told_apart(others)
            classes = f"{_classes(comparison, world, first, told)}{_nothing_told(world, others, told)}"
            yield from (in_world(world, sentence) for sentence in (classes, *_clients(world, [first, *told])))


def _told_apart(rows: Sequence[Row]) -> list[Row]:
    """Return the arms whose worst class fares the most better and the most worse than the first arm's, if clearly."""
    found = [(row.worst_class_difference, row) for row in rows]
    clear = sorted(((gap.mean, row) for gap, row in found if gap and gap.distinguishable), key=lambda one: one[0])
    better = [row for gap, row in clear[-1:] if gap > 0]
    worse = [row for gap, row in clear[:1] if gap < 0]
    return [*better, *worse]


def _classes(comparison: Comparison, world: World, first: Row, told: Sequence[Row]) -> str:
    """Return how the worst class fares, under the first arm and under those that differ from it."""
    begins = "Averages hide it. " if any(is_hidden(comparison, world, row) for row in told) else ""
    # The class by its name where it is the worst with every seed; else it is the worst of each.
    always = is_always_worst(comparison.arm(first.arm))
    named = f"class {first.worst_class_name}" if always else f"the worst class ({first.worst_class_name} on average)"
    under = f"Under {in_short(world, first)}"
    text = f"{begins}{under} {named} is right in {_written(first.worst_class)} of its cases"
    if told:
        others = [f"under {in_short(world, row)} the worst class in {_beside(row)}" for row in told]
        return f"{text}, {'; '.join(others)}."
    average = f", all classes together in {_written(first.final)}" if comparison.metric == ACCURACY else ""
    return f"{text}{average}."


def _beside(row: Row) -> str:
    gap = row.worst_class_difference
    assert gap is not None
    side = 1 if gap.mean > 0 else -1
    size = write_gap(ACCURACY, gap, side)
    return (
        f"{_written(row.worst_class)}, {size.mean.lstrip('+')} points {'more' if side > 0 else 'fewer'} ({size.ends})"
    )


def _nothing_told(world: World, others: Sequence[Row], told: Sequence[Row]) -> str:
    """Return that no arm's worst class is told apart from the first one's, if so."""
    tested = [row for row in others if row.worst_class_difference and row.worst_class_difference.p_value is not None]
    if told or not tested:
        return ""
    if len(tested) > 1:
        return " No other arm's worst class is distinguishable from that."
    return f" The worst class of {in_short(world, tested[0])} is not distinguishable from that."


def _clients(world: World, rows: Sequence[Row]) -> Iterator[str]:
    known = [row for row in rows if row.worst_tenth is not None]
    if known:
        found = [f"{_written(row.worst_tenth)} under {in_short(world, row)}" for row in known]
        yield f"The worst tenth of the clients, by their own mixture of labels, comes to {listed(found)}."


def is_hidden(comparison: Comparison, world: World, row: Row) -> bool:
    """Return whether the worst class differs clearly more than the average does, and in the same direction."""
    if comparison.metric != ACCURACY or row.worst_class_difference is None:
        return False
    more = hidden_by_average(comparison.arm(row.arm), world.arms[0])
    return more is not None and more.distinguishable and more.mean * row.worst_class_difference.mean > 0


def _written(found: Estimate | None) -> str:
    assert found is not None
    written = write_metric(ACCURACY, found)
    return with_range(written.mean, written.ends)
