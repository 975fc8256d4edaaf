"""`ehfl bound`: what theory promises, scheduler by scheduler, and what is measured."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ehfl.cli.live import progress
from ehfl.cli.options import (
    FLEET,
    SCHEDULERS,
    AsJson,
    Figure,
    Full,
    Given,
    command,
    named_by_option,
    scheduler_names,
)
from ehfl.cli.output import check_figure, print_output, say_if_blind, say_if_compiling, write_figure
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import number, path, whole
from ehfl.files import json_text
from ehfl.validation import InvalidValue, UserError, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ehfl.experiment import Setting, Spec
    from ehfl.learning import Task
    from ehfl.report.tables.bound import Bounds
    from ehfl.scheduling import Participation
    from ehfl.theory import Constants, Verified

MAINS = "always-on"
EXAMPLES = 2000  # that stand for all in estimates of L: a pass over all of CIFAR-10 takes 25 times as long
_OF_PROBLEM = ("smoothness", "variance", "gap", "heterogeneity")
_NAMES = {name: f"--{name}" for name in (*_OF_PROBLEM, "seeds")}


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of the table is about: an arm, or mains power, and who took part."""

    setting: Setting
    played: Participation


@command("What theory promises.", *FLEET, "target", scheduler=SCHEDULERS, rounds=400, seed=0, local_steps=1)
def bound(
    given: Given,
    spec: Annotated[
        Path | None, Argument(metavar="SPEC", parser=path, help="Fleets, schedulers and learning from here.")
    ] = None,
    smoothness: Annotated[float, Option(metavar="L", parser=number, help="Smoothness of the loss.")] = 1.0,
    variance: Annotated[float, Option(metavar="S2", parser=number, help="Variance of a stochastic gradient.")] = 1.0,
    gap: Annotated[float, Option(metavar="D", parser=number, help="f(x_0) - f*.")] = 1.0,
    heterogeneity: Annotated[
        float, Option(metavar="Z2", parser=number, help="Mean of |grad f_i - grad f|^2 over clients: how data differ.")
    ] = 0.0,
    task: Annotated[
        str | None, Option(metavar="TASK", help="Estimate L, S2, D and Z2 for this task instead: digits, cifar10, ...")
    ] = None,
    verify: Annotated[
        bool, Option("--verify", help="Run SGD with K = 1 and 5 on two problems of known constants.")
    ] = False,
    seeds: Annotated[int, Option(metavar="N", parser=whole, help="Runs per experiment of --verify.")] = 200,
    full: Full = False,
    as_json: AsJson = False,
    figure: Figure = None,
) -> None:
    r"""Bound the gradient norm for the participation that really happens.

    Prints which theorem covers each arm as it is (data, aggregation, step sizes) and what it says; the paper's theorem
    (as printed and as corrected) with its conditions; the realised bound, theorem A, under three step size rules and
    under the best step sizes of all, and how many times as many rounds as on mains power that means. docs/theory.md has
    all proofs.

    \b
    Examples:
      ehfl bound
      ehfl bound --local-steps 5 --smoothness 2 --variance 10 --gap 2.3
      ehfl bound -s myopic -s round-robin:1 --capacity 1 --rounds 2000 --json
      ehfl bound --task digits
      ehfl bound experiments/heterogeneous.toml
      ehfl bound --verify --figure bound.png
    """
    from ehfl.report import bound_output, verified_output
    from ehfl.theory import Constants

    _refuse_ignored(given)
    check_figure(figure)
    if not 1e-50 <= gap <= 1e50:  # Constants takes 0 too, at which there is nothing to bound
        raise InvalidValue("--gap", "in [1e-50, 1e50]", gap)
    with named_by_option(_NAMES):
        constants = Constants(smoothness, variance, gap, heterogeneity)
    with named_by_option({} if spec is not None else given.names):
        read = given.spec({}) if spec is None else given.spec(spec, options=())
        _check_alike(read)
        if not verify:  # which has SGD of its own
            _check_plain_sgd(read)
        columns = _play(read)
        known = dict.fromkeys(columns, constants) if task is None else _estimated(task, columns, read.seeds[0])
    if spec is not None and len(read.seeds) > 1:
        typer.echo(f"bounds are for seed {read.seeds[0]}, the first of the spec's {len(read.seeds)}", err=True)
    about, local_steps = _described(read), read.base.learning.local_steps
    names = scheduler_names(read) | {MAINS: MAINS}
    if verify:
        with named_by_option(_NAMES):
            results = _measured(columns, seeds, read.seeds[0])
        if as_json:
            typer.echo(json.dumps([dataclasses.asdict(result) | {"holds": result.holds} for result in results]))
        else:
            print_output(verified_output(results, seeds), full=full)
        if figure is not None:
            from ehfl.report import looks, verified_figure

            drawn = f"{about}; means of {seeds} runs, constant steps"
            write_figure(verified_figure(results, looks(names), drawn), figure)
        _end_if_broken(results)
        return
    origin = "" if task is None else f" (estimates for {task}, batches of {read.base.learning.batch_size})"
    arms = _bounds(columns, known, local_steps)
    if as_json:
        shared = {"constants": dataclasses.asdict(known[MAINS]), "origin": origin.strip()}
        typer.echo(json_text(shared | {"schedulers": {label: _facts(one) for label, one in arms.items()}}))
    else:
        print_output(bound_output(f"{about}{origin}", arms, local_steps), full=full)
    if figure is not None:
        from ehfl.report import extra_rounds_figure, looks
        from ehfl.report.tables.bound import shared_constants

        drawn = f"{about}, K = {local_steps}, {shared_constants(known.values())}{origin}"
        slowdowns = {label: one.slowdown for label, one in arms.items()}
        write_figure(extra_rounds_figure(slowdowns, looks(names), drawn), figure)


def _refuse_ignored(given: Given) -> None:
    """Refuse options that the chosen kind of work would ignore."""
    if given["spec"] is not None:
        given.refuse(given.options, "with a spec, which has it: use -o KEY=VALUE")
    if given["verify"]:
        given.refuse(("local_steps", *_OF_PROBLEM, "task"), "with --verify, which has problems of its own")
        return
    given.refuse(["seeds"], "without --verify")
    if given["task"] is not None:
        given.refuse(_OF_PROBLEM, "with --task, which estimates it")


def _bounds(columns: Mapping[str, Column], known: Mapping[str, Constants], local_steps: int) -> dict[str, Bounds]:
    """Return what theory says of each arm, and of mains power, which is last."""
    from ehfl.experiment import covered
    from ehfl.report.tables.bound import Bounds
    from ehfl.theory import bound_slowdown, promise

    mains, arms = columns[MAINS].played.counts, {}
    for label, one in columns.items():
        constants = known[label]
        kept = promise(one.played.counts, local_steps, constants)
        slow = bound_slowdown(kept, mains, local_steps, constants)
        arms[label] = Bounds(kept, slow, covered(one.setting, one.played, constants), constants)
    return arms


def _facts(one: Bounds) -> dict[str, Any]:
    facts = dataclasses.asdict(one)
    return {**facts.pop("promise"), **facts}


@own_prints_aside()
def _estimated(task: str, columns: Mapping[str, Column], seed: int) -> dict[str, Constants]:
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
    from ehfl.experiment.spec.build import parts_of
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
def _play(spec: Spec) -> dict[str, Column]:
    """Return who takes part in each arm, by label, and on mains power, which comes last."""
    from ehfl import SCHEDULERS
    from ehfl.experiment import check_harvests
    from ehfl.experiment.play import World

    check_harvests(spec)
    mains = spec.base.model_copy(update={"scheduler": SCHEDULERS.spelled_out(MAINS)})
    settings = {arm.label: arm.setting for arm in spec.arms if arm.setting != mains}  # which comes last in any case
    if MAINS in settings:
        raise UserError(f"{MAINS} must not be the label of another arm: it is what mains power is called here")
    say_if_compiling(spec.base.fleet.clients)
    columns: dict[str, Column] = {}
    for label, setting in (settings | {MAINS: mains}).items():
        world = World.of(setting)
        say_if_blind(label, world.scheduler)
        columns[label] = Column(setting, world.play(spec.seeds[0]))
    return columns


def _described(spec: Spec) -> str:
    """Return what was played, for a figure that is passed on without the command that made it."""
    from ehfl.energy import HARVESTS

    base = spec.base
    harvest, capacity = short(HARVESTS.text(base.fleet.harvest_table())), short(str(base.fleet.capacity))
    fleet = f"{base.fleet.clients:,} clients, {harvest}, capacity {capacity}"
    return f"{fleet}, {base.rounds:,} rounds, seed {spec.seeds[0]}"


def _check_alike(spec: Spec) -> None:
    """Refuse arms that change what a table of bounds has once for all."""
    for place, arm in enumerate(spec.arms, start=1):
        for key in ("rounds", "learning.local_steps"):
            if any(f"{changed}.".startswith(f"{key}.") for changed in arm.changes):
                raise UserError(f"arms[{place}].{key} must be left out here: bounds have one of it for all arms")


def _check_plain_sgd(spec: Spec) -> None:
    """Refuse turns that no theorem is about."""
    arms = ((f"arms[{place}].", arm.setting) for place, arm in enumerate(spec.arms, start=1))
    for prefix, setting in (("", spec.base), *arms):  # the base first: arms have its keys, too
        learning = setting.learning
        given = {
            "local_epochs": learning.local_epochs,
            "local": learning.local and learning.local["name"],
            "local_decay": None if learning.local_decay == 1 else learning.local_decay,
        }
        for key, value in given.items():
            if value is not None:
                allowed = "left out for a bound: theorems are on local_steps of plain SGD (use a copy of the spec)"
                raise InvalidValue(f"{prefix}learning.{key}", allowed, value)


def _measured(columns: Mapping[str, Column], seeds: int, seed: int) -> list[Verified]:
    """Return what was measured of each theorem's promise for the participation of these arms."""
    from ehfl.theory import verify, verify_unlike
    from ehfl.theory.participants import MOST_CLIENTS

    played = {label: one.played for label, one in columns.items()}
    experiments = verify({label: one.counts for label, one in played.items()}, seeds=seeds, seed=seed)
    if all(2 <= one.n_clients <= MOST_CLIENTS for one in played.values()):
        sets = {label: one.took_part() for label, one in played.items()}
        experiments += verify_unlike(sets, seeds=seeds, seed=seed)
    else:
        typer.echo("theorems C to H, for unlike data, are tried with 2 to 64 clients: left out here", err=True)
    results = []
    with progress("running SGD", len(experiments)) as advance:
        for run in experiments:
            results.append(run())
            advance(results[-1])
    return results


def _end_if_broken(results: Sequence[Verified]) -> None:
    """End with exit code 1 if the measurement breaks a bound, and name the worst."""
    broken = [result for result in results if not result.holds]
    if broken:
        worst = max(broken, key=lambda result: result.measured / result.bound)
        found = f"{worst.measured:.4g} (+- {worst.margin:.2g}) above {worst.bound:.4g}"
        where = f"theorem {worst.theorem}, {worst.problem}, {worst.participation}, K = {worst.local_steps}"
        typer.echo(f"{len(broken)} of {len(results)} bounds are broken, the worst is {where}: {found}", err=True)
        raise typer.Exit(1)
