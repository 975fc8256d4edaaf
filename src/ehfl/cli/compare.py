"""`ehfl compare`: schedulers side by side on a task. The main job."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Option

from ehfl.cli.live import live
from ehfl.cli.options import RUNS, AsJson, Data, Full, Override, Runs, SpecFile, named_by_option, with_data
from ehfl.cli.outcomes import resumable, show_outcomes
from ehfl.cli.output import check_folder, say, say_if_planning_compiles
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import whole
from ehfl.validation import shown

# The \b in it keeps the lines that follow as they are.
HELP = """Train a task under several schedulers and seeds, and compare: a table, figures and a page.

SPEC is a TOML file (see experiments/ and docs/experiments.md); without one, the demo: two fleets on the bundled digits,
one whose clients are alike and one of sunny and shady clients with different digits. Where -o says something of fleet,
data or schedulers, the paper's schedulers take the demo's place. Arms meet the same weather for the same seed unless
they change it. Runs lie in RUNS/<name>; stopped or killed, the same command goes on where it was, and runs that are
finished are not run again.

\b
Examples:
  ehfl compare
  ehfl compare -o seeds=2 -o rounds=50 -o learning.local_steps=1 -o name=k1
  ehfl compare -o name=two -o "schedulers=['myopic', 'mine:Reserve:units=3']"
  ehfl compare experiments/paper.toml --data ~/cifar --jobs 2
  ehfl compare experiments/heterogeneous.toml --on ray

\b
Keys of a spec, for -o too; docs/experiments.md says what they mean:
  name, code, rounds, target, seeds, scheduler, schedulers or arms
  fleet.       clients, rate or harvest, capacity, initial, cost, unit;
               in joules round_length, quantum, efficiency, arrival,
               self_discharge, reserve, standby, step_cost
  learning.    task, data, local_steps, batch_size, step_size, partition,
               order, aggregation, clip, weight_decay, device
  evaluation.  every, goal
  flower.      deadline, pace, least_nodes, spare, norm_limit
"""


def local_or_ray(text: str) -> str:
    """Return where runs are run."""
    if text not in ("local", "ray"):
        raise typer.BadParameter(f"must be local or ray, got {shown(text)}")
    return text


def compare(
    spec: SpecFile = None,
    override: Override = None,
    data: Data = None,
    runs: Runs = RUNS,
    jobs: Annotated[
        int | None, Option("--jobs", "-j", metavar="N", parser=whole, help="Runs at a time [one a core].")
    ] = None,
    on: Annotated[
        Literal["local", "ray"],
        Option(
            metavar="local|ray", parser=local_or_ray, help="Where to run: this machine, or a Ray cluster (extra ray)."
        ),
    ] = "local",
    clairvoyant: Annotated[
        bool,
        Option("--clairvoyant", help="Show each arm's share of what any scheduler could have reached on its harvests."),
    ] = False,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    """Train a task under several schedulers and seeds, and compare."""
    from ehfl.experiment import begin_process, read_spec, run_all
    from ehfl.experiment.possible import check_possible
    from ehfl.report import check_place

    overrides, names = with_data(override, data)
    names["jobs"] = "--jobs"
    check_folder("--runs", runs)
    with named_by_option(names), own_prints_aside():
        read = read_spec(spec, overrides)
        if clairvoyant:
            check_possible(read)  # before runs that take long
            say_if_planning_compiles()
    folder = runs / read.name
    check_place(folder)
    totals = {arm.label: len(read.seeds) * arm.setting.rounds for arm in read.arms}
    begin_process()  # with a single job runs are run in this process
    with resumable(), named_by_option(names), own_prints_aside(), live(totals) as show:
        outcomes = run_all(read, folder, jobs=jobs, on=on, on_look=show, on_note=say)
    again = _again(spec, overrides, runs, clairvoyant=clairvoyant)
    show_outcomes(read, folder, outcomes, again, as_json, possible=clairvoyant, full=full)


def _again(spec: Path | None, overrides: Sequence[str], runs: Path, *, clairvoyant: bool) -> str:
    """Return the command that does it all again."""
    shares = ["--clairvoyant"] if clairvoyant else []
    place = [] if runs == RUNS else ["--runs", str(runs)]
    changes = [word for text in overrides for word in ("-o", text)]
    return shlex.join(["ehfl", "compare", *([str(spec)] if spec else []), *changes, *place, *shares])
