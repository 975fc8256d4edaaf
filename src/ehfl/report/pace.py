"""Sentences on how soon arms came to the goal, and on what theory says of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ehfl.analysis import Arm, Comparison, Estimate, Row
from ehfl.analysis.intervals import write_amount
from ehfl.analysis.numbers import amount, value
from ehfl.report.phrases import spoken, with_range
from ehfl.report.sharing import why_unpaired


def goal_sentences(comparison: Comparison) -> Iterator[str]:
    """Say who came to the goal, and who was there first."""
    level = value(comparison.metric, comparison.goal)
    times = {row.arm: row.rounds_to_goal for row in comparison.rows if row.rounds_to_goal}
    whole = len(times) == len(comparison.rows)
    if whole and not any(_timed(comparison.arm(arm), found) for arm, found in times.items()):
        yield f"Every run was at the goal of {level} by its first evaluation{_before(comparison.arms)}."
    elif times:
        yield f"{'Every' if whole else 'Not every'} run came to the goal of {level}; {_quickest(times, whole)}."
    for row in comparison.rows:
        if row.reached < row.seeds:
            yield f"{spoken(row.arm, begins=True)} {_short_of_goal(row, level)}."


def _timed(arm: Arm, found: Estimate) -> bool:
    """Return whether any run came to the goal after its first evaluation."""
    return bool(found.mean > arm.evaluated[0])


def _before(arms: Sequence[Arm]) -> str:
    return ", before the first round" if all(arm.evaluated[0] == 0 for arm in arms) else ""


def _quickest(times: Mapping[str, Estimate], whole: bool) -> str:
    quickest = min(times, key=lambda arm: times[arm].mean)
    written = write_amount(times[quickest])
    rounds = with_range(f"{written.mean} round{'' if written.mean == '1' else 's'}", written.ends)
    if len(times) == 1:
        return f"{spoken(quickest)} did so after {rounds}"
    average = " on average" if times[quickest].n > 1 else ""
    if len({found.mean for found in times.values()}) == 1:
        return f"{'all arms' if whole else 'the arms that did with every seed'} took {rounds}{average}"
    return f"{spoken(quickest)} was there first{average}, after {rounds}"


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
    if best.reached < best.seeds:
        return "the other missed the goal"
    return "a run was at the goal by its first evaluation"


def _predicted(row: Row) -> str:
    if not math.isfinite(row.noise_limit):
        return f"Theory says nothing of {spoken(row.arm)}, since it has a run in which nobody trained"
    times = f"{amount(row.noise_limit)} times"
    return f"Theory says {times} if gradient noise alone held learning back and clients' data did not differ"
