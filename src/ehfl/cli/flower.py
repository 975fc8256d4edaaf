"""`ehfl flower`: the same scheduler on Flower's devices."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ehfl.cli.flower_live import live_nodes
from ehfl.cli.options import RUNS, AsJson, Override, named_by_option
from ehfl.cli.outcomes import show_outcomes
from ehfl.cli.output import check_folder, say_where
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import OneOfEach, path, whole
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from ehfl.experiment import Run, Spec

# The \b in it keeps the lines that follow as they are.
UP = """Play one arm of a spec on a real Flower deployment of this machine: a SuperLink, and a SuperNode a client.

All of it listens on loopback alone, and ends with the command. While it runs, you see the round, and for each node
whether it is online, its battery, how often it took part and how often its work was lost. The run lies in
RUNS/<name>-flower, like those of ehfl compare; stopped or killed, the same command goes on where it was.

\b
Examples:
  ehfl flower up --nodes 3 -o rounds=10 -o learning.step_size=nominal-causal
  ehfl flower up experiments/demo.toml --nodes 3 --arm greedy --seed 1
  ehfl flower up mine.toml -o flower.deadline=30 --runs ~/runs
"""

APP = """Write a Flower App project that plays one arm of a spec: what flwr run takes, on your own SuperLink too.

DIR must be new or empty, or an app that was written before and not changed since. Its README.md says how to run it;
classes of your own that the spec names come along. docs/deploy.md goes on with TLS, node keys and supervision.

\b
Examples:
  ehfl flower app solar --nodes 3 -o learning.step_size=nominal-causal
  ehfl flower app solar mine.toml --arm greedy --runs /srv/ehfl/runs
"""

SpecFile = Annotated[
    Path | None, Argument(metavar="SPEC", parser=path, help="A TOML file [the demo].", show_default=False)
]
Nodes = Annotated[
    int | None, Option("--nodes", "-n", metavar="N", parser=whole, help="Nodes, one a client [the spec's clients].")
]
ArmLabel = Annotated[str | None, Option("--arm", metavar="LABEL", help="Which arm of the spec [the first].")]
SeedOfSpec = Annotated[
    int | None, Option("--seed", metavar="SEED", parser=whole, help="Seed of the run [the spec's first].")
]
Data = Annotated[
    Path | None, Option(metavar="FOLDER", parser=path, help="Where the task's data lie [$EHFL_DATA, else downloaded].")
]
Runs = Annotated[Path, Option(metavar="FOLDER", parser=path, help="Where experiments are kept.")]

commands = typer.Typer(
    name="flower",
    help="The same scheduler on Flower's devices: a deployment on this machine, or an app for your own SuperLink.",
    short_help="The same on Flower's devices.",
    rich_markup_mode=None,
)


@commands.callback(invoke_without_command=True)
def _options(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@commands.command(cls=OneOfEach, help=UP, short_help="A SuperLink and SuperNodes on this machine.")
def up(
    spec: SpecFile = None,
    nodes: Nodes = None,
    arm: ArmLabel = None,
    seed: SeedOfSpec = None,
    override: Override = None,
    data: Data = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Play one arm of a spec on a real Flower deployment of this machine."""
    from ehfl.flower import run_up
    from ehfl.report import check_place

    read, run = _read(spec, nodes, arm, seed, override or (), data, runs)
    folder = runs / read.name
    check_place(folder)
    metric_name = _checked(run)
    try:
        label, unit = f"{run.arm.label} seed {run.seed}", run.setting.fleet.unit
        with own_prints_aside(), live_nodes(label, metric_name, unit) as show:
            outcome = run_up(read, run, runs, show)
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from here", err=True)
        raise
    if outcome.error:
        typer.echo(f"ehfl: error: {outcome.arm} seed {outcome.seed} failed: {outcome.error}", err=True)
        raise typer.Exit(1)
    again = _again(spec, nodes, arm, seed, override or (), data, runs)
    show_outcomes(read, folder, [outcome], again, as_json)


@commands.command("app", cls=OneOfEach, help=APP, short_help="A Flower App project for your own SuperLink.")
def write(
    folder: Annotated[Path, Argument(metavar="DIR", parser=path, help="Where to write it.", show_default=False)],
    spec: SpecFile = None,
    nodes: Nodes = None,
    arm: ArmLabel = None,
    seed: SeedOfSpec = None,
    override: Override = None,
    data: Data = None,
    runs: Annotated[
        Path, Option(metavar="FOLDER", parser=path, help="Where the server keeps its runs, on its machine.")
    ] = RUNS,
) -> None:
    """Write a Flower App project that plays one arm of a spec."""
    from ehfl.flower import write_app

    check_folder("DIR", folder)
    read, run = _read(spec, nodes, arm, seed, override or (), data, runs)
    with named_by_option({"folder": "DIR"}):
        write_app(folder, read, runs, arm=run.arm.label, seed=run.seed)
    say_where("app", folder, err=False)


def _read(
    spec: Path | None, nodes: int | None, arm: str | None, seed: int | None, override: Sequence[str],
    data: Path | None, runs: Path,
) -> tuple[Spec, Run]:  # fmt: skip
    """Return the spec with as many clients as there are nodes, and the run of it that is played on Flower."""
    from ehfl.flower.installed import check_installed

    check_installed()
    check_folder("--runs", runs)
    from ehfl.experiment import read_spec
    from ehfl.flower import for_flower, one_run

    overrides = [*override, *([f"learning.data={json.dumps(str(data))}"] if data else ())]
    names = ({"learning.data": "--data"} if data else {}) | ({} if nodes is None else {"fleet.clients": "--nodes"})
    with named_by_option(names | {"arm": "--arm", "seed": "--seed"}), own_prints_aside():
        (told,) = one_run(read_spec(spec, overrides), arm, seed).runs()
        read = read_spec(spec, [*overrides, *([] if nodes is None else [f"fleet.clients={nodes}"])])
        (run,) = for_flower(one_run(read, arm, seed)).runs()
        read = for_flower(read)
    clients = run.setting.fleet.clients
    if nodes is not None and clients != nodes:
        raise InvalidValue("--nodes", f"{clients}, as the arm itself says", nodes)
    if clients != told.setting.fleet.clients:
        others = told.setting.fleet.clients
        typer.echo(f"a node is a client: the fleet has {clients} here, not the {others} that the spec says", err=True)
    return read, run


@own_prints_aside()
def _checked(run: Run) -> str:
    """Refuse what could not be played before anything is started; return what the model is judged by."""
    from ehfl.experiment import check_comparison, check_schedulers
    from ehfl.experiment.execution import loaded_task

    check_comparison(run.spec)
    check_schedulers([run])
    return loaded_task(run.setting)[0].metric.name


def _again(
    spec: Path | None, nodes: int | None, arm: str | None, seed: int | None, override: Sequence[str],
    data: Path | None, runs: Path,
) -> str:  # fmt: skip
    """Return the command that does it all again."""
    options = {"--nodes": nodes, "--arm": arm, "--seed": seed, "--data": data, "--runs": None if runs == RUNS else runs}
    given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    changes = [word for text in override for word in ("-o", text)]
    return shlex.join(["ehfl", "flower", "up", *([str(spec)] if spec else []), *given, *changes])
