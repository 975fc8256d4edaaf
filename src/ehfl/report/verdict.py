"""What a comparison comes to, in a few sentences that claim no more than its seeds allow.

Who won by what, what is not shown, who pays for it, and cautions that matter. All else is in the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ehfl.analysis import Comparison, Difference, Estimate, Row
from ehfl.analysis.intervals import write_gap, write_metric
from ehfl.analysis.numbers import p_value
from ehfl.analysis.worlds import World
from ehfl.history import Metric
from ehfl.report.device_words import lost_sentences
from ehfl.report.phrases import apart, in_short, listed, points, size, spoken

FEW_SEEDS = 5  # Student's t makes an interval wide with fewer: half of it is 4.3 standard errors with three
_MOST_NAMES = 3  # arms that a sentence lists


def verdict_of(comparison: Comparison) -> list[str]:
    """Return the verdict: a sentence for each world, and cautions."""
    results = [_sentence(world, list(_world(comparison, world))) for world in comparison.worlds]
    return [*filter(None, results), *_cautions(comparison)]


def _sentence(world: World, parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    if not text:
        return ""
    return f"{world.name}: {text}." if world.name else f"{text[0].upper()}{text[1:]}."


def _world(comparison: Comparison, world: World) -> Iterator[str]:
    metric, (first, *others) = comparison.metric, comparison.rows_of(world)
    if not others:
        reached = "ended at" if metric.lower_is_better else "reached"
        yield f"{spoken(world.short(first.arm))} {reached} {_final(metric, first)}"
        return
    tested = [row for row in others if row.difference is not None and row.difference.p_value is not None]
    yield from _winners(comparison, world, first, tested)
    yield from _only_by_class(comparison, world, first, tested)
    yield from _not_shown(metric, world, first, tested)
    yield from _untested(metric, world, first, [row for row in others if row not in tested])


def _final(metric: Metric, row: Row) -> str:
    name = "" if metric.is_share else f"{metric.name} "
    return f"{name}{write_metric(metric, row.final).text}"


def _winners(comparison: Comparison, world: World, first: Row, tested: Sequence[Row]) -> Iterator[str]:
    """Say who beats the baseline, the best one by how much, and who ends below it."""
    metric, baseline = comparison.metric, in_short(world, first)
    shown = sorted((row for row in tested if _gap(row).distinguishable), key=lambda row: -metric.sign * _gap(row).mean)
    better = [row for row in shown if metric.sign * _gap(row).mean > 0]
    worse = [row for row in shown if metric.sign * _gap(row).mean < 0]
    if better:
        best, *rest = better
        ends = write_gap(metric, _gap(best), metric.sign).ends
        won = f"{in_short(world, best)} beats {baseline} by {size(metric, _gap(best))} ({ends})"
        yield f"{won}{_classes(best, first)}{_also(world, rest)}"
    if worse:
        *rest, worst = worse
        ends = write_gap(metric, _gap(worst), -metric.sign).ends
        lost = f"{in_short(world, worst)} ends {apart(metric, _gap(worst))} {baseline} ({ends})"
        yield f"{lost}{_classes(worst, first)}{_also(world, rest)}"


def _also(world: World, rows: Sequence[Row]) -> str:
    return f", and so {'does' if len(rows) == 1 else 'do'} {_names(world, rows)}" if rows else ""


def _classes(row: Row, first: Row) -> str:
    """Return how the worst class fares, where that is shown to differ."""
    gap = row.worst_class_difference
    if gap is None or not gap.distinguishable:
        return ""
    joined = "and" if (gap.mean > 0) == (_gap(row).mean > 0) else "but"
    return f" {joined} gets {_shares(row, first)}"


def _shares(row: Row, first: Row) -> str:
    return f"{_share(row.worst_class)} of the worst class right instead of {_share(first.worst_class)}"


def _only_by_class(comparison: Comparison, world: World, first: Row, tested: Sequence[Row]) -> Iterator[str]:
    """Say who differs in the worst class alone: averages hide it."""
    hidden = [row for row in tested if not _gap(row).distinguishable and _is_shown(row.worst_class_difference)]
    for row in sorted(hidden, key=lambda row: -abs(row.worst_class_difference.mean))[:1]:  # type: ignore[union-attr]
        name = comparison.metric.name
        yield f"{in_short(world, row)} gets {_shares(row, first)}, though {name} shows no difference"


def _not_shown(metric: Metric, world: World, first: Row, tested: Sequence[Row]) -> Iterator[str]:
    alike = [row for row in tested if not _gap(row).distinguishable]
    if not alike:
        return
    largest = max(alike, key=lambda row: abs(_gap(row).mean))
    gap = _gap(largest)
    among = f" between {in_short(world, first)} and {_names(world, alike)}" if len(alike) < len(tested) else ""
    which = f"{'largest: ' if len(alike) > 1 else ''}{in_short(world, largest)}"
    yield f"no difference shown{among} ({which} {write_gap(metric, gap).mean}{points(metric)}, p = {_p(gap)})"


def _untested(metric: Metric, world: World, first: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Say where chance cannot be judged: one seed, every seed alike, or runs that are no pairs."""
    baseline = in_short(world, first)
    unpaired = [row for row in rows if row.difference is None]
    paired = sorted((row for row in rows if row.difference), key=lambda row: -metric.sign * _gap(row).mean)
    if paired:
        best = paired[0]
        alone = "one seed" if _gap(best).n == 1 else "every seed alike"
        where = f"{apart(metric, _gap(best))} {baseline}"
        yield f"{in_short(world, best)} ended {where} ({alone}: chance cannot be judged)"
    if unpaired:
        yield f"{_names(world, unpaired)} cannot be compared pair by pair with {baseline}: trained for another time"


def _cautions(comparison: Comparison) -> Iterator[str]:
    idle = [row for row in comparison.rows if not row.participants]
    if idle:
        yield f"Nobody took part under {listed(spoken(row.arm) for row in idle)}: no model was trained."
    yield from lost_sentences(comparison)
    if comparison.missing:
        shown = ", ".join(map(str, comparison.missing[:_MOST_NAMES]))
        more = len(comparison.missing) - _MOST_NAMES
        yield f"Left out: {shown}{f' and {more} more' if more > 0 else ''}."
    gaps = [row.difference for row in comparison.rows if row.difference and row.difference.p_value is not None]
    fewest = min((gap.n for gap in gaps), default=FEW_SEEDS)
    if fewest < FEW_SEEDS and not all(gap.distinguishable for gap in gaps):
        yield f"{fewest} seeds are few: a difference that is not shown may be there all the same."


def _gap(row: Row) -> Difference:
    assert row.difference is not None
    return row.difference


def _is_shown(gap: Difference | None) -> bool:
    return gap is not None and gap.distinguishable


def _p(gap: Difference) -> str:
    return p_value(gap.p_value if gap.holm_p_value is None else gap.holm_p_value)


def _names(world: World, rows: Sequence[Row]) -> str:
    if len(rows) <= _MOST_NAMES:
        return in_short(world, *rows)
    return (
        f"{in_short(world, *rows[: _MOST_NAMES - 1]).replace(' and ', ', ')} and {len(rows) - _MOST_NAMES + 1} others"
    )


def _share(found: Estimate | None) -> str:
    assert found is not None
    return f"{100 * found.mean:.0f} %"
