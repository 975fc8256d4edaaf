"""What finished runs say: curves by arm, and one row of figures for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import trapezoid

from ehfl.energy.harvest import FloatArray, IntArray
from ehfl.experiment.statistics import Difference, Estimate, difference, estimate
from ehfl.history import Record
from ehfl.scheduling import Participation
from ehfl.theory import Constants, leading_order, leading_terms
from ehfl.validation import UserError

Goal = float | Literal["auto"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What the model is judged by."""

    name: str  # such as "accuracy"
    lower_is_better: bool = False

    @property
    def sign(self) -> int:
        """1 where more is better, else -1."""
        return -1 if self.lower_is_better else 1


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """One finished run: an arm under one seed."""

    arm: str
    seed: int
    participation: Participation
    records: Sequence[Record]
    cost: int = 1  # of taking part in a round [units]

    @property
    def evaluations(self) -> list[Record]:
        """The rounds after which the model was evaluated."""
        return [record for record in self.records if record.test_metric is not None]

    @property
    def steps(self) -> FloatArray:
        """Step sizes eta_t, (n_rounds,)."""
        return np.array([record.step_size for record in self.records])

    @property
    def spent(self) -> IntArray:
        """Energy that training has taken up to each round's end, from batteries or the mains, (n_rounds,) [units]."""
        total: IntArray = np.cumsum(self.participation.counts, dtype=np.int64) * self.cost
        return total


@dataclass(frozen=True, eq=False, slots=True)
class Arm:
    """A scheduler's runs, one a seed, evaluated after the same rounds."""

    name: str
    trials: tuple[Trial, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, ascending."""
        return tuple(trial.seed for trial in self.trials)

    @property
    def evaluated(self) -> IntArray:
        """How many rounds had been played at each evaluation, (n_evaluations,)."""
        return np.array([record.round + 1 for record in self.trials[0].evaluations])

    @property
    def metric(self) -> FloatArray:
        """The test metric, (n_seeds, n_evaluations)."""
        return np.array([[record.test_metric for record in trial.evaluations] for trial in self.trials])

    @property
    def loss(self) -> FloatArray:
        """The test loss, (n_seeds, n_evaluations)."""
        return np.array([[record.test_loss for record in trial.evaluations] for trial in self.trials])

    @property
    def energy(self) -> IntArray:
        """Energy spent up to each evaluation, (n_seeds, n_evaluations) [units]."""
        return np.array([trial.spent[self.evaluated - 1] for trial in self.trials])

    @property
    def counts(self) -> IntArray:
        """Participants n_t, (n_seeds, n_rounds)."""
        return np.array([trial.participation.counts for trial in self.trials])


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one arm, each a mean over its seeds."""

    arm: str
    seeds: int
    final: Estimate  # the metric after the last round
    difference: Difference | None  # of `final` against the first arm's, same seeds; None for the first arm
    area: Estimate  # the metric's mean over the rounds: area under the curve / rounds
    reached: int  # seeds that came to the goal
    rounds_to_goal: Estimate | None  # None unless every seed came to it
    energy_to_goal: Estimate | None  # [units]
    participants: float  # mean of n_t
    participants_std: float
    participants_min: float
    empty_rounds: float
    shortfall: float  # mean of max(target - n_t, 0) [clients a round]
    waste: float  # share of the harvest
    fairness: float  # Jain's index of turns per client
    measured_slowdown: Estimate | None  # rounds to the goal, relative to the best arm's
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


def compare(
    name: str,
    trials: Sequence[Trial],
    metric: Metric,
    target: int,
    *,
    goal: Goal = "auto",
    local_steps: int = 1,
    constants: Constants | None = None,
) -> Comparison:
    """Put finished runs side by side; arms in the order in which they first appear.

    A goal of "auto" is what the worst run came to at its best, so that every run reaches it. `constants` of the problem
    let theory say how many rounds the steps that were taken need.
    """
    arms = tuple(_arm(label, trials) for label in dict.fromkeys(trial.arm for trial in trials))
    if not arms:
        raise UserError(f"{name} has no finished runs")
    level = _common_goal(arms, metric) if goal == "auto" else goal
    best = min(arms, key=_noise_limit)
    forecast = _forecast(arms, best, local_steps, constants)
    rows = tuple(_row(arm, arms[0], best, metric, level, target, forecast.get(arm.name)) for arm in arms)
    return Comparison(name, metric, arms, level, target, best.name, rows)


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


def _arm(label: str, trials: Sequence[Trial]) -> Arm:
    mine = sorted((trial for trial in trials if trial.arm == label), key=lambda trial: trial.seed)
    for one, next_one in pairwise(mine):
        if one.seed == next_one.seed:
            raise UserError(f"{label} has seed {one.seed} twice: a run counts once")
    points = [[record.round for record in trial.evaluations] for trial in mine]
    if any(other != points[0] for other in points):
        raise UserError(f"runs of {label} were evaluated after different rounds and cannot be put together")
    return Arm(label, tuple(mine))


def _common_goal(arms: Sequence[Arm], metric: Metric) -> float:
    return metric.sign * min(float((metric.sign * arm.metric).max(axis=1).min()) for arm in arms)


def _noise_limit(arm: Arm) -> float:
    """Return the leading order of the realised bound, mean over seeds."""
    return float(np.mean([leading_order(trial.participation.counts, trial.steps) for trial in arm.trials]))


def _forecast(arms: Sequence[Arm], best: Arm, local_steps: int, constants: Constants | None) -> dict[str, float]:
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
        rounds_to_goal=estimate(reached) if everyone else None,
        energy_to_goal=estimate(_energy_at(arm, reached)) if everyone else None,
        participants=mean("mean"),
        participants_std=mean("std"),
        participants_min=mean("min"),
        empty_rounds=mean("empty_rounds"),
        shortfall=mean("shortfall"),
        waste=mean("waste"),
        fairness=mean("fairness"),
        measured_slowdown=_slowdown(arm, best, metric, goal),
        predicted_slowdown=forecast,
        noise_limit=(_noise_limit(arm) / _noise_limit(best)) ** 2,  # bounds fall as 1 / sqrt(rounds)
    )


def _against(arm: Arm, first: Arm) -> Difference | None:
    """Return the paired difference over the seeds that both have; None if there are none."""
    seeds = [seed for seed in arm.seeds if seed in first.seeds]
    if not seeds:
        return None
    mine, theirs = ([float(a.metric[a.seeds.index(seed), -1]) for seed in seeds] for a in (arm, first))
    return difference(mine, theirs)


def _area(arm: Arm) -> FloatArray:
    """Return the mean height of each seed's curve, (n_seeds,): a single evaluation stands for itself."""
    if arm.evaluated.size == 1:
        return arm.metric[:, 0]
    area: FloatArray = trapezoid(arm.metric, arm.evaluated, axis=1) / np.ptp(arm.evaluated)
    return area


def _energy_at(arm: Arm, rounds: NDArray[np.floating[Any]]) -> FloatArray:
    """Return what each seed had spent after a number of rounds of its own, (n_seeds,) [units]."""
    return np.array(
        [
            np.interp(after, np.arange(1, trial.spent.size + 1), trial.spent)
            for trial, after in zip(arm.trials, rounds, strict=True)
        ]
    )


def _slowdown(arm: Arm, best: Arm, metric: Metric, goal: float) -> Estimate | None:
    """Return rounds to the goal over the best arm's, seed by seed where both have it."""
    seeds = [seed for seed in arm.seeds if seed in best.seeds]
    if not seeds:
        return None
    mine, theirs = rounds_to(goal, arm, metric), rounds_to(goal, best, metric)
    ratios = np.array([mine[arm.seeds.index(seed)] / theirs[best.seeds.index(seed)] for seed in seeds])
    return estimate(ratios) if np.isfinite(ratios).all() else None
