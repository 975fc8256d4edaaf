"""`ehfl bound`: what theory promises, scheduler by scheduler, and what is measured."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ehfl.cli.bound_problem import MAINS, check_alike, described, estimated, play, say_left_out, uncovered
from ehfl.cli.bound_verify import print_verified
from ehfl.cli.options import (
    KEYS,
    AsJson,
    Capacity,
    Clients,
    Cost,
    HarvestOption,
    Initial,
    Override,
    Rate,
    Rounds,
    Scheduler,
    Seed,
    Target,
    is_given,
    named_by_option,
    names_in,
    scheduler_names,
    spec_of,
    value_of,
)
from ehfl.cli.output import FIGURES, check_writable, print_sentences, print_table, say_where
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import number, path, whole
from ehfl.files import json_text
from ehfl.validation import InvalidValue, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ehfl.cli.bound_problem import Column
    from ehfl.experiment import Spec
    from ehfl.theory import Constants

_OF_PROBLEM = ("smoothness", "variance", "gap", "heterogeneity")
_CONSTANTS = {name: f"--{name}" for name in (*_OF_PROBLEM, "eta", "seeds")}
# The \b in it keeps the lines that follow as they are.
HELP = """Bound the gradient norm for the participation that really happens.

Prints which theorem covers each arm as it is (data, aggregation, step sizes) and what it says; the paper's theorem (as
printed and as corrected) with its conditions; the realised bound, theorem A, under three step size rules and under the
best step sizes of all, and how many times as many rounds as on mains power that means. docs/theory.md has all proofs.

\b
Examples:
  ehfl bound
  ehfl bound --local-steps 5 --smoothness 2 --variance 10 --gap 2.3
  ehfl bound -s myopic -s round-robin:1 --capacity 1 --rounds 2000 --json
  ehfl bound --task digits
  ehfl bound experiments/demo.toml --task digits
  ehfl bound --verify --figure bound.png
"""


def bound(
    context: typer.Context,
    spec: Annotated[
        Path | None,
        Argument(metavar="SPEC", parser=path, help="Fleets, schedulers and learning from here.", show_default=False),
    ] = None,
    clients: Clients = None,
    rate: Rate = None,
    harvest: HarvestOption = None,
    capacity: Capacity = None,
    initial: Initial = None,
    cost: Cost = None,
    scheduler: Scheduler = None,
    target: Target = None,
    rounds: Rounds = 400,
    seed: Seed = 0,
    local_steps: Annotated[
        int, Option("--local-steps", "-k", metavar="K", parser=whole, help="SGD steps a round.")
    ] = 1,
    smoothness: Annotated[float, Option(metavar="L", parser=number, help="Smoothness of the loss.")] = 1.0,
    variance: Annotated[float, Option(metavar="S2", parser=number, help="Variance of a stochastic gradient.")] = 1.0,
    gap: Annotated[float, Option(metavar="D", parser=number, help="f(x_0) - f*.")] = 1.0,
    heterogeneity: Annotated[
        float, Option(metavar="Z2", parser=number, help="Mean of |grad f_i - grad f|^2 over clients: how data differ.")
    ] = 0.0,
    task: Annotated[
        str | None, Option(metavar="TASK", help="Estimate L, S2, D and Z2 for this task instead: digits, cifar10, ...")
    ] = None,
    eta: Annotated[
        float | None,
        Option(metavar="ETA", parser=number, help="The theorem's eta [what is best for the realised bound]."),
    ] = None,
    verify: Annotated[
        bool, Option("--verify", help="Run SGD with K = 1 and 5 on two problems of known constants.")
    ] = False,
    seeds: Annotated[int, Option(metavar="N", parser=whole, help="Runs per experiment of --verify.")] = 200,
    override: Override = None,
    as_json: AsJson = False,
    figure: Annotated[
        Path | None, Option(metavar="FILE", parser=path, help="Draw the result here: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Bound the gradient norm for the participation that really happens."""
    from ehfl.experiment import read_spec
    from ehfl.theory import Constants
    from ehfl.theory.verification import MOST_SEEDS

    _check_combination(context, spec, task, verify)
    whole_number("--seeds", seeds, low=2, high=MOST_SEEDS)
    if figure is not None:
        check_writable("--figure", figure, FIGURES)
    if not 1e-50 <= gap <= 1e50:  # Constants takes 0 too, at which there is nothing to bound
        raise InvalidValue("--gap", "in [1e-50, 1e50]", gap)
    with named_by_option(_CONSTANTS):
        given = Constants(smoothness, variance, gap, heterogeneity)
    if spec is not None:
        with own_prints_aside():
            read = read_spec(spec, override or ())
        check_alike(read)
    else:
        with named_by_option(names_in(context)):
            read = spec_of(context)
    with named_by_option({} if spec is not None else names_in(context)):
        columns = play(read)
        known = dict.fromkeys(columns, given) if task is None else estimated(task, columns, read.seeds[0])
    if spec is not None:
        say_left_out(read)
    origin = "" if task is None else f" (estimates for {task}, batches of {read.base.learning.batch_size})"
    with named_by_option(_CONSTANTS):
        if verify:
            print_verified(columns, seeds, read, as_json, figure)
        else:
            _promise(columns, read, known, origin, eta, as_json, figure)


def _check_combination(context: typer.Context, spec: Path | None, task: str | None, verify: bool) -> None:
    """Refuse options that the chosen kind of work would ignore."""
    ignored = {"seeds": "without --verify"}
    if task is not None:
        ignored |= dict.fromkeys(_OF_PROBLEM, "with --task, which estimates it")
    if verify:
        of_its_own = ("local_steps", *_OF_PROBLEM, "eta", "task")
        ignored = dict.fromkeys(of_its_own, "with --verify, which has problems of its own")
    if spec is not None:
        of_the_spec = [option for option in KEYS if option != "task"]  # which asks for estimates here
        ignored |= dict.fromkeys(of_the_spec, "with a spec, which has it: use -o KEY=VALUE")
    for name, why in ignored.items():
        if is_given(context, name):
            raise InvalidValue(f"--{name.replace('_', '-')}", f"left out {why}", value_of(context, name))


def _promise(
    columns: Mapping[str, Column],
    spec: Spec,
    known: Mapping[str, Constants],
    origin: str,
    eta: float | None,
    as_json: bool,
    figure: Path | None,
) -> None:
    from ehfl.experiment import covered
    from ehfl.report import promise_table, shared_constants
    from ehfl.theory import promise, slowdown

    local_steps, mains = spec.base.learning.local_steps, columns[MAINS].played.counts
    coverages = {label: covered(one.setting, one.played, known[label]) for label, one in columns.items()}
    promises = {label: promise(one.played.counts, local_steps, known[label], eta) for label, one in columns.items()}
    slow = {label: slowdown(kept, mains, local_steps, known[label]) for label, kept in promises.items()}
    numbers = f"K = {local_steps}, {shared_constants(known.values())}{origin}"
    if as_json:
        facts = {
            label: dataclasses.asdict(kept)
            | {"slowdown": slow[label], "constants": dataclasses.asdict(known[label])}
            | {"covered": dataclasses.asdict(coverages[label])}
            for label, kept in promises.items()
        }
        shared = {"constants": dataclasses.asdict(known[MAINS]), "origin": origin.strip()}
        typer.echo(json_text(shared | {"schedulers": facts}))
    else:
        print_table(
            f"bounds on the mean of |grad f|^2, {numbers}", promise_table(promises, slow, coverages, known, local_steps)
        )
        print_sentences(uncovered(coverages))
    if figure is not None:
        from ehfl.report import draw_slowdown

        about = f"{described(spec)}, {numbers}"
        draw_slowdown(slow, figure, schedulers=scheduler_names(spec) | {MAINS: MAINS}, about=about)
        say_where("figure", figure)
