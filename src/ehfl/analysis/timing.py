"""How long arms take: rounds and energy to a goal, as measured, and what theory says where noise is all that counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from ehfl.analysis.pairing import pairs
from ehfl.analysis.statistics import Estimate, estimate
from ehfl.analysis.trials import Arm
from ehfl.arrays import FloatArray, IntArray
from ehfl.runs import Metric
from ehfl.theory import leading_order


def common_goal(arms: Sequence[Arm], metric: Metric) -> float:
    """Return what the worst run ended at: every run reaches it."""
    return metric.sign * min(float((metric.sign * arm.metric[:, -1]).min()) for arm in arms)


def rounds_to(level: float, arm: Arm, metric: Metric) -> FloatArray:
    """Return after how many rounds each seed's metric first came to the level, (n_seeds,); NaN where it never did.

    Between two evaluations the curve is taken as straight; what is there at the first counts as reached then.
    """
    return np.array([_crossing(arm.evaluated, metric.sign * curve, metric.sign * level) for curve in arm.metric])


def _crossing(rounds: IntArray, curve: FloatArray, level: float) -> float:
    above = np.flatnonzero(curve >= level)
    if not above.size:
        return float("nan")
    at = int(above[0])
    if at == 0:
        return float(rounds[0])
    if not np.isfinite(curve[at - 1]):
        return float(rounds[at])
    share = (level - curve[at - 1]) / (curve[at] - curve[at - 1])
    return float(rounds[at - 1] + share * (rounds[at] - rounds[at - 1]))


def energy_at(arm: Arm, rounds: FloatArray) -> FloatArray:
    """Return what each seed had spent after a number of rounds of its own, (n_seeds,), as `Trial.spent` counts it."""
    return np.array(
        [
            np.interp(after, np.arange(trial.spent.size), trial.spent)
            for trial, after in zip(arm.trials, rounds, strict=True)
        ]
    )


def slowdown(arm: Arm, best: Arm, metric: Metric, goal: float) -> Estimate | None:
    """Return rounds to the goal over the best arm's, pair by pair; times, where rounds have different lengths.

    None where there are no pairs, or where a run never came to the goal or was there by its first evaluation, which
    leaves open when it came.
    """
    common = pairs(arm, best)
    mine, theirs = timed(goal, arm, metric), timed(goal, best, metric)
    longer = times_as_long(arm, best)
    ratios = np.array([longer * mine[one] / theirs[other] for one, other in common])
    return estimate(ratios) if common and np.isfinite(ratios).all() else None


def times_as_long(arm: Arm, other: Arm) -> float:
    """Return how many times as long as the other's an arm's rounds take; 1 where that is not known."""
    mine, theirs = arm.round_length, other.round_length
    return 1.0 if mine is None or theirs is None else mine / theirs


def timed(goal: float, arm: Arm, metric: Metric) -> FloatArray:
    """Return each seed's rounds to the goal, (n_seeds,); NaN where no two evaluations have it between them."""
    found = rounds_to(goal, arm, metric)
    return np.where(found > arm.evaluated[0], found, np.nan)


def noise_limit(arm: Arm, seeds: Collection[int]) -> float:
    """Return the leading order of the realised bound times sqrt(T), with which it falls, mean over these seeds."""
    trials = [trial for trial in arm.trials if trial.seed in seeds]
    bounds = [leading_order(trial.participation.counts, trial.steps, trial.local_steps) for trial in trials]
    return float(np.mean(bounds)) * math.sqrt(arm.trials[0].participation.rounds)
