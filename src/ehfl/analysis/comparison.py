"""Arms side by side: what finished runs say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ehfl.analysis import notebook, pairing
from ehfl.analysis.rows import Row, Yardstick, final_difference, row_of
from ehfl.analysis.statistics import Difference
from ehfl.analysis.timing import common_goal, noise_limit
from ehfl.analysis.trials import Arm, Trial
from ehfl.history import Metric
from ehfl.validation import InvalidValue, UserError

if TYPE_CHECKING:
    from pandas import DataFrame

Goal = float | Literal["auto"]


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Comparison:
    """Arms side by side; the first is what the others are compared with. Notebooks show it as a table."""

    name: str
    metric: Metric
    arms: tuple[Arm, ...]
    goal: float  # the metric's value that `rounds_to_goal` counts the rounds to
    target: int  # clients wanted a round
    best: str  # the arm that theory calls best, the first of several; slowdowns are relative to it
    rows: tuple[Row, ...]
    missing: tuple[str, ...] = ()  # runs that should be here and are not, and why
    wanted_first: str = ""  # the arm that differences should have been to, where it is not here

    @property
    def unit(self) -> str:
        """What energy is counted in, the same for all arms."""
        return self.arms[0].trials[0].participation.unit

    @property
    def shared(self) -> tuple[str, ...]:
        """Which of weather, data and first model all arms met alike, seed by seed, as their trials say."""
        return pairing.shared(self.arms)

    def arm(self, name: str) -> Arm:
        """Return the arm of that name."""
        found = next((arm for arm in self.arms if arm.name == name), None)
        if found is None:
            raise InvalidValue("arm", f"one of {', '.join(arm.name for arm in self.arms)}", name)
        return found

    def difference(self, arm: str, baseline: str) -> Difference | None:
        """Return an arm's final metric less the baseline's, pair by pair; None where they cannot be paired."""
        return final_difference(self.arm(arm), self.arm(baseline))

    def frame(self) -> DataFrame:
        """Return the figures as a pandas DataFrame: a row for each arm, a column for each number."""
        return notebook.frame(self.rows)

    def _repr_html_(self) -> str:
        return notebook.html_table(self)

    def __str__(self) -> str:
        return notebook.text_table(self)

    def __repr__(self) -> str:
        return f"<Comparison {self.name}: {self.metric.name} of {', '.join(arm.name for arm in self.arms)}>"


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
    _check_units(trials)
    # Over the seeds that all arms have, if there are any: another seed is other weather, which is no arm's merit.
    common = set(arms[0].seeds).intersection(*(arm.seeds for arm in arms))
    limits = {arm.name: noise_limit(arm, common or arm.seeds) for arm in arms}
    best = min(arms, key=lambda arm: limits[arm.name])
    by = Yardstick(metric, common_goal(arms, metric) if goal == "auto" else goal, target, arms[0], best)
    # Bounds fall as 1 / sqrt(rounds), so rounds to the same bound go as the square of what the bounds are now.
    least = limits[best.name]
    slower = {name: (limit / least) ** 2 if limit < math.inf else math.inf for name, limit in limits.items()}
    rows = (row_of(arm, by, noise_limit=slower[arm.name]) for arm in arms)
    absent = "" if wanted_first in limits else wanted_first
    return Comparison(name, metric, arms, by.goal, target, best.name, tuple(rows), tuple(missing), absent)


def _check_units(trials: Sequence[Trial]) -> None:
    units = sorted({trial.participation.unit for trial in trials})
    if len(units) > 1:
        raise UserError(f"runs that count energy in different units cannot be put together: {', '.join(units)}")


def _arm(label: str, trials: Sequence[Trial]) -> Arm:
    mine = sorted((trial for trial in trials if trial.arm == label), key=lambda trial: trial.seed)
    for one, next_one in pairwise(mine):
        if one.seed == next_one.seed:
            raise UserError(f"{label} has seed {one.seed} twice: a run counts once")
    if len({trial.fingerprint for trial in mine}) > 1:
        raise UserError(f"{label} has runs of different specs, data or code: give the experiments different names")
    points = [[found.rounds for found in trial.evaluations] for trial in mine]
    if any(other != points[0] for other in points):
        raise UserError(f"runs of {label} were evaluated after different rounds and cannot be put together")
    return Arm(label, tuple(mine))
