"""`ehfl bound`: what theory promises, scheduler by scheduler, and what is measured."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ehfl.cli.options import AsJson, Capacity, Clients, Cost, Initial, Rate, Rounds, Scheduler, Seed, Target
from ehfl.cli.output import FIGURES, check_writable, print_table, progress, say_if_compiling
from ehfl.cli.parsing import read_setting, spec_setting, whole
from ehfl.files import json_text
from ehfl.validation import InvalidValue, whole_number

if TYPE_CHECKING:
    from ehfl.cli.parsing import Setting
    from ehfl.energy.harvest import IntArray
    from ehfl.theory import Constants

    Counts = dict[str, IntArray]

MAINS = "always-on"
_FLEET = ("clients", "rate", "capacity", "initial", "cost")

# The \b in it keeps the lines that follow as they are.
HELP = """Bound the gradient norm for the participation that really happens.

Prints the paper's theorem (as printed and as corrected) with its conditions, the realised bound under three step size
rules and under the best step sizes of all, and how many times as many rounds as on mains power that means.
docs/theory.md has the derivations.

\b
Examples:
  ehfl bound
  ehfl bound --local-steps 5 --smoothness 2 --variance 10 --gap 2.3
  ehfl bound -s myopic -s round-robin:1 --capacity 1 --rounds 2000 --json
  ehfl bound --task digits
  ehfl bound experiments/demo.toml
  ehfl bound --verify --figure bound.png
"""


def bound(
    context: typer.Context,
    spec: Annotated[
        Path | None, Argument(metavar="SPEC", help="Fleet, schedulers, rounds and K from here.", show_default=False)
    ] = None,
    clients: Clients = None,
    rate: Rate = "0.5",
    capacity: Capacity = "inf",
    initial: Initial = 0,
    cost: Cost = 1,
    scheduler: Scheduler = None,
    target: Target = "auto",
    rounds: Rounds = 400,
    seed: Seed = 0,
    local_steps: Annotated[
        int, Option("--local-steps", "-k", metavar="K", parser=whole, help="SGD steps a round.")
    ] = 1,
    smoothness: Annotated[float, Option(metavar="L", help="Smoothness of the loss.")] = 1.0,
    variance: Annotated[float, Option(metavar="S2", help="Variance of a stochastic gradient.")] = 1.0,
    gap: Annotated[float, Option(metavar="D", help="f(x_0) - f*.")] = 1.0,
    task: Annotated[
        str | None, Option(metavar="TASK", help="Estimate L, S2 and D for this task instead: digits, cifar10, ...")
    ] = None,
    eta: Annotated[
        float | None, Option(metavar="ETA", help="The theorem's eta [what is best for the realised bound].")
    ] = None,
    verify: Annotated[
        bool, Option("--verify", help="Run SGD with K = 1 and 5 on two problems of known constants.")
    ] = False,
    seeds: Annotated[int, Option(metavar="N", parser=whole, help="Runs per experiment of --verify.")] = 200,
    as_json: AsJson = False,
    figure: Annotated[Path | None, Option(metavar="FILE", help="Draw the result here: .png, .svg or .pdf.")] = None,
) -> None:
    """Bound the gradient norm for the participation that really happens."""
    from ehfl.experiment import constants_of, read_spec
    from ehfl.theory import Constants

    _check_combination(context, spec, verify)
    constants = Constants(smoothness, variance, gap)
    origin = ""
    if spec is not None:
        told = read_spec(spec)
        setting, rounds, seed, local_steps = spec_setting(told), told.rounds, told.seeds[0], told.learning.local_steps
        constants = constants_of(told) or constants
        if told.theory is not None:
            _check_left_out(context, ("smoothness", "variance", "gap"), "with a spec that says it")
    else:
        setting = read_setting(clients, rate, capacity, initial, cost, scheduler, target)
    if task is not None:
        constants, origin = _estimated(task), f" (estimates for {task})"
    whole_number("local_steps", local_steps, low=1)
    whole_number("seeds", seeds, low=2)
    if figure is not None:
        check_writable("figure", figure, FIGURES)
    say_if_compiling(setting.fleet.clients)
    counts = _play(setting, rounds, seed)
    if verify:
        _verify(counts, seeds, seed, as_json, figure)
    else:
        _promise(counts, local_steps, constants, origin, eta, as_json, figure)


def _check_combination(context: typer.Context, spec: Path | None, verify: bool) -> None:
    """Refuse options that the chosen kind of work would ignore."""
    ignored = dict.fromkeys(("seeds",), "without --verify")
    if verify:
        of_its_own = ("local_steps", "smoothness", "variance", "gap", "eta", "task")
        ignored = dict.fromkeys(of_its_own, "with --verify, which has problems of its own")
    if spec is not None:
        told = (*_FLEET, "scheduler", "target", "rounds", "seed", "local_steps")
        ignored |= dict.fromkeys(told, "with a spec, which says it")
    for name, why in ignored.items():
        _check_left_out(context, (name,), why)


def _check_left_out(context: typer.Context, names: Sequence[str], why: str) -> None:
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidValue(name, f"left out {why}", "it")


def _estimated(task: str) -> Constants:
    from ehfl.learning import estimate_constants, load_task

    typer.echo(f"estimating the constants of {task} (a few seconds)", err=True)
    return estimate_constants(load_task(task))


def _play(setting: Setting, rounds: int, seed: int) -> Counts:
    """Return n_t by scheduler, mains power last."""
    from ehfl import AlwaysOn, simulate

    others = {name: policy for name, policy in setting.policies.items() if name != MAINS}
    policies = others | {MAINS: AlwaysOn(setting.target)}
    return {name: simulate(setting.fleet, policy, rounds, seed).counts for name, policy in policies.items()}


def _promise(
    counts: Counts,
    local_steps: int,
    constants: Constants,
    origin: str,
    eta: float | None,
    as_json: bool,
    figure: Path | None,
) -> None:
    from ehfl.theory import promise, slowdown

    promises = {name: promise(n_t, local_steps, constants, eta) for name, n_t in counts.items()}
    slow = {name: slowdown(kept, counts[MAINS], local_steps, constants) for name, kept in promises.items()}
    if as_json:
        facts = {name: dataclasses.asdict(kept) | {"slowdown": slow[name]} for name, kept in promises.items()}
        told = {"constants": dataclasses.asdict(constants), "origin": origin.strip(), "schedulers": facts}
        typer.echo(json_text(told))
    else:
        from ehfl.report.bounds import promise_table

        numbers = f"L = {constants.smoothness:.3g}, s2 = {constants.variance:.3g}, gap = {constants.gap:.3g}{origin}"
        title = f"bounds on the mean of |grad f|^2, K = {local_steps}, {numbers}"
        print_table(title, promise_table(promises, slow, local_steps))
    if figure is not None:
        from ehfl.report.bounds import draw_slowdown

        draw_slowdown(slow, figure)
        typer.echo(f"figure: {figure}", err=True)


def _verify(counts: Counts, seeds: int, seed: int, as_json: bool, figure: Path | None) -> None:
    from ehfl.theory import RULES, known_problems, verify

    results = []
    with progress("running SGD", len(known_problems()) * 2 * len(RULES) * len(counts)) as advance:
        for result in verify(counts, seeds=seeds, seed=seed):
            results.append(result)
            if advance is not None:
                advance(result)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(result) | {"holds": result.holds} for result in results]))
    else:
        from ehfl.report.bounds import verified_table

        print_table(f"measured / bound, means of {seeds} runs", verified_table(results))
    if figure is not None:
        from ehfl.report.bounds import draw_verified

        draw_verified(results, figure)
        typer.echo(f"figure: {figure}", err=True)
