"""Arms side by side: what finished runs say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ehfl.analysis import notebook, pairing
from ehfl.analysis.clock import Clock, clock_of
from ehfl.analysis.rows import Row, correct_p_values, row_of
from ehfl.analysis.scales import Scale, energy_scale
from ehfl.analysis.statistics import Difference
from ehfl.analysis.timing import common_goal
from ehfl.analysis.trials import Arm, Missing, Trial
from ehfl.analysis.worlds import World, worlds_of
from ehfl.history import Metric
from ehfl.run_folder import Facts
from ehfl.validation import InvalidValue, UserError

if TYPE_CHECKING:
    from pandas import DataFrame

Goal = float | Literal["auto"]


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Comparison:
    """Arms side by side, each compared with the first of its world. Notebooks show it as a table."""

    name: str
    metric: Metric
    arms: tuple[Arm, ...]
    goal: float  # the metric's value that `rounds_to_goal` counts the rounds to
    worlds: tuple[World, ...]  # arms that met the same weather, data and first model
    rows: tuple[Row, ...]
    missing: tuple[Missing, ...] = ()  # runs that should be here and are not, and why
    specs: tuple[str, ...] = ()  # as TOML, one an experiment; none where no spec ran it
    metas: tuple[Facts, ...] = ()  # what each run says of where and when it ran

    @property
    def unit(self) -> str:
        """What energies are in, the same for all arms: joules where fleets have quanta of a known size."""
        return _unit(self.arms[0].trials[0])

    @property
    def clock(self) -> Clock:
        """How long the arms' rounds take."""
        return clock_of({arm.name: arm.round_length for arm in self.arms}, {arm.name: arm.rounds for arm in self.arms})

    def energy_scale(self, largest: float) -> Scale:
        """Return what energies up to this one are shown in: the fleet's own unit, unless they are joules."""
        in_joules = self.arms[0].trials[0].participation.quantum is not None
        return energy_scale(largest) if in_joules else Scale(self.unit)

    @property
    def shared(self) -> tuple[str, ...]:
        """Which of weather, data and first model all arms met alike, seed by seed, as their trials say."""
        return pairing.shared(self.arms)

    @property
    def contests(self) -> tuple[World, ...]:
        """The worlds that have more than one arm, so that there is something to compare."""
        return tuple(world for world in self.worlds if len(world.arms) > 1)

    def arm(self, name: str) -> Arm:
        """Return the arm of that name."""
        found = next((arm for arm in self.arms if arm.name == name), None)
        if found is None:
            raise InvalidValue("arm", f"one of {', '.join(arm.name for arm in self.arms)}", name)
        return found

    def world(self, arm: str) -> World:
        """Return the world of the arm of that name."""
        found = self.arm(arm)
        return next(world for world in self.worlds if found in world.arms)

    def rows_of(self, world: World) -> tuple[Row, ...]:
        """Return the figures of a world's arms."""
        mine = {arm.name for arm in world.arms}
        return tuple(row for row in self.rows if row.arm in mine)

    def difference(self, arm: str, baseline: str) -> Difference | None:
        """Return an arm's final metric less the baseline's, pair by pair; None where they cannot be paired."""
        return pairing.final_difference(self.arm(arm), self.arm(baseline), pairing.final_metric)

    def frame(self) -> DataFrame:
        """Return the figures as a pandas DataFrame: a row for each arm, a column for each number.

        The first columns say what the arm is: its scheduler, its aggregation, and each key in which arms differ.
        """
        return notebook.frame(self)

    def rounds(self) -> DataFrame:
        """Return every round as a pandas DataFrame: a row for each (arm, seed, round), the columns of rounds.csv.

        `test_loss` and `test_metric` are NaN in rounds without an evaluation; `first_loss` and `first_metric`, of the
        model before round 0, stand in its row.
        """
        return notebook.rounds_frame(self)

    def class_frame(self) -> DataFrame:
        """Return the accuracy of each class at the end, mean over seeds: a row for each class, a column for each arm.

        Refused where no arm has classes, or arms have different ones.
        """
        return notebook.class_frame(self)

    def _repr_html_(self) -> str:
        return notebook.html_table(self)

    def __str__(self) -> str:
        return notebook.text_table(self)

    def __repr__(self) -> str:
        arms = ", ".join(arm.name for arm in self.arms)
        absent = f"; left out: {', '.join(map(str, self.missing))}" if self.missing else ""
        return f"<Comparison {self.name}: {self.metric.name} of {arms}{absent}>"


def compare(
    name: str,
    trials: Sequence[Trial],
    metric: Metric,
    target: int | None = None,
    *,
    goal: Goal = "auto",
    missing: Sequence[Missing] = (),
) -> Comparison:
    """Put finished runs side by side; arms in the order in which they first appear.

    `target` is the number of clients wanted a round, unless given that of each world's first run. A goal of "auto" is
    what the worst run ended at, so that every run reaches it. `missing` names runs that should be here and are not.
    """
    arms = tuple(_arm(label, trials) for label in dict.fromkeys(trial.arm for trial in trials))
    if not arms:
        raise UserError(f"{name} has no finished runs")
    _check_units(trials)
    level = common_goal(arms, metric) if goal == "auto" else goal
    worlds = worlds_of(arms, target)
    rows = {arm.name: row_of(arm, world, metric, level) for world in worlds for arm in world.arms}
    listed = tuple(correct_p_values([rows[arm.name] for arm in arms]))
    return Comparison(name, metric, arms, level, worlds, listed, tuple(missing))


def _check_units(trials: Sequence[Trial]) -> None:
    """Refuse units beside others or beside joules, of which nobody knows how many they are; quanta may differ."""
    found = {(_unit(trial), trial.participation.quantum is not None) for trial in trials}
    if len(found) > 1:
        units = ", ".join(sorted("joules" if in_joules else unit for unit, in_joules in found))
        raise UserError(f"runs that count energy in different units cannot be put together: {units}")


def _unit(trial: Trial) -> str:
    played = trial.participation
    return played.unit if played.quantum is None else "J"


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
