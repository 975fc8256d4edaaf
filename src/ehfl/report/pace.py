"""Sentences on how soon arms came to the goal, and on what theory says of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set

from ehfl.analysis import Comparison, Estimate, Row
from ehfl.analysis.intervals import write_amount
from ehfl.analysis.numbers import amount, value
from ehfl.report.phrases import counted, spoken, with_range
from ehfl.report.sharing import why_unpaired


def goal_sentences(comparison: Comparison) -> Iterator[str]:
    """Say who came to the goal, and who was there first."""
    level = value(comparison.metric, comparison.goal)
    times = {row.arm: row.rounds_to_goal for row in comparison.rows if row.rounds_to_goal}
    whole = len(times) == len(comparison.rows)
    first = {int(arm.evaluated[0]) for arm in comparison.arms}
    if whole and len(first) == 1 and all(row.untimed == row.seeds for row in comparison.rows):
        yield f"Every run was at the goal of {level} by the first evaluation, after {counted(first.pop(), 'round')}."
    elif times:
        untimed = {row.arm for row in comparison.rows if row.untimed}
        who = "Every run" if whole else "Not every run"
        yield f"{who} came to the goal of {level}; {_quickest(times, whole, untimed)}."
    for row in comparison.rows:
        if row.reached < row.seeds:
            yield f"{spoken(row.arm, begins=True)} {_short_of_goal(row, level)}."


def _quickest(times: Mapping[str, Estimate], whole: bool, untimed: Set[str]) -> str:
    quickest = min(times, key=lambda arm: times[arm].mean)
    written = write_amount(times[quickest])
    rounds = with_range(f"{written.mean} rounds", written.ends)
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


def theory_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of the slowest arm how many times the best arm's rounds it took, and how many theory says it should."""
    others = [row for row in comparison.rows if row.arm != comparison.best]
    if not others:
        return
    if not any(math.isfinite(row.noise_limit) for row in comparison.rows):
        yield "Theory calls no arm best, since each has a run in which nobody trained."
        return
    slowest = max(others, key=_slowness)
    longest = "longest: " if len(others) > 1 else ""
    # Equal but for rounding: the limits are ratios of sums over the same rounds.
    several = sum(row.noise_limit < 1 + 1e-9 for row in comparison.rows) > 1
    praised = "one of the arms that theory calls best" if several else "the arm that theory calls best"
    yield f"Beside {spoken(comparison.best)}, {praised}, {spoken(slowest.arm)} {_took(slowest, comparison, longest)}."
    yield f"{_predicted(slowest)}."


def _slowness(row: Row) -> tuple[float, float]:
    missed = 1 - row.reached / row.seeds
    return missed, row.measured_slowdown.mean if row.measured_slowdown else row.noise_limit


def _took(row: Row, comparison: Comparison, longest: str) -> str:
    found = row.measured_slowdown
    if found is not None:
        written = write_amount(found, null=1.0)
        return f"took {longest}" + with_range(f"{written.mean} times the rounds to the goal", written.ends)
    return f"cannot be timed: {_untimed(row, comparison)}"


def _untimed(row: Row, comparison: Comparison) -> str:
    best = next(row for row in comparison.rows if row.arm == comparison.best)
    if row.reached < row.seeds:
        return "it missed the goal"
    if why := why_unpaired(comparison, row.arm, best.arm):
        return why
    if row.untimed or best.untimed or any(one.rounds_to_goal and not one.rounds_to_goal.mean for one in (row, best)):
        return "the goal was reached by the first evaluation"
    return "on the same seeds the other has no time to the goal"


def _predicted(row: Row) -> str:
    if not math.isfinite(row.noise_limit):
        return f"Theory says nothing of {spoken(row.arm)}, since it has a run in which nobody trained"
    times = f"{amount(row.noise_limit)} times"
    return f"Theory says {times} if gradient noise alone held learning back and clients' data did not differ"
