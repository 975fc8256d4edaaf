"""Arms side by side: what finished runs say.

Arms that met the same weather, data and first model are a world; its first arm is what the others are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import ehfl
from ehfl.analysis import frames, pairing
from ehfl.analysis.rows import Row, correct_p_values, row_of
from ehfl.analysis.statistics import Difference
from ehfl.analysis.timing import common_goal, noise_limit, times_as_long
from ehfl.analysis.trials import Arm, Missing, Trial
from ehfl.analysis.units import Clock, Scale, clock_of, energy_scale
from ehfl.runs import Facts, Metric
from ehfl.validation import InvalidValue, UserError

if TYPE_CHECKING:
    from pandas import DataFrame

Goal = float | Literal["auto"]


@dataclass(frozen=True, eq=False, slots=True)
class World:
    """Arms that have runs which met the same as runs of the first one, their baseline."""

    arms: tuple[Arm, ...]
    target: int  # clients wanted a round
    best: str  # the arm that theory calls best, the first of several; slowdowns are relative to it
    noise_limits: Mapping[str, float]  # rounds, or times, to the same bound by arm, relative to the best one's
    name: str = ""  # what its arms' labels begin with where there are several worlds: "Unequal fleet"

    @property
    def baseline(self) -> str:
        """The arm that differences are to."""
        return self.arms[0].name

    def short(self, arm: str) -> str:
        """Return an arm's label without the world's name, for texts that have named the world."""
        return arm.removeprefix(f"{self.name}: ") if self.name else arm


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
    def most_seeds(self) -> int:
        """How many seeds the arm with the most has: with one, there are no intervals."""
        return max(len(arm.seeds) for arm in self.arms)

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
        """Return an arm's final metric minus the baseline's, pair by pair; None where they cannot be paired."""
        return pairing.final_difference(self.arm(arm), self.arm(baseline), pairing.final_metric)

    def frame(self) -> DataFrame:
        """Return the figures as a pandas DataFrame: a row for each arm, a column for each number.

        The first columns say what the arm is: its scheduler, its aggregation, and each key in which arms differ. In a
        sweep, `line` is the arm's label without the point, and each swept key has a column.
        """
        return frames.frame(self)

    def rounds(self, per: frames.Per | None = None) -> DataFrame:
        """Return every round as a pandas DataFrame: a row for each (arm, seed, round), the columns of rounds.csv.

        `test_loss` and `test_metric` are NaN in rounds without an evaluation; `first_loss` and `first_metric`, of the
        model before round 0, stand in its row. With `per="class"` or `"client"`: the accuracy of each class, or under
        each client's mixture of labels, with a row for each (arm, seed, evaluated round, class or client).
        """
        return frames.rounds_frame(self, per)

    def class_frame(self) -> DataFrame:
        """Return the accuracy of each class at the end, mean over seeds: a row for each class, a column for each arm.

        Refused where no arm has classes, or arms have different ones.
        """
        return frames.class_frame(self)

    @property
    def verdict(self) -> list[str]:
        """Who won by how much, what is not shown, who pays for it, and cautions: a sentence each."""
        # Only the top-level package knows both rooms: numbers do not depend on how they are worded.
        return ehfl.report.verdict_of(self)

    def _repr_html_(self) -> str:
        return ehfl.report.as_html(self)

    def __str__(self) -> str:
        return ehfl.report.as_text(self)

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
    """Refuse to mix units, which have no common size, or units and joules; quanta may differ."""
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


def worlds_of(arms: Sequence[Arm], target: int | None = None) -> tuple[World, ...]:
    """Return the worlds in the order in which their first arms appear.

    An arm is of the first world whose baseline has runs that met the same as its own; else it begins a new one. Each
    point of a sweep is a world, unless the sweep has a single arm, whose points are compared.
    """
    lines = {arm.line for arm in arms if arm.point}
    groups: list[list[Arm]] = []
    for arm in arms:
        mine = next((group for group in groups if _is_of(arm, group[0], lines)), None)
        if mine is None:
            groups.append([arm])
        else:
            mine.append(arm)
    names = _names(groups)
    return tuple(_world(tuple(group), target, name) for group, name in zip(groups, names, strict=True))


def _is_of(arm: Arm, baseline: Arm, lines: Collection[str]) -> bool:
    return (len(lines) == 1 or arm.point == baseline.point) and bool(pairing.pairs(arm, baseline))


def _world(arms: tuple[Arm, ...], target: int | None, name: str) -> World:
    # Over the seeds that all arms have, if there are any: another seed is other weather, which is no arm's merit.
    common = set(arms[0].seeds).intersection(*(arm.seeds for arm in arms))
    # Squared below: rounds that are twice as long count twice.
    lengths = {arm.name: math.sqrt(times_as_long(arm, arms[0])) for arm in arms}
    limits = {arm.name: noise_limit(arm, common or arm.seeds) * lengths[arm.name] for arm in arms}
    best = min(limits, key=lambda arm: limits[arm])
    # Bounds fall as 1 / sqrt(rounds), so rounds to the same bound go as the square of what the bounds are now.
    slower = {arm: (limit / limits[best]) ** 2 if limit < math.inf else math.inf for arm, limit in limits.items()}
    wanted = arms[0].trials[0].participation.target if target is None else target
    return World(arms, wanted, best, slower, name)


def _names(groups: Sequence[Sequence[Arm]]) -> list[str]:
    """Return what the labels of each world have before the last colon, if all of them and no other world's have it."""
    found = [{arm.name.rpartition(": ")[0] if ": " in arm.name else "" for arm in group} for group in groups]
    own = [len(mine) == 1 and sum(mine <= other for other in found) == 1 for mine in found]
    return [next(iter(mine)) if only and len(groups) > 1 else "" for mine, only in zip(found, own, strict=True)]
