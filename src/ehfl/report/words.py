"""What a comparison says, in sentences that claim no more than its seeds allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ehfl.analysis import Comparison, Difference, Row
from ehfl.analysis.intervals import write_gap, write_metric
from ehfl.history import Metric
from ehfl.report.audit_words import weight_sentences
from ehfl.report.device_words import lost_sentences
from ehfl.report.loss_words import loss_sentences
from ehfl.report.pace import goal_sentences, theory_sentences
from ehfl.report.phrases import apart, chance, points, size, spoken, with_range
from ehfl.report.possible_words import possible_sentences
from ehfl.report.served_words import served_sentences
from ehfl.report.sharing import shared_sentence
from ehfl.report.traffic_words import traffic_sentences
from ehfl.report.turnout import idle_sentences, turnout_sentences

FEW_SEEDS = 5  # Student's t makes an interval wide with fewer: half of it is 4.3 standard errors with three
_ONE_SEED = "one seed: no interval can be given"


def summary(comparison: Comparison) -> list[str]:
    """Return a few plain sentences: results, differences, what arms share, the goal, who took part, traffic, theory."""
    return [sentence for sentences in topics(comparison).values() for sentence in sentences]


def topics(comparison: Comparison) -> dict[str, list[str]]:
    """Return the same sentences by what they are about."""
    found = {
        "Result": [
            *_absent(comparison),
            *idle_sentences(comparison),
            *_results(comparison),
            *_cautions(comparison.rows),
            *filter(None, [shared_sentence(comparison)]),
        ],
        "Who is served": [*served_sentences(comparison)],
        "To the goal": [*goal_sentences(comparison)],
        "Who took part": [
            *turnout_sentences(comparison),
            *possible_sentences(comparison),
            *loss_sentences(comparison),
            *weight_sentences(comparison),
            *lost_sentences(comparison),
            *traffic_sentences(comparison),
        ],
        "Beside theory": [*theory_sentences(comparison)],
    }
    return {topic: sentences for topic, sentences in found.items() if sentences}


def _absent(comparison: Comparison) -> Iterator[str]:
    if comparison.missing:
        yield f"Left out: {', '.join(map(str, comparison.missing))}."


def _results(comparison: Comparison) -> Iterator[str]:
    """Say of each world what its first arm came to, and what became of the others against it."""
    for world in comparison.worlds:
        first, *others = comparison.rows_of(world)
        yield _first(comparison, first)
        for row in others:
            fate = _against(row, first, world.short(first.arm), comparison.metric, timed=comparison.clock.differs)
            yield f"{spoken(row.arm, begins=True)} {fate}."


def _first(comparison: Comparison, row: Row) -> str:
    metric = comparison.metric
    verb = "ended at" if metric.lower_is_better else "reached"
    name = "" if metric.is_share else f"{metric.name} "
    written = write_metric(metric, row.final)
    result = with_range(name + written.mean, written.ends and f"95 % interval: {written.ends}")
    seeds = f", the mean of {row.seeds} seeds" if row.seeds > 1 else f"; {_ONE_SEED}"
    last = int(comparison.arm(row.arm).evaluated[-1])
    rounds = f"{last:,} rounds{comparison.clock.after(row.arm, last)}"
    return f"{spoken(row.arm, begins=True)} {verb} {result} after {rounds}{seeds}."


def _against(row: Row, first: Row, label: str, metric: Metric, *, timed: bool) -> str:
    """Return what became of an arm against the first one of its world."""
    found, other = row.difference, spoken(label)
    if found is None:
        final = write_metric(metric, row.final).mean
        why = f"they were trained for different {'times' if timed else 'numbers of rounds'}"
        return f"came to {final}; it cannot be compared pair by pair with {other}: {why}"
    if found.n == 1:
        return f"ended {apart(metric, found)} {other}; {_ONE_SEED}"
    over = f" over the {found.n} seeds that both have" if found.n < max(row.seeds, first.seeds) else ""
    if found.p_value is None:
        alike = "with every seed alike, so that chance cannot be judged"
        return f"ended {apart(metric, found)} {other}{over}, {alike}"
    if found.low == found.high == 0:
        return f"ended exactly where {other} did{over or ' with every seed'}"
    return _judged(found, other, metric) + over


def _judged(found: Difference, other: str, metric: Metric) -> str:
    """Return what a test says; an arm "beat" the other only where chance is ruled out, see `distinguishable`."""
    side = 1 if found.mean > 0 or not found.distinguishable else -1
    inside = f"({write_gap(metric, found, side).ends}, {chance(found)})"
    if not found.distinguishable:
        return f"is not distinguishable from {other}: {write_gap(metric, found).mean}{points(metric)} {inside}"
    if side == metric.sign:
        return f"beat {other} by {size(metric, found)} {inside}"
    return f"ended {apart(metric, found)} {other} {inside}{_worse(metric)}"


def _worse(metric: Metric) -> str:
    return ", which is worse" if metric.lower_is_better else ""


def _cautions(rows: Sequence[Row]) -> Iterator[str]:
    found = [row.difference for row in rows if row.difference and row.difference.p_value is not None]
    tested = [difference for difference in found if difference.low != difference.high]  # else exactly the same
    fewest = min((difference.n for difference in tested), default=FEW_SEEDS)
    if fewest < FEW_SEEDS and not all(difference.distinguishable for difference in tested):
        yield f"{fewest} seeds are few: a difference that they do not show may be there all the same."
    if len(tested) > 1:
        yield f"Holm's p-values are corrected for these {len(tested)} comparisons; intervals are not."
