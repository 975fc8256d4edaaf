"""What finished runs say: curves by arm, and one row of figures for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ehfl.energy.harvest import FloatArray
from ehfl.experiment.statistics import Difference, Estimate, difference, estimate
from ehfl.experiment.timing import common_goal, energy_at, forecast_slowdown, noise_limit, pairs, rounds_to, slowdown
from ehfl.experiment.trials import Arm, Metric, Trial
from ehfl.validation import InvalidValue, UserError

Goal = float | Literal["auto"]


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one arm, each a mean over its seeds."""

    arm: str
    seeds: int
    final: Estimate  # the metric after the last round
    difference: Difference | None  # of `final` against the first arm's, same seeds; None for the first arm
    area: Estimate  # the metric's mean over the rounds: area under the curve / rounds
    reached: int  # seeds that came to the goal
    untimed: int  # those of them that were there by the first evaluation: their rounds and energy are at most these
    rounds_to_goal: Estimate | None  # None unless every seed came to it
    energy_to_goal: Estimate | None  # [units]
    participants: float  # mean of n_t
    participants_std: float
    participants_min: float
    empty_rounds: float
    shortfall: float  # mean of max(target - n_t, 0) [clients a round]
    waste: float  # share of the harvest
    fairness: float  # Jain's index of turns per client
    measured_slowdown: Estimate | None  # rounds to the goal, relative to the best arm's; None unless all were timed
    predicted_slowdown: float | None  # rounds to the same bound, relative to the best arm's; needs the constants
    noise_limit: float  # the same where gradient noise is all that holds learning back; needs no constants


@dataclass(frozen=True, eq=False, slots=True)
class Comparison:
    """Arms side by side; the first is what the others are compared with."""

    name: str
    metric: Metric
    arms: tuple[Arm, ...]
    goal: float  # the metric's value that `rounds_to_goal` counts the rounds to
    target: int  # clients wanted a round
    best: str  # the arm that theory calls best; slowdowns are relative to it
    rows: tuple[Row, ...]
    missing: tuple[str, ...] = ()  # runs that should be here and are not, and why
    wanted_first: str = ""  # the arm that differences should have been to, where it is not here

    @property
    def goal_is_common(self) -> bool:
        """Whether the goal is what the worst run ended at, for which slowdowns are predicted."""
        return self.goal == common_goal(self.arms, self.metric)

    def difference(self, arm: str, baseline: str) -> Difference | None:
        """Return an arm's final metric less the baseline's, pair by pair; None where they cannot be paired."""
        arms = {one.name: one for one in self.arms}
        for name in (arm, baseline):
            if name not in arms:
                raise InvalidValue("arm", f"one of {', '.join(arms)}", name)
        return _against(arms[arm], arms[baseline])


def compare(
    name: str,
    trials: Sequence[Trial],
    metric: Metric,
    target: int,
    *,
    goal: Goal = "auto",
    missing: Sequence[str] = (),
    wanted_first: str = "",
) -> Comparison:
    """Put finished runs side by side; arms in the order in which they first appear.

    A goal of "auto" is what the worst run ended at, so that every run reaches it. `missing` names runs that should be
    here and are not, `wanted_first` the arm that the others should be compared with.
    """
    arms = tuple(_arm(label, trials) for label in dict.fromkeys(trial.arm for trial in trials))
    if not arms:
        raise UserError(f"{name} has no finished runs")
    level = common_goal(arms, metric) if goal == "auto" else goal
    best = min(arms, key=noise_limit)
    forecast = forecast_slowdown(arms, best)
    rows = tuple(_row(arm, arms[0], best, metric, level, target, forecast.get(arm.name)) for arm in arms)
    absent = "" if wanted_first in {arm.name for arm in arms} else wanted_first
    return Comparison(name, metric, arms, level, target, best.name, rows, tuple(missing), absent)


def _arm(label: str, trials: Sequence[Trial]) -> Arm:
    mine = sorted((trial for trial in trials if trial.arm == label), key=lambda trial: trial.seed)
    for one, next_one in pairwise(mine):
        if one.seed == next_one.seed:
            raise UserError(f"{label} has seed {one.seed} twice: a run counts once")
    if len({trial.kind for trial in mine}) > 1:
        raise UserError(f"{label} has runs of different specs, data or code: give the experiments different names")
    points = [[record.round for record in trial.evaluations] for trial in mine]
    if any(other != points[0] for other in points):
        raise UserError(f"runs of {label} were evaluated after different rounds and cannot be put together")
    return Arm(label, tuple(mine))


def _row(arm: Arm, first: Arm, best: Arm, metric: Metric, goal: float, target: int, forecast: float | None) -> Row:
    reached = rounds_to(goal, arm, metric)
    everyone = bool(np.isfinite(reached).all())
    summaries = [trial.participation.summary(min(target, trial.participation.n_clients)) for trial in arm.trials]

    def mean(field: str) -> float:
        return float(np.mean([getattr(summary, field) for summary in summaries]))

    return Row(
        arm=arm.name,
        seeds=len(arm.seeds),
        final=estimate(arm.metric[:, -1]),
        difference=None if arm is first else _against(arm, first),
        area=estimate(_area(arm)),
        reached=int(np.isfinite(reached).sum()),
        untimed=int((reached == arm.evaluated[0]).sum()),
        rounds_to_goal=estimate(reached) if everyone else None,
        energy_to_goal=estimate(energy_at(arm, reached)) if everyone else None,
        participants=mean("mean"),
        participants_std=mean("std"),
        participants_min=mean("min"),
        empty_rounds=mean("empty_rounds"),
        shortfall=mean("shortfall"),
        waste=mean("waste"),
        fairness=mean("fairness"),
        measured_slowdown=slowdown(arm, best, metric, goal),
        predicted_slowdown=forecast,
        noise_limit=(noise_limit(arm) / noise_limit(best)) ** 2,  # bounds fall as 1 / sqrt(rounds)
    )


def _against(arm: Arm, first: Arm) -> Difference | None:
    """Return the paired difference of what arms of equal length ended at; None where there are no pairs."""
    common = pairs(arm, first)
    if not common or arm.evaluated[-1] != first.evaluated[-1]:
        return None
    mine, theirs = zip(*common, strict=True)
    return difference(arm.metric[list(mine), -1], first.metric[list(theirs), -1])


def _area(arm: Arm) -> FloatArray:
    """Return the mean height of each seed's curve, (n_seeds,): a single evaluation stands for itself."""
    if arm.evaluated.size == 1:
        return arm.metric[:, 0]
    heights = (arm.metric[:, 1:] + arm.metric[:, :-1]) / 2
    area: FloatArray = heights @ np.diff(arm.evaluated) / np.ptp(arm.evaluated)
    return area
