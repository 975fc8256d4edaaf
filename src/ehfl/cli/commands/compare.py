"""`ehfl compare`: schedulers side by side on a task. The main job."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from typer import Option

from ehfl.cli.live import live
from ehfl.cli.options import (
    RUNS,
    AsJson,
    Clairvoyant,
    Full,
    Given,
    Runs,
    SpecFile,
    Sweep,
    Track,
    command,
    named_by_option,
)
from ehfl.cli.output import check_folder, resumable, say, say_if_planning_compiles, show_outcomes
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import whole


@command("Schedulers side by side on a task: the main job.", "data")
def compare(
    given: Given,
    spec: SpecFile = None,
    sweep: Sweep = None,
    runs: Runs = RUNS,
    jobs: Annotated[
        int | None, Option("--jobs", "-j", metavar="N", parser=whole, help="Runs at a time [one a core].")
    ] = None,
    workers: Annotated[
        int | None,
        Option(metavar="N", parser=whole, help="Clients trained at a time in each run [its share of the cores]."),
    ] = None,
    on: Annotated[
        Literal["local", "ray"],
        Option(metavar="local|ray", parser=str, help="Where to run: this machine, or a Ray cluster (extra ray)."),
    ] = "local",
    track: Track = None,
    clairvoyant: Clairvoyant = False,
    show_demo: Annotated[
        bool, Option("--show-demo", help="Print the demo's spec, to copy and change, and stop.")
    ] = False,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    r"""Train a task under several schedulers and seeds, and compare: a table, figures and a page.

    SPEC is a TOML file (see experiments/ and docs/experiments.md); without one, the demo: two fleets on the bundled
    digits, one whose clients are alike and one of sunny and shady clients with different digits (--show-demo prints
    it). Where -o changes fleet, data or schedulers, the paper's schedulers take the place of the demo's arms. Arms meet
    the same weather for the same seed unless they change it. Runs lie in RUNS/<name>; stopped or killed, the same
    command goes on where it was, and finished runs are not run again.

    \b
    Examples:
      ehfl compare
      ehfl compare -o seeds=2 -o rounds=50 -o learning.local_steps=1 -o name=k1
      ehfl compare -o name=sizes --sweep fleet.capacity=1,2,5,10
      ehfl compare -o name=two -o "schedulers=['myopic', 'mine:Reserve:units=3']"
      ehfl compare -o seeds=2 --track tensorboard
      ehfl compare experiments/paper.toml --data ~/cifar --jobs 2
      ehfl compare experiments/heterogeneous.toml --on ray
      ehfl compare --show-demo > mine.toml

    \b
    Keys of a spec, for -o too; docs/experiments.md says what they mean:
      name, code, rounds, target, seeds, scheduler, schedulers or arms,
      sweep
      fleet.       clients, rate or harvest, capacity, initial, cost, unit;
                   in joules round_length, quantum, efficiency, arrival,
                   self_discharge, reserve, health, standby, step_cost
      learning.    task, data, local_steps, batch_size, step_size, partition,
                   order, aggregation, clip, weight_decay, precision, device,
                   local, local_epochs, local_decay, buffers
      evaluation.  every, goal
      flower.      deadline, pace, least_nodes, spare, norm_limit
    """
    if show_demo:
        given.refuse(given.context.params.keys() - {"show_demo"}, "with --show-demo")
        from ehfl.experiment.spec.read import demo_text

        typer.echo(demo_text(), nl=False)
        return
    from ehfl.experiment import begin_process, run_all
    from ehfl.experiment.play import check_best
    from ehfl.report.folder import PAGE
    from ehfl.tracking import Tracking

    check_folder("--runs", runs)
    names = given.names | {"jobs": "--jobs", "workers": "--workers", "on": "--on", "track": "--track"}
    with named_by_option(names), own_prints_aside():
        read = given.spec(spec)
        if clairvoyant:
            check_best(read)  # before runs that take long
            say_if_planning_compiles()
    folder = runs / read.name
    with named_by_option(names):
        tracking = None if track is None else Tracking(track, folder, read.name, say)
    totals = {arm.label: len(read.seeds) * arm.setting.rounds for arm in read.arms}
    begin_process()  # with a single job runs are run in this process
    with resumable(), named_by_option(names), own_prints_aside(), live(totals) as show:
        outcomes = run_all(
            read, folder, jobs=jobs, workers=workers, on=on, on_look=show, on_note=say, tracking=tracking
        )
    try:
        show_outcomes(read, folder, outcomes, given.again(), as_json, possible=clairvoyant, full=full)
    finally:
        if tracking is not None:
            with own_prints_aside():
                tracking.report(folder / PAGE, read.base.facts())
