"""`ehfl train`: one scheduler, one task, one run."""

from __future__ import annotations

import json
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ehfl.cli.options import (
    AsJson,
    Capacity,
    Clients,
    Cost,
    Data,
    HarvestOption,
    Initial,
    Override,
    Rate,
    RoundLength,
    Rounds,
    Seed,
    Target,
    named_by_option,
    names_in,
    spec_of,
)
from ehfl.cli.outcomes import resumable
from ehfl.cli.output import check_folder, progress, say
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import number, path, whole
from ehfl.validation import UserError, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ehfl.experiment import Run
    from ehfl.history import Metric, Record, Traffic
    from ehfl.learning import Task


# The \b in it keeps the lines that follow as they are.
HELP = """Train a task with local SGD on the participation of one scheduler.

With --run, the run is kept in a folder like those of ehfl compare: interrupted, it goes on from there, and ehfl report
reports it, alone or beside others.

\b
Examples:
  ehfl train
  ehfl train --scheduler greedy --rounds 300 -k 1 --step-size linear
  ehfl train --partition dirichlet:0.3 --run runs/noniid
  ehfl train --scheduler power-of-choice --step-size nominal-causal
  ehfl train --task cifar10 --data ~/cifar --rounds 150 --run runs/cifar
"""


def train(
    context: typer.Context,
    clients: Clients = None,
    rate: Rate = None,
    harvest: HarvestOption = None,
    capacity: Capacity = None,
    initial: Initial = None,
    cost: Cost = None,
    round_length: RoundLength = None,
    scheduler: Annotated[str, Option("--scheduler", "-s", metavar="NAME", help="As in ehfl simulate.")] = "myopic",
    target: Target = None,
    rounds: Rounds = 300,
    seed: Seed = 0,
    task: Annotated[
        str | None, Option(metavar="TASK", help="digits, cifar10, quadratic, wells or module:Class [digits].")
    ] = None,
    data: Data = None,
    local_steps: Annotated[
        int | None, Option("--local-steps", "-k", metavar="K", parser=whole, help="SGD steps a round [5].")
    ] = None,
    batch_size: Annotated[int | None, Option(metavar="N", parser=whole, help="Examples a step [50].")] = None,
    step_size: Annotated[
        str | None,
        Option(metavar="RULE", help="nominal, linear, constant:0.1, theorem, ... or a number [nominal]."),
    ] = None,
    partition: Annotated[
        str | None,
        Option(metavar="HOW", help="Who holds which data: iid, dirichlet:ALPHA, shards:N or module:Class [iid]."),
    ] = None,
    aggregation: Annotated[
        str | None,
        Option(metavar="NAME", help="What the server makes of models: mean, fedau, mifa, ... or module:Class [mean]."),
    ] = None,
    clip: Annotated[float | None, Option(metavar="NORM", parser=number, help="The longest gradient [none].")] = None,
    weight_decay: Annotated[
        float | None, Option(metavar="X", parser=number, help="Adds X times the weights to gradients [0].")
    ] = None,
    eval_every: Annotated[int, Option(metavar="N", parser=whole, help="Rounds between evaluations.")] = 10,
    device: Annotated[str | None, Option(metavar="NAME", help="auto, cpu, cuda or mps [auto].")] = None,
    threads: Annotated[int | None, Option(metavar="N", parser=whole, help="Threads of torch.")] = None,
    override: Override = None,
    run: Annotated[Path | None, Option(metavar="FOLDER", parser=path, help="Keep the run here; resumes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a task with local SGD on the participation of one scheduler."""
    from ehfl import own_code
    from ehfl.experiment import begin_process
    from ehfl.learning.tasks import classes_of

    if run is not None:
        check_folder("--run", run)
        run = run.absolute()  # user code may change the working directory
    with named_by_option(names_in(context) | {"name": "--run"}):
        spec = spec_of(context, name=None if run is None else run.resolve().name)
        if len(spec.runs()) > 1:
            raise UserError(f"ehfl train is for a single run, and these are {len(spec.runs())}: use ehfl compare")
        begin_process()
        with nullcontext() if run is None else resumable(), own_code.held(spec.code):
            only = spec.runs()[0]
            trained, records, sent = _train(only, threads, run)
            metric, classes = trained.metric, classes_of(trained)
    if as_json:
        facts: dict[str, Any] = {"metric": metric.name} | ({"classes": list(classes)} if classes else {})
        typer.echo(json.dumps(facts | {"rounds": [record.facts() for record in records]} | _traffic(sent, records)))
    else:
        _print_history(metric, classes, records, only.setting.fleet.round_length)
        _print_traffic(sent, records)


@own_prints_aside()
def _train(run: Run, threads: int | None, place: Path | None) -> tuple[Task, Sequence[Record], Traffic | None]:
    """Return the task of the run, its rounds, and what a turn sent; of a finished folder, they are read."""
    import torch

    from ehfl.experiment import check_comparison, check_schedulers, execute, inputs_of, run_training
    from ehfl.experiment.execution import Threads, loaded_task
    from ehfl.experiment.notes import notes_on
    from ehfl.history import Traffic, read_history
    from ehfl.learning.device import MOST_THREADS
    from ehfl.run_folder import RunFolder

    limit = Threads(torch.get_num_threads())
    if threads is not None:
        limit = Threads(whole_number("--threads", threads, low=1, high=MOST_THREADS), exactly=True)
    data = check_comparison(run.spec)[run.arm.label]
    if place is not None:
        RunFolder(place).check_free_for(run.facts())
    check_schedulers([run])
    for note in notes_on(run.spec):
        say(note)
    task = loaded_task(run.setting)[0]
    detail = partial(_detail, task.metric.name)
    with progress(f"training {run.setting.learning.task['name']}", run.setting.rounds, detail) as advance:
        if place is None:
            history = run_training(run, limit, on_round=advance)
            return task, history.records, history.traffic
        folder = RunFolder(place)
        outcome = execute(run, folder, limit, inputs_of(run, data), advance)
    if outcome.error:
        raise UserError(outcome.error)
    return task, read_history(folder.rounds), Traffic.read(folder.meta())


def _detail(metric_name: str, record: Record) -> str:
    """Return what a round brought, empty where its model was not evaluated."""
    return "" if record.test_metric is None else f"{metric_name} {record.test_metric:.4g}"


def _print_history(
    metric: Metric, classes: Sequence[str], records: Sequence[Record], round_length: float | None
) -> None:
    from rich.console import Console
    from rich.table import Table

    from ehfl.analysis.clock import clock_of
    from ehfl.analysis.numbers import percent
    from ehfl.history import evaluations_of

    table = Table(box=None, pad_edge=False)
    for name in ("rounds", "test loss", metric.name):
        table.add_column(name, justify="right")
    evaluations = evaluations_of(records)
    shown = evaluations[:: max(1, len(evaluations) // 10)]
    for found in dict.fromkeys((*shown, evaluations[-1])):
        table.add_row(f"{found.rounds:,}", f"{found.loss:.4g}", f"{found.metric:.4g}")
    Console().print(table)
    seconds = sum(record.seconds + record.eval_seconds for record in records)
    empty = sum(record.participants == 0 for record in records)
    if worst := evaluations[-1].worst_class(classes):
        typer.echo(f"worst class: {worst[0]}, right in {percent(worst[1])} of its cases")
    length = clock_of({"run": round_length}, {"run": len(records)}).after("run", len(records))
    typer.echo(f"{len(records):,} rounds{length}, {empty} of them empty, {seconds:.1f} s of training and evaluation")


def _traffic(sent: Traffic | None, records: Sequence[Record]) -> dict[str, float]:
    """Return what all turns together sent [MB]; nothing where a folder of an older version does not say."""
    turns = sum(record.participants for record in records)
    return {} if sent is None else {"downloaded": sent.downloaded(turns), "uploaded": sent.uploaded(turns)}


def _print_traffic(sent: Traffic | None, records: Sequence[Record]) -> None:
    from ehfl.analysis.numbers import amount

    if sent is not None:
        way = {name: f"{amount(size)} MB" for name, size in _traffic(sent, records).items()}
        turns = sum(record.participants for record in records)
        typer.echo(f"{turns:,} turns of clients: {way['downloaded']} to them and {way['uploaded']} back")
