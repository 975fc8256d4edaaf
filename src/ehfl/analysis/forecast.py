"""What the noise-scale law says of a world's arms: how many times the best arm's rounds they take, and where they end.

An arm comes to the goal when its progress (`theory.progress`) is what the best arm's was at the goal, and ends at what
the best arm's curve was when it had made the same progress. B is fitted to the beginning of two arms' curves where arms
differ enough to tell, else measured of the best arm alone, by its updates and losses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ehfl.analysis.audit import Audit
from ehfl.analysis.noise_scale import NoiseScale, from_updates
from ehfl.analysis.one_curve import along, from_curves
from ehfl.analysis.pairing import pairs
from ehfl.analysis.statistics import Estimate
from ehfl.analysis.timing import timed, times_as_long
from ehfl.analysis.trials import Arm, Trial
from ehfl.analysis.worlds import World
from ehfl.arrays import FloatArray
from ehfl.history import Metric
from ehfl.theory import progress

_APART = 1.5  # noise limits from which curves can tell B: those of arms that are nearly alike fit with any

Pair = tuple[Trial, Trial, float]  # an arm's run, the best arm's with the same seed, and its rounds to the goal


@dataclass(frozen=True, eq=False, slots=True)
class Forecast:
    """What the law says of a world's arms, by their names, with the intervals that come of B's."""

    scale: NoiseScale | None = None
    why_not: str = ""  # a sentence without its full stop, where there is no B
    slowdowns: Mapping[str, Estimate] = field(default_factory=dict)  # rounds, or times, to the goal over the best arm's
    finals: Mapping[str, Estimate] = field(default_factory=dict)  # the metric after the last round
    held_out: frozenset[str] = frozenset()  # arms that came to the goal in rounds which B was not made from
    outside: Mapping[str, str] = field(default_factory=dict)  # arms that the law does not cover, and why


def forecast_of(world: World, metric: Metric, goal: float) -> Forecast:
    """Return the forecasts for a world's arms, from its best arm and B."""
    best = next(arm for arm in world.arms if arm.name == world.best)
    outside = {arm.name: why for arm in world.arms if (why := _outside(arm, best))}
    if best.name in outside:
        return Forecast(why_not=f"{best.name} {outside[best.name]}", outside=outside)
    covered = [arm for arm in world.arms if arm.name not in outside and arm is not best]
    reached = timed(goal, best, metric)
    scale = _from_curves(world, best, covered) or from_updates(best, reached)
    if scale is None:
        return Forecast(why_not=_why_not(best, covered), outside=outside)
    slowdowns = {arm.name: found for arm in covered if (found := _slowdown(arm, best, reached, scale))}
    itself = {best.name: Estimate(1.0, None, None, len(best.seeds))} if slowdowns else {}
    return Forecast(
        scale,
        slowdowns=itself | slowdowns,
        finals={arm.name: found for arm in covered if (found := _final(arm, best, scale))},
        held_out=frozenset(arm.name for arm in covered if _held_out(arm, scale, timed(goal, arm, metric))),
        outside=outside,
    )


def _outside(arm: Arm, best: Arm) -> str:
    """Return why the law does not cover an arm; empty where it does."""
    trial = arm.trials[0]
    if trial.aggregation != "mean":
        return f"aggregated by {trial.aggregation} and not by the plain mean"
    if trial.local_steps != best.trials[0].local_steps or any(record.steps for record in trial.records):
        return "took other numbers of local steps"
    if trial.partition != "iid" and Audit.played(arm).matters:
        return "did not hear all clients alike, and their data differ"
    return ""


def _from_curves(world: World, best: Arm, others: Sequence[Arm]) -> NoiseScale | None:
    """Return B from the best arm and the one that is slowest in the noise limit, if that is far enough."""
    limits = {arm.name: world.noise_limits[arm.name] for arm in others}
    apart = [arm for arm in others if _APART <= limits[arm.name] < math.inf]
    return from_curves(best, max(apart, key=lambda arm: limits[arm.name])) if apart else None


def _why_not(best: Arm, others: Sequence[Arm]) -> str:
    logged = any(record.update_square is not None for trial in best.trials for record in trial.records)
    alone = f"no round of {best.name} had two participants" if logged else "the spread of updates was not logged"
    curves = "and no two arms' curves differ enough in participants and have enough evaluations in common to fit it"
    return f"{alone}{f', {curves}' if others else ''}"


def _held_out(arm: Arm, scale: NoiseScale, reached: FloatArray) -> bool:
    return arm.name not in scale.arms or bool((reached > scale.until).all())


def _slowdown(arm: Arm, best: Arm, reached: FloatArray, scale: NoiseScale) -> Estimate | None:
    """Return the rounds to the best arm's progress at the goal over its own, pair by pair; None if it was not timed.

    `reached` has the best arm's rounds to the goal, (n_seeds,).
    """
    runs = [(arm.trials[one], best.trials[other], float(reached[other])) for one, other in pairs(arm, best)]
    if not runs or not np.isfinite([rounds for _, _, rounds in runs]).all():
        return None
    longer = times_as_long(arm, best)

    def mean(noise_scale: float, left_out: int | None) -> float:
        return longer * float(np.mean([_times_the_rounds(run, noise_scale) for run in _without(left_out, runs)]))

    return scale.forecast(mean)


def _without(seed: int | None, runs: Sequence[Pair]) -> Sequence[Pair]:
    """Return the pairs of other seeds; all of them, if the seed's is the only one."""
    return [run for run in runs if run[0].seed != seed] or runs


def _times_the_rounds(run: Pair, noise_scale: float) -> float:
    mine, theirs = (_progress(trial, noise_scale) for trial in run[:2])
    rounds = run[2]
    return rounds_to_progress(mine, float(np.interp(rounds, np.arange(theirs.size), theirs))) / rounds


def _progress(trial: Trial, noise_scale: float) -> FloatArray:
    return progress(trial.participation.counts, trial.steps, noise_scale)


def rounds_to_progress(made: FloatArray, wanted: float) -> float:
    """Return after how many rounds the progress was as wanted; at its mean pace, where the rounds do not suffice.

    >>> rounds_to_progress(np.array([0.0, 1.0, 1.0, 3.0]), 2.0), rounds_to_progress(np.array([0.0, 1.0, 2.0]), 5.0)
    (2.5, 5.0)
    """
    if made[-1] == 0:
        return math.inf
    if wanted > made[-1]:
        return float((made.size - 1) * wanted / made[-1])
    at = int(np.searchsorted(made, wanted))
    return 0.0 if at == 0 else float(at - 1 + (wanted - made[at - 1]) / (made[at] - made[at - 1]))


def _final(arm: Arm, best: Arm, scale: NoiseScale) -> Estimate | None:
    """Return the best arm's metric at the progress that an arm ends with, pair by pair; None if one went beyond."""
    runs = [(arm.trials[one], best.trials[other], math.nan) for one, other in pairs(arm, best)]

    def mean(noise_scale: float, left_out: int | None) -> float:
        return float(np.mean([_on_curve(*run[:2], noise_scale) for run in _without(left_out, runs)]))

    if not runs or any(not _is_within(*run[:2], scale.value) for run in runs):
        return None
    return scale.forecast(mean)


def _is_within(mine: Trial, theirs: Trial, noise_scale: float) -> bool:
    first, last = (_progress(theirs, noise_scale)[theirs.evaluations[at].rounds] for at in (0, -1))
    return bool(first <= _progress(mine, noise_scale)[-1] <= last)


def _on_curve(mine: Trial, theirs: Trial, noise_scale: float) -> float:
    """Return the metric that one run had when it had made the progress with which the other ends."""
    rounds, metrics = zip(*((found.rounds, found.metric) for found in theirs.evaluations), strict=True)
    end = _progress(mine, noise_scale)[-1:]
    return float(along(_progress(theirs, noise_scale)[list(rounds)], np.array(metrics), end)[0])
