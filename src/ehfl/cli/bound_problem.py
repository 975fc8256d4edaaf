"""What `ehfl bound` is asked about: who takes part in which round, and the constants of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ehfl.cli.options import named_by_option
from ehfl.cli.output import progress, say_if_blind, say_if_compiling
from ehfl.cli.streams import own_prints_aside
from ehfl.validation import InvalidValue, UserError, short

if TYPE_CHECKING:
    from ehfl.arrays import IntArray
    from ehfl.experiment import Spec
    from ehfl.theory import Constants

    Counts = dict[str, IntArray]  # n_t by label

MAINS = "always-on"
EXAMPLES = 2000  # that stand for all in estimates: a pass over all of CIFAR-10 takes 25 times as long


def check_alike(spec: Spec) -> None:
    """Refuse arms that change what a table of bounds has once for all."""
    for place, arm in enumerate(spec.arms, start=1):
        for key in ("rounds", "learning.local_steps"):
            if any(f"{changed}.".startswith(f"{key}.") for changed in arm.changes):
                raise UserError(f"arms[{place}].{key} must be left out here: bounds have one of it for all arms")


def say_left_out(spec: Spec) -> None:
    """Tell the user which of the spec's keys the bounds know nothing of, where they are not as theory has them."""
    settings = [arm.setting.learning for arm in spec.arms]
    given = {
        f"seeds but {spec.seeds[0]}": len(spec.seeds) > 1,
        "learning.step_size": any(key.startswith("learning.step_size") for arm in spec.arms for key in arm.changes),
        "learning.aggregation": any(one.aggregation["name"] != "mean" for one in settings),
        "learning.partition": any(one.partition["name"] != "iid" for one in settings),
        "learning.clip": any(one.clip is not None for one in settings),
        "learning.weight_decay": any(one.weight_decay > 0 for one in settings),
    }
    found = ", ".join(key for key, there in given.items() if there)
    if found:
        theirs = "the bounds are for one seed, the mean, data alike and the best steps of each rule"
        typer.echo(f"not looked at: {found} ({theirs})", err=True)


@own_prints_aside()
def estimated(task: str, batch_size: int) -> Constants:
    """Return estimates for the task, and say beforehand what they take."""
    from ehfl.learning import estimate_constants, load_task
    from ehfl.learning.constants import ITERATIONS, POINTS

    with named_by_option({"task": "--task"}):
        loaded = load_task(task)
    examples, passes = min(EXAMPLES, len(loaded.training)), 2 * POINTS * ITERATIONS
    typer.echo(f"estimating L, S2 and D of {task}: {passes} gradients of {examples:,} examples, one thread", err=True)
    try:
        with progress("estimating", POINTS * ITERATIONS) as advance:
            return estimate_constants(loaded, batch_size=batch_size, examples=examples, on_iteration=advance)
    except InvalidValue as error:  # a loss below 0, say, or one without curvature
        raise UserError(f"{task} has no constants that a bound could be made of: {error}") from error


@own_prints_aside()
def play(spec: Spec) -> Counts:
    """Return n_t of each arm, mains power last."""
    from ehfl import SCHEDULERS, AlwaysOn, simulate
    from ehfl.experiment import check_harvests
    from ehfl.experiment.building import fleet_of, scheduler_of, target_of

    base, seed = spec.base, spec.seeds[0]
    fleet = fleet_of(base)
    check_harvests(spec)
    say_if_compiling(fleet.clients)
    mains = base.model_copy(update={"scheduler": SCHEDULERS.spelled_out(MAINS)})
    counts: Counts = {}
    for arm in spec.arms:
        one, scheduler = arm.setting, scheduler_of(arm.setting)
        if one == mains:  # last, whether it is asked for or not
            continue
        if arm.label == MAINS:
            raise UserError(f"{MAINS} must not be the label of another arm: it is what mains power is called here")
        say_if_blind(arm.label, scheduler)
        counts[arm.label] = simulate(fleet_of(one), scheduler, one.rounds, seed, target=target_of(one)).counts
    return counts | {MAINS: simulate(fleet, AlwaysOn(), base.rounds, seed, target=target_of(base)).counts}


def described(spec: Spec) -> str:
    """Return what was played, for a figure that is passed on without the command that made it."""
    from ehfl.energy import HARVESTS

    base = spec.base
    harvest, capacity = short(HARVESTS.text(base.fleet.harvest_table())), short(str(base.fleet.capacity))
    fleet = f"{base.fleet.clients:,} clients, {harvest}, capacity {capacity}"
    return f"{fleet}, {base.rounds:,} rounds, seed {spec.seeds[0]}"
