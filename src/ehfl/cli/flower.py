"""`ehfl flower`: the same scheduler on Flower's devices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ehfl.cli import flower_simulate
from ehfl.cli.flower_live import battery_scale, live_nodes
from ehfl.cli.flower_options import ArmLabel, Given, Nodes, SeedOfSpec
from ehfl.cli.options import RUNS, AsJson, Data, Override, Runs, SpecOrDefaults, named_by_option
from ehfl.cli.outcomes import resumable, say_failed, show_outcomes
from ehfl.cli.output import check_folder, say, say_where
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import OneOfEach, path

if TYPE_CHECKING:
    from ehfl.experiment import Run, Spec

# The \b in it keeps the lines that follow as they are.
UP = """Play one arm of a spec on a real Flower deployment of this machine: a SuperLink, and a SuperNode a client.

All of it listens on loopback alone, and ends with the command. While it runs, you see the round, and for each node
whether it is online, its battery, how often it took part and how often its work was lost. The run lies in
RUNS/<name>-flower, like those of ehfl compare; stopped or killed, the same command goes on where it was.

\b
Examples:
  ehfl flower up experiments/devices.toml --nodes 3
  ehfl flower up experiments/devices.toml --nodes 3 --arm greedy --seed 1
  ehfl flower up --nodes 3 -o rounds=10 -o learning.step_size=nominal-causal
  ehfl flower up mine.toml -o flower.deadline=30 --runs ~/runs
"""

# Flower offers no authentication for the control API in its open version.
OPEN = "while this runs, any user of this machine can run code as you: the SuperLink takes apps without a password"

APP = """Write a Flower App project that plays one arm of a spec: what flwr run takes, on your own SuperLink too.

DIR must be new or empty, or an app that was written before and not changed since. Its README.md says how to run it;
classes of your own that the spec names come along. docs/deploy.md goes on with TLS, node keys and supervision.

\b
Examples:
  ehfl flower app solar --nodes 3 -o learning.step_size=nominal-causal
  ehfl flower app solar mine.toml --arm greedy --runs /srv/ehfl/runs
"""

commands = typer.Typer(
    name="flower",
    help="The same scheduler on Flower's devices: simulated, on this machine, or on your own SuperLink.",
    short_help="The same on Flower's devices.",
    rich_markup_mode=None,
)


@commands.callback(invoke_without_command=True)
def _options(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@commands.command(cls=OneOfEach, help=UP, short_help="A SuperLink and SuperNodes on this machine.")
def up(
    spec: SpecOrDefaults = None,
    nodes: Nodes = None,
    arm: ArmLabel = None,
    seed: SeedOfSpec = None,
    override: Override = None,
    data: Data = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Play one arm of a spec on a real Flower deployment of this machine."""
    given = Given(spec, nodes, override or (), data, runs)
    read, run, notice = _chosen(given, arm, seed)  # where Flower is not installed, this says so
    from ehfl.experiment.building import fleet_of
    from ehfl.flower import run_up
    from ehfl.report import check_place

    folder = runs / read.name
    check_place(folder)
    metric_name = _checked(run)
    say(notice)
    say(OPEN)
    label, scale = f"{run.arm.label} seed {run.seed}", battery_scale(fleet_of(run.setting))
    with resumable(), own_prints_aside(), live_nodes(label, metric_name, scale) as show:
        outcome = run_up(read, run, runs, show)
    if say_failed([outcome]):
        raise typer.Exit(1)
    show_outcomes(read, folder, [outcome], given.again("up", arm, seed), as_json)


commands.command(cls=OneOfEach, help=flower_simulate.HELP, short_help="Every arm and seed in Flower's simulation.")(
    flower_simulate.simulate
)


@commands.command("app", cls=OneOfEach, help=APP, short_help="A Flower App project for your own SuperLink.")
def write(
    folder: Annotated[Path, Argument(metavar="DIR", parser=path, help="Where to write it.", show_default=False)],
    spec: SpecOrDefaults = None,
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
    check_folder("DIR", folder)
    read, run, notice = _chosen(Given(spec, nodes, override or (), data, runs), arm, seed)
    from ehfl.flower import write_app

    with named_by_option({"folder": "DIR"}):
        write_app(folder, read, runs, arm=run.arm.label, seed=run.seed)
    say(notice)
    say_where("app", folder, err=False)


def _chosen(given: Given, arm: str | None, seed: int | None) -> tuple[Spec, Run, str]:
    """Return the spec as it goes to Flower, the one run of it that is played, and what to say of its clients."""
    from ehfl import flower

    flower.check_installed()
    read, notice = given.read()
    with named_by_option({"arm": "--arm", "seed": "--seed"}):
        (run,) = flower.for_flower(flower.one_run(read, arm, seed)).runs()
        return flower.for_flower(read), run, notice


@own_prints_aside()
def _checked(run: Run) -> str:
    """Refuse what could not be played before anything is started; return what the model is judged by."""
    from ehfl.experiment import check_comparison, check_schedulers
    from ehfl.experiment.execution import loaded_task
    from ehfl.flower.up import check_room

    check_room(run)
    check_comparison(run.spec)
    check_schedulers([run])
    return loaded_task(run.setting)[0].metric.name
