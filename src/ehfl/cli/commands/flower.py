"""`ehfl flower`: the same scheduler on Flower's devices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ehfl.cli.live import battery_scale, live, live_nodes
from ehfl.cli.options import RUNS, AsJson, Given, Runs, SpecOrDefaults, command, named_by_option
from ehfl.cli.output import check_folder, resumable, say, say_failed, say_where, show_outcomes
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import path, whole
from ehfl.extras import check_extra
from ehfl.validation import InvalidValue, whole_number

if TYPE_CHECKING:
    from ehfl.experiment import Run, Spec

HELP = "The same scheduler on Flower's devices: simulated, on this machine, or on your own SuperLink."
SHORT_HELP = "The same on Flower's devices."
MAX_NODES = 1000  # processes that a machine could be asked for
# Flower offers no authentication for the control API in its open version.
OPEN = "while this runs, any user of this machine can run code as you: the SuperLink takes apps without a password"

Nodes = Annotated[
    int | None, Option("--nodes", "-n", metavar="N", parser=whole, help="Nodes, one a client [the spec's clients].")
]
ArmLabel = Annotated[str | None, Option("--arm", metavar="LABEL", help="Which arm of the spec [the first].")]
SeedOfSpec = Annotated[
    int | None, Option("--seed", metavar="SEED", parser=whole, help="Seed of the run [the spec's first].")
]


@command("A SuperLink and SuperNodes on this machine.", "data")
def up(
    given: Given,
    spec: SpecOrDefaults = None,
    nodes: Nodes = None,
    arm: ArmLabel = None,
    seed: SeedOfSpec = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    r"""Play one arm of a spec on a real Flower deployment of this machine: a SuperLink, and a SuperNode a client.

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
    read, run = _chosen(given)  # where Flower is not installed, this says so
    from ehfl.experiment.spec.build import fleet_of
    from ehfl.flower import run_up

    folder = runs / read.name
    metric_name = _checked(run)
    say(OPEN)
    label, scale = f"{run.arm.label} seed {run.seed}", battery_scale(fleet_of(run.setting))
    with resumable(), own_prints_aside(), live_nodes(label, metric_name, scale) as show:
        outcome = run_up(read, run, runs, show)
    if say_failed([outcome]):
        raise typer.Exit(1)
    show_outcomes(read, folder, [outcome], given.again(), as_json)


@command("Every arm and seed in Flower's simulation.", "data")
def simulate(
    given: Given,
    spec: SpecOrDefaults = None,
    nodes: Nodes = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    r"""Play every arm and seed of a spec in Flower's simulation: its messages, its nodes in processes of Ray's.

    For the same seed, participants and energies are those of ehfl compare, and models agree to rounding. Runs lie in
    RUNS/<name>-flower; stopped or killed, the same command goes on where it was. Step sizes must look at past rounds
    alone. Needs pip install 'ehfl[flower-simulation]'.

    \b
    Examples:
      ehfl flower simulate experiments/devices.toml
      ehfl flower simulate experiments/devices.toml -n 4 -o seeds=1 -o rounds=10
      ehfl flower simulate -o learning.step_size=nominal-causal -o seeds=1
    """
    from ehfl import flower

    check_extra("flower-simulation")
    read = flower.for_flower(_read(given))
    folder = runs / read.name
    totals = {arm.label: len(read.seeds) * arm.setting.rounds for arm in read.arms}
    with resumable(), own_prints_aside(), live(totals) as show:
        outcomes = flower.simulate(read, runs, on_look=show)
    show_outcomes(read, folder, outcomes, given.again(), as_json)


@command("A Flower App project for your own SuperLink.", "data")
def app(
    given: Given,
    folder: Annotated[Path, Argument(metavar="DIR", parser=path, help="Where to write it.")],
    spec: SpecOrDefaults = None,
    nodes: Nodes = None,
    arm: ArmLabel = None,
    seed: SeedOfSpec = None,
    runs: Annotated[
        Path, Option(metavar="FOLDER", parser=path, help="Where the server keeps its runs, on its machine.")
    ] = RUNS,
) -> None:
    r"""Write a Flower App project that plays one arm of a spec: what flwr run takes, on your own SuperLink too.

    DIR must be new or empty, or an app that was written before and not changed since. Its README.md says how to run it;
    classes of your own that the spec names come along. docs/deploy.md goes on with TLS, node keys and supervision.

    \b
    Examples:
      ehfl flower app solar --nodes 3 -o learning.step_size=nominal-causal
      ehfl flower app solar mine.toml --arm greedy --runs /srv/ehfl/runs
    """
    check_folder("DIR", folder)
    read, run = _chosen(given)
    from ehfl.flower import write_app

    with named_by_option({"folder": "DIR"}):
        write_app(folder, read, runs, arm=run.arm.label, seed=run.seed)
    say_where("app", folder, err=False)


def _chosen(given: Given) -> tuple[Spec, Run]:
    """Return the spec as it goes to Flower, and the one run of it that is played."""
    from ehfl import flower

    check_extra("flower")
    read = _read(given)
    with named_by_option({"arm": "--arm", "seed": "--seed"}):
        (run,) = flower.for_flower(flower.one_run(read, given["arm"], given["seed"])).runs()
        return flower.for_flower(read), run


def _read(given: Given) -> Spec:
    """Return the spec with as many clients as there are nodes; without a file, every key has its default."""
    check_folder("--runs", given["runs"])
    nodes, file = given["nodes"], given["spec"] or {}
    if nodes is None:
        with named_by_option(given.names):
            return given.spec(file)
    whole_number("--nodes", nodes, low=1, high=MAX_NODES)
    if any(text.split("=")[0].strip() == "fleet.clients" for text in given["override"] or ()):
        given.refuse(["nodes"], "where -o fleet.clients is given")
    with named_by_option(given.names | {"fleet.clients": "--nodes"}):
        read = given.spec(file, **{"fleet.clients": nodes})
    for arm in read.arms:
        if (clients := arm.setting.fleet.clients) != nodes:
            raise InvalidValue("--nodes", f"{clients}, as {arm.label} itself says", nodes)
    return read


@own_prints_aside()
def _checked(run: Run) -> str:
    """Refuse what could not be played before anything is started; return the name of the metric."""
    from ehfl.experiment import check_comparison, check_schedulers
    from ehfl.experiment.spec.build import load_task
    from ehfl.flower.local.up import check_room

    check_room(run)
    check_comparison(run.spec)
    check_schedulers([run])
    return load_task(run.setting)[0].metric.name
