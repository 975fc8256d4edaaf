"""How long arms take: rounds and energy to a goal, as measured, and as theory forecasts them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ehfl.energy.harvest import FloatArray, IntArray
from ehfl.experiment.statistics import Estimate, estimate
from ehfl.experiment.trials import Arm, Metric
from ehfl.theory import Constants, leading_order, leading_terms


def common_goal(arms: Sequence[Arm], metric: Metric) -> float:
    """Return what the worst run came to at its best: every run reaches it."""
    return metric.sign * min(float((metric.sign * arm.metric).max(axis=1).min()) for arm in arms)


def rounds_to(level: float, arm: Arm, metric: Metric) -> FloatArray:
    """Return after how many rounds each seed's metric first came to the level, (n_seeds,); NaN where it never did.

    Between two evaluations the curve is taken as straight.
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
    """Return what each seed had spent after a number of rounds of its own, (n_seeds,) [units]."""
    return np.array(
        [
            np.interp(after, np.arange(1, trial.spent.size + 1), trial.spent)
            for trial, after in zip(arm.trials, rounds, strict=True)
        ]
    )


def slowdown(arm: Arm, best: Arm, metric: Metric, goal: float) -> Estimate | None:
    """Return rounds to the goal over the best arm's, seed by seed where both have it."""
    seeds = [seed for seed in arm.seeds if seed in best.seeds]
    if not seeds:
        return None
    mine, theirs = rounds_to(goal, arm, metric), rounds_to(goal, best, metric)
    ratios = np.array([mine[arm.seeds.index(seed)] / theirs[best.seeds.index(seed)] for seed in seeds])
    return estimate(ratios) if np.isfinite(ratios).all() else None


def noise_limit(arm: Arm) -> float:
    """Return the leading order of the realised bound, mean over seeds."""
    return float(np.mean([leading_order(trial.participation.counts, trial.steps) for trial in arm.trials]))


def forecast_slowdown(
    arms: Sequence[Arm], best: Arm, local_steps: int, constants: Constants | None
) -> dict[str, float]:
    """Return by arm how many times the best arm's rounds it takes to the level at which the worst run's bound ends."""
    if constants is None:
        return {}
    curves = {
        arm.name: [leading_terms(t.participation.counts, t.steps, local_steps, constants) for t in arm.trials]
        for arm in arms
    }
    level = max(float(curve.min()) for mine in curves.values() for curve in mine)
    if not np.isfinite(level):  # a run in which nobody ever took part
        return {}
    rounds = {
        name: float(np.mean([_crossing(np.arange(1, curve.size + 1), -curve, -level) for curve in mine]))
        for name, mine in curves.items()
    }
    return {name: needed / rounds[best.name] for name, needed in rounds.items()}
