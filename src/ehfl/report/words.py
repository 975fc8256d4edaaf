"""What a comparison says, in sentences that claim no more than its seeds allow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set

from ehfl.experiment import Comparison, Difference, Estimate, Metric, Row
from ehfl.report.numbers import amount, gap, in_percent, value
from ehfl.report.phrases import amount_range, chance, counted, gap_range, listed, metric_range, spoken, with_range

FEW_SEEDS = 5  # Student's t makes an interval wide with fewer: half of it is 4.3 standard errors with three


def summary(comparison: Comparison) -> list[str]:
    """Return a few plain sentences: results, differences, the goal, steadiness, and theory beside measurement."""
    return [
        *_absent(comparison),
        _first(comparison),
        *_differences(comparison),
        *_cautions(comparison.rows),
        *_goal(comparison),
        *_steadiness(comparison.rows),
        *_theory(comparison),
    ]


def _absent(comparison: Comparison) -> Iterator[str]:
    if comparison.missing:
        yield f"Left out: {', '.join(comparison.missing)}."
    if comparison.wanted_first and len(comparison.rows) > 1:
        without = f"no run of {spoken(comparison.wanted_first)} is finished"
        yield f"Since {without}, the others are compared with {spoken(comparison.rows[0].arm)}."


def _first(comparison: Comparison) -> str:
    row, metric = comparison.rows[0], comparison.metric
    verb = "ended at" if metric.lower_is_better else "reached"
    unit = "" if in_percent(metric) else f"{metric.name} "
    ends = metric_range(metric, row.final)
    result = with_range(unit + value(metric, row.final.mean), ends and f"95 % interval: {ends}")
    seeds = (
        f", the mean of {row.seeds} seeds" if row.seeds > 1 else " with a single seed: one seed says nothing of chance"
    )
    rounds = f"{comparison.arms[0].evaluated[-1]:,} rounds"
    return f"{spoken(row.arm, begins=True)} {verb} {result} after {rounds}{seeds}."


def _differences(comparison: Comparison) -> Iterator[str]:
    first, *others = comparison.rows
    for row in others:
        yield f"{spoken(row.arm, begins=True)} {_against(row, first, comparison.metric)}."


def _against(row: Row, first: Row, metric: Metric) -> str:
    """Return what became of an arm against the first one."""
    found, other = row.difference, spoken(first.arm)
    if found is None:
        other_than = f"with {other}: they differ in seeds, rounds, weather or data"
        return f"came to {value(metric, row.final.mean)}; it cannot be compared pair by pair {other_than}"
    if found.n == 1:
        return f"ended {_apart(metric, found.mean)} {other}; one seed says nothing of chance"
    over = f" over the {found.n} seeds that both have" if found.n < max(row.seeds, first.seeds) else ""
    if found.p_value is None:
        alike = "with every seed alike, so that chance cannot be judged"
        return f"ended {_apart(metric, found.mean)} {other}{over}, {alike}"
    if found.low == found.high == 0:
        return f"ended exactly where {other} did{over or ' with every seed'}"
    return _judged(found, other, metric) + over


def _judged(found: Difference, other: str, metric: Metric) -> str:
    """Return what a test says; an arm "beat" the other only where the interval leaves zero out."""
    sign = 1 if found.mean > 0 or not found.distinguishable else -1
    inside = f"({gap_range(metric, found, sign)}, {chance(found)})"
    if not found.distinguishable:
        return f"is not distinguishable from {other}: {gap(metric, found.mean)} {inside}"
    if sign == metric.sign:
        return f"beat {other} by {_size(metric, found.mean)} {inside}"
    return f"ended {_apart(metric, found.mean)} {other} {inside}{_worse(metric)}"


def _apart(metric: Metric, x: float) -> str:
    return f"{_size(metric, x)} {'above' if x > 0 else 'below'}" if x else "level with"


def _size(metric: Metric, x: float) -> str:
    return gap(metric, abs(x)).removeprefix("+")


def _worse(metric: Metric) -> str:
    return ", which is worse" if metric.lower_is_better else ""


def _cautions(rows: Sequence[Row]) -> Iterator[str]:
    tested = [row.difference for row in rows if row.difference and row.difference.p_value is not None]
    fewest = min((found.n for found in tested), default=FEW_SEEDS)
    if fewest < FEW_SEEDS and not all(found.distinguishable for found in tested):
        yield f"{fewest} seeds are few: a difference that they do not show may be there all the same."
    if len(tested) > 1:
        yield f"These {len(tested)} p-values are not corrected for several comparisons."


def _goal(comparison: Comparison) -> Iterator[str]:
    level = value(comparison.metric, comparison.goal)
    times = {row.arm: row.rounds_to_goal for row in comparison.rows if row.rounds_to_goal}
    whole = len(times) == len(comparison.rows)
    first = {int(arm.evaluated[0]) for arm in comparison.arms}
    if whole and len(first) == 1 and all(row.untimed == row.seeds for row in comparison.rows):
        yield f"Every run was at the goal of {level} by the first evaluation, after {counted(first.pop(), 'round')}."
    elif times:
        untimed = {row.arm for row in comparison.rows if row.untimed}
        told = _quickest(times, whole, untimed)
        yield f"{'Every' if whole else 'Not every'} run came to the goal of {level}; {told}."
    for row in comparison.rows:
        if row.reached < row.seeds:
            yield f"{spoken(row.arm, begins=True)} {_short_of_goal(row, level)}."


def _quickest(times: Mapping[str, Estimate], whole: bool, untimed: Set[str]) -> str:
    quickest = min(times, key=lambda arm: times[arm].mean)
    rounds = with_range(f"{amount(times[quickest].mean)} rounds", amount_range(times[quickest]))
    if quickest in untimed:  # there by the first evaluation
        rounds = f"at most {amount(times[quickest].mean)} rounds"
    if len(times) == 1:
        return f"{spoken(quickest)} did so after {rounds}"
    if len({found.mean for found in times.values()}) == 1:
        return f"{'all arms' if whole else 'the arms that did with every seed'} took {rounds} on average"
    return f"{spoken(quickest)} was there first on average, after {rounds}"


def _short_of_goal(row: Row, level: str) -> str:
    if row.reached == 0:
        return f"did not come to the goal of {level} with any seed"
    return (
        f"came to the goal of {level} with only {row.reached} of {row.seeds} seeds, so no mean of its rounds is given"
    )


def _steadiness(rows: Sequence[Row]) -> Iterator[str]:
    steadiest, loosest = (_as_steady(rows, which(row.participants_std for row in rows)) for which in (min, max))
    if len(rows) == 1:
        yield f"It had {_participants(rows[0])}."
    elif steadiest == loosest:
        yield "All arms were equally steady in their number of participants."
    else:
        names = listed(spoken(row.arm, begins=row is steadiest[0]) for row in steadiest)
        others = listed(spoken(row.arm) for row in loosest)
        yield f"{names} {_were(steadiest, 'the steadiest')}; {others} {_were(loosest, 'the least steady')}."


def _as_steady(rows: Sequence[Row], std: float) -> list[Row]:
    """Return the arms whose standard deviation reads the same as this one."""
    return [row for row in rows if amount(row.participants_std) == amount(std)]


def _were(rows: Sequence[Row], what: str) -> str:
    if len(rows) == 1:
        return f"was {what}, with {_participants(rows[0])}"
    return f"were {what}, with a standard deviation of {amount(rows[0].participants_std)} participants a round"


def _participants(row: Row) -> str:
    return f"{amount(row.participants)} participants a round (standard deviation {amount(row.participants_std)})"


def _theory(comparison: Comparison) -> Iterator[str]:
    """Say of the slowest arm how many times the best arm's rounds it took, and how many theory says it should."""
    others = [row for row in comparison.rows if row.arm != comparison.best]
    if not others:
        return
    slowest = max(others, key=_slowness)
    longest = "longest: " if len(others) > 1 else ""
    beside = f"Beside {spoken(comparison.best)}, the arm that theory calls best,"
    best = next(row for row in comparison.rows if row.arm == comparison.best)
    yield f"{beside} {spoken(slowest.arm)} {_took(slowest, best, longest)}."
    yield f"Theory predicts {_predicted(slowest, comparison)}."


def _slowness(row: Row) -> tuple[float, float]:
    missed = 1 - row.reached / row.seeds
    return missed, row.measured_slowdown.mean if row.measured_slowdown else row.noise_limit


def _took(row: Row, best: Row, longest: str) -> str:
    found = row.measured_slowdown
    if found is not None:
        return f"took {longest}" + with_range(f"{amount(found.mean)} times the rounds to the goal", amount_range(found))
    return f"cannot be timed: {_untimed(row, best)}"


def _untimed(row: Row, best: Row) -> str:
    if row.reached < row.seeds:
        return "it missed the goal"
    if row.untimed or best.untimed:
        return "the goal was reached by the first evaluation"
    return "on the same seeds the other has no time to the goal"


def _predicted(row: Row, comparison: Comparison) -> str:
    limit = f"{amount(row.noise_limit)} times" if math.isfinite(row.noise_limit) else "no finite number"
    alone = f"{limit} where gradient noise is all that holds learning back"
    if row.predicted_slowdown is None or not math.isfinite(row.predicted_slowdown):
        return f"{alone}; {_no_forecast(comparison)}"
    verdict = _inside(row) if comparison.goal_is_common else " (to what the worst run ended at)"
    return f"{amount(row.predicted_slowdown)} times{verdict}, and {alone}"


def _no_forecast(comparison: Comparison) -> str:
    known = all(trial.constants for arm in comparison.arms for trial in arm.trials)
    if not known:
        return "the problem's constants, which would tell more, are not known"
    return "these runs allow no forecast with the problem's constants"


def _inside(row: Row) -> str:
    found, predicted = row.measured_slowdown, row.predicted_slowdown
    if found is None or found.low is None or found.high is None or predicted is None:
        return ""
    if found.low <= 0:  # so wide that it cannot tell anything
        return ""
    return " (inside that interval)" if found.low <= predicted <= found.high else " (outside that interval)"
