"""Sentences on how soon arms came to the goal, and on what theory says of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ehfl.analysis import Arm, Comparison, Estimate, Row
from ehfl.analysis.intervals import write_amount
from ehfl.analysis.numbers import amount, value
from ehfl.analysis.pairing import pairs
from ehfl.analysis.statistics import CONFIDENCE, holm
from ehfl.analysis.timing import time_difference
from ehfl.analysis.worlds import World
from ehfl.report.phrases import in_short, in_world, listed, spoken, with_range

_SUPPOSED = "gradient noise alone held learning back and clients' data did not differ"


def goal_sentences(comparison: Comparison) -> Iterator[str]:
    """Say who came to the goal, and who of each world was there first, where a test shows it."""
    level = value(comparison.metric, comparison.goal)
    times = {row.arm: row.rounds_to_goal for row in comparison.rows if row.rounds_to_goal}
    whole = len(times) == len(comparison.rows)
    if whole and not any(_timed(comparison.arm(arm), found) for arm, found in times.items()):
        yield f"Every run was at the goal of {level} by its first evaluation{_before(comparison.arms)}."
    elif times:
        everyone = "all arms" if whole else "the arms that did with every seed"
        rows = map(comparison.rows_of, comparison.worlds)
        worlds = [{row.arm: times[row.arm] for row in mine if row.arm in times} for mine in rows]
        first = "; ".join(
            _quickest(comparison, mine, listed(mine) if worlds[1:] else everyone) for mine in worlds if mine
        )
        yield f"{'Every' if whole else 'Not every'} run came to the goal of {level}; {first}."
    for row in comparison.rows:
        if row.reached < row.seeds:
            yield f"{spoken(row.arm, begins=True)} {_short_of_goal(row, level)}."


def _timed(arm: Arm, found: Estimate) -> bool:
    """Return whether any run came to the goal after its first evaluation."""
    return bool(found.mean > arm.evaluated[0])


def _before(arms: Sequence[Arm]) -> str:
    return ", before the first round" if all(arm.evaluated[0] == 0 for arm in arms) else ""


def _quickest(comparison: Comparison, times: Mapping[str, Estimate], everyone: str) -> str:
    lengths = comparison.clock.lengths
    took = {arm: lengths.get(arm, 1.0) * found.mean for arm, found in times.items()}
    quickest = min(took, key=lambda arm: took[arm])
    lasted = _lasted(comparison, times[quickest], took[quickest])
    if len(times) == 1:
        return f"{spoken(quickest)} did so after {lasted}"
    average = " on average" if times[quickest].n > 1 else ""
    if len(set(took.values())) == 1:
        return f"{everyone} took {lasted}{average}"
    others = [comparison.arm(arm) for arm in times if arm != quickest]
    if _is_first(comparison.arm(quickest), others, comparison):
        return f"{spoken(quickest)} was there first, after {lasted}{average}"
    return f"{spoken(quickest)} took {lasted}{average}, not shown to be before all others"


def _is_first(arm: Arm, others: Sequence[Arm], comparison: Comparison) -> bool:
    """Return whether paired tests show that the arm was at the goal before each of the others."""
    later = [time_difference(other, arm, comparison.metric, comparison.goal) for other in others]
    p_values = [found.p_value for found in later if found is not None and found.p_value is not None]
    return len(p_values) == len(others) and max(holm(p_values)) < 1 - CONFIDENCE


def _lasted(comparison: Comparison, rounds: Estimate, seconds: float) -> str:
    """Return so many rounds, how long they take where that is known, and that alone where it is all that compares."""
    written = write_amount(rounds)
    counted = with_range(f"{written.mean} round{'' if written.mean == '1' else 's'}", written.ends)
    if not comparison.clock.is_known:
        return counted
    time = comparison.clock.scale.text(seconds)
    return time if comparison.clock.differs else f"{counted}, which is {time}"


def _short_of_goal(row: Row, level: str) -> str:
    if row.reached == 0:
        return f"did not come to the goal of {level} with any seed"
    return (
        f"came to the goal of {level} with only {row.reached} of {row.seeds} seeds, so no mean of its rounds is given"
    )


def theory_sentences(comparison: Comparison) -> Iterator[str]:
    """Say of each world's slowest arm how many times the best one's rounds it took, and how many by theory."""
    several = len(comparison.contests) > 1
    for world in comparison.contests:
        yield from _theory(comparison, world, short=several)
    if several and any(math.isfinite(row.noise_limit) for row in comparison.rows):
        yield f"Theory says so if {_SUPPOSED}."


def _theory(comparison: Comparison, world: World, *, short: bool) -> Iterator[str]:
    rows, measure = comparison.rows_of(world), _measure(comparison)
    if not any(math.isfinite(row.noise_limit) for row in rows):
        yield in_world(world, "Theory calls no arm best, since each has a run in which nobody trained.")
        return
    best = next(row for row in rows if row.arm == world.best)
    others = [row for row in rows if row is not best]
    # Equal but for rounding: the limits are ratios of sums over the same rounds.
    several = sum(row.noise_limit < 1 + 1e-9 for row in rows) > 1
    praised = "one of the arms that theory calls best" if several else "the arm that theory calls best"
    if len(others) > 1 and all(map(_was_no_slower, others)):
        slowest, up_to = max(others, key=lambda row: row.noise_limit), "up to "
        took = "no other took longer to the goal on average"
    else:
        slowest, up_to = max(others, key=_slowness), ""
        took = _took(world, slowest, best, "longest: " if len(others) > 1 else "", measure)
    beside = in_world(world, f"Beside {in_short(world, best)}, {praised}, {took}")
    limit = slowest.noise_limit
    times = measure[0] if round(limit, 2) == 1 else f"{up_to}{amount(limit)} times"
    yield from _predicted(beside, in_short(world, slowest), limit, times, short=short)


def _measure(comparison: Comparison) -> tuple[str, str]:
    """Return what slowdowns are of: where there is none, and where there is one."""
    return ("as long", "the time") if comparison.clock.differs else ("as many rounds", "the rounds")


def _predicted(beside: str, slow: str, limit: float, times: str, *, short: bool) -> Iterator[str]:
    """Yield what was measured, and how many times the best arm's rounds the slow one takes by theory."""
    if not math.isfinite(limit):
        yield from (f"{beside}.", f"Theory says nothing of {slow}, since it has a run in which nobody trained.")
    elif short:
        yield f"{beside}; theory says {times}."
    else:
        yield from (f"{beside}.", f"Theory says {times} if {_SUPPOSED}.")


def _slowness(row: Row) -> tuple[float, float]:
    missed = 1 - row.reached / row.seeds
    return missed, row.measured_slowdown.mean if row.measured_slowdown else row.noise_limit


def _was_no_slower(row: Row) -> bool:
    """Return whether an arm was timed and took no more rounds to the goal than the best one, on average."""
    return row.measured_slowdown is not None and row.measured_slowdown.mean <= 1


def _took(world: World, row: Row, best: Row, longest: str, measure: tuple[str, str]) -> str:
    slow = in_short(world, row)
    if row.measured_slowdown is None:
        return f"{slow} {_untimed(row, best, world)}"
    written = write_amount(row.measured_slowdown, null=1.0)
    times = measure[0] if written.mean == "1" else f"{written.mean} times {measure[1]}"
    return with_range(f"{slow} took {longest}{times} to the goal", written.ends)


def _untimed(row: Row, best: Row, world: World) -> str:
    arms = {arm.name: arm for arm in world.arms}
    if row.reached < row.seeds:
        why = "it missed the goal"
    elif not pairs(arms[row.arm], arms[best.arm]):
        why = "they have no seed in common"
    elif best.reached < best.seeds:
        why = "the other missed the goal"
    else:
        why = "a run was at the goal by its first evaluation"
    return f"cannot be timed: {why}"
