"""What `ehfl bound` is asked about: who takes part in which round, and the constants of a task."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from ehfl.cli.options import named_by_option
from ehfl.cli.output import progress, say_if_blind, say_if_compiling
from ehfl.cli.streams import own_prints_aside
from ehfl.validation import InvalidValue, UserError, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ehfl.experiment import Setting, Spec
    from ehfl.learning import Task
    from ehfl.scheduling import Participation
    from ehfl.theory import Constants, Coverage

MAINS = "always-on"
EXAMPLES = 2000  # that stand for all in estimates of L: a pass over all of CIFAR-10 takes 25 times as long


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of the table is about: an arm, or mains power, and who took part."""

    setting: Setting
    played: Participation


def check_alike(spec: Spec) -> None:
    """Refuse arms that change what a table of bounds has once for all."""
    for place, arm in enumerate(spec.arms, start=1):
        for key in ("rounds", "learning.local_steps"):
            if any(f"{changed}.".startswith(f"{key}.") for changed in arm.changes):
                raise UserError(f"arms[{place}].{key} must be left out here: bounds have one of it for all arms")


def say_left_out(spec: Spec) -> None:
    """Tell the user that further seeds of the spec are not looked at."""
    if len(spec.seeds) > 1:
        typer.echo(f"not looked at: seeds but {spec.seeds[0]}", err=True)


def uncovered(coverages: Mapping[str, Coverage]) -> list[str]:
    """Return what theorem A does not cover, and which one does, a line for all arms of which the same can be said."""
    arms: dict[tuple[str | None, str], list[str]] = {}
    for label, one in coverages.items():
        arms.setdefault((one.theorem, one.why), []).append(label)
    return [
        f"{'; '.join(labels)}: theorem {theorem} covers this, theorem A does not: {why}"
        if theorem is not None
        else f"{'; '.join(labels)}: no theorem covers this: {why}"
        for (theorem, why), labels in arms.items()
        if theorem != "A"
    ]


@own_prints_aside()
def estimated(task: str, columns: Mapping[str, Column], seed: int) -> dict[str, Constants]:
    """Return estimates for each column's clients, and say beforehand what they take."""
    from ehfl.learning import load_task

    with named_by_option({"task": "--task"}):
        loaded = load_task(task)
    known: dict[str, Constants] = {}  # by what decides them
    found = {}
    for label, column in columns.items():
        setting, learning = column.setting, column.setting.learning
        decided_by = setting.fleet.clients, learning.partition, learning.order, learning.batch_size
        key = json.dumps(decided_by, sort_keys=True, default=str)
        found[label] = known[key] = known.get(key) or _estimate(task, loaded, setting, seed)
    return found


def _estimate(name: str, task: Task, setting: Setting, seed: int) -> Constants:
    from ehfl.experiment.building import parts_of
    from ehfl.learning import estimate_constants
    from ehfl.learning.constants import ITERATIONS, POINTS

    parts, size, every = parts_of(setting, task, seed), setting.learning.batch_size, len(task.training)
    examples, passes = min(EXAMPLES, every), 2 * POINTS * ITERATIONS
    work = f"{passes} gradients of {examples:,} examples and {POINTS} of {every:,}, one thread"
    typer.echo(f"estimating L, S2, Z2 and D of {name}: {work}", err=True)
    try:
        with progress("estimating", POINTS * ITERATIONS) as advance:
            return estimate_constants(task, parts, batch_size=size, seed=seed, examples=examples, on_iteration=advance)
    except InvalidValue as error:  # a loss below 0, say, or one without curvature
        raise UserError(f"{name} has no constants that a bound could be made of: {error}") from error


@own_prints_aside()
def play(spec: Spec) -> dict[str, Column]:
    """Return who takes part in each arm, by label, and on mains power, which comes last."""
    from ehfl import SCHEDULERS
    from ehfl.experiment import check_harvests
    from ehfl.experiment.building import fleet_of, scheduler_of

    base, seed = spec.base, spec.seeds[0]
    fleet = fleet_of(base)
    check_harvests(spec)
    say_if_compiling(fleet.clients)
    mains = base.model_copy(update={"scheduler": SCHEDULERS.spelled_out(MAINS)})
    columns: dict[str, Column] = {}
    for arm in spec.arms:
        if arm.setting == mains:  # last, whether it is asked for or not
            continue
        if arm.label == MAINS:
            raise UserError(f"{MAINS} must not be the label of another arm: it is what mains power is called here")
        say_if_blind(arm.label, scheduler_of(arm.setting))
        columns[arm.label] = _played(arm.setting, seed)
    return columns | {MAINS: _played(mains, seed)}


def _played(setting: Setting, seed: int) -> Column:
    from ehfl import simulate
    from ehfl.experiment.building import fleet_of, scheduler_of, target_of

    fleet, scheduler = fleet_of(setting), scheduler_of(setting)
    return Column(setting, simulate(fleet, scheduler, setting.rounds, seed, target=target_of(setting)))


def described(spec: Spec) -> str:
    """Return what was played, for a figure that is passed on without the command that made it."""
    from ehfl.energy import HARVESTS

    base = spec.base
    harvest, capacity = short(HARVESTS.text(base.fleet.harvest_table())), short(str(base.fleet.capacity))
    fleet = f"{base.fleet.clients:,} clients, {harvest}, capacity {capacity}"
    return f"{fleet}, {base.rounds:,} rounds, seed {spec.seeds[0]}"
