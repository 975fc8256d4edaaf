"""`ehfl train`: one scheduler, one task, one run."""

from __future__ import annotations

import json
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ehfl.cli.live import progress
from ehfl.cli.options import FLEET, JOULES, AsJson, Given, Track, command, named_by_option
from ehfl.cli.output import check_folder, print_output, resumable, say
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import path, whole
from ehfl.validation import UserError, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ehfl.experiment import Run
    from ehfl.learning import Task
    from ehfl.report.tables.output import Output
    from ehfl.runs import Metric, Record, Traffic


@command(
    "One scheduler, one task, one run.",
    *(*FLEET, *JOULES, "target", "task", "data", "local_steps", "batch_size", "step_size", "partition"),
    *("aggregation", "clip", "weight_decay", "precision", "device"),
    scheduler="myopic",
    rounds=300,
    seed=0,
    eval_every=10,
)
def train(
    given: Given,
    workers: Annotated[
        int | None, Option(metavar="N", parser=whole, help="Clients trained at a time [one a core].")
    ] = None,
    run: Annotated[Path | None, Option(metavar="FOLDER", parser=path, help="Keep the run here; resumes.")] = None,
    track: Track = None,
    as_json: AsJson = False,
) -> None:
    r"""Train a task with local SGD on the participation of one scheduler.

    With --run, the run is kept in a folder like those of ehfl compare: interrupted, it goes on from there, and ehfl
    report reports it, alone or beside others.

    \b
    Examples:
      ehfl train
      ehfl train --scheduler greedy --rounds 300 -k 1 --step-size linear
      ehfl train --track mlflow
      ehfl train --partition dirichlet:0.3 --run runs/noniid
      ehfl train --scheduler power-of-choice --step-size nominal-causal
      ehfl train --task cifar10 --data ~/cifar --rounds 150 --run runs/cifar
    """
    from ehfl import user_code
    from ehfl.experiment import begin_process
    from ehfl.learning.tasks.contract import classes_of

    check_folder("--run", run)
    run = None if run is None else run.absolute()  # user code may change the working directory
    with named_by_option(given.names | {"name": "--run", "track": "--track"}):
        spec = given.spec({}, name=None if run is None else run.resolve().name)
        if len(spec.runs()) > 1:
            raise UserError(f"ehfl train is for a single run, and these are {len(spec.runs())}: use ehfl compare")
        begin_process()
        with nullcontext() if run is None else resumable(), user_code.held(spec.code):
            only = spec.runs()[0]
            trained, records, sent = _train(only, workers, run, track)
            metric, classes = trained.metric, classes_of(trained)
    if as_json:
        facts: dict[str, Any] = {"metric": metric.name} | ({"classes": list(classes)} if classes else {})
        typer.echo(json.dumps(facts | {"rounds": [record.facts() for record in records]} | _traffic(sent, records)))
    else:
        folder = "" if given["run"] is None else str(given["run"])
        print_output(_output(only, metric, classes, records, _traffic(sent, records), folder))


@own_prints_aside()
def _train(
    run: Run, workers: int | None, place: Path | None, track: str | None
) -> tuple[Task, Sequence[Record], Traffic | None]:
    """Return the task of the run, its rounds, and what a turn sent; of a finished folder, they are read."""
    from ehfl.experiment import check_comparison, check_schedulers, execute, inputs_of, run_training
    from ehfl.experiment.check import notes_on
    from ehfl.experiment.run.execute import Cores, check_extension
    from ehfl.experiment.spec.build import load_task
    from ehfl.learning.engine.workers import MOST_WORKERS, cores
    from ehfl.runs import RunFolder, Traffic, read_history
    from ehfl.tracking import TrackedRun, Tracking

    asked = None if workers is None else whole_number("--workers", workers, low=1, high=MOST_WORKERS)
    limit = Cores(cores(), asked)
    tracking = None if track is None else Tracking(track, place or Path(), "ehfl", say)
    data = check_comparison(run.spec)[run.arm.label]
    if place is not None:
        RunFolder(place).check_free_for(run.facts())
        check_extension(run, RunFolder(place))
    check_schedulers([run])
    for note in notes_on(run.spec):
        say(note)
    task = load_task(run.setting)[0]
    name, metric_name = run.setting.learning.task["name"], task.metric.name

    def detail(record: Record) -> str:
        return "" if record.test_metric is None else f"{metric_name} {record.test_metric:.4g}"

    with (
        progress(f"training {name}", run.setting.rounds, detail, "rounds") as advance,
        nullcontext() if tracking is None else closing(tracking),
    ):
        tracked = TrackedRun(run.folder_name if place is None else place.name, run.facts(), metric_name, place)
        on_round = advance if tracking is None else tracking.beside(tracked, advance)
        records: Sequence[Record]
        if place is None:
            history = run_training(run, limit, on_round=on_round)
            records, traffic = history.records, history.traffic
        else:
            folder = RunFolder(place)
            outcome = execute(run, folder, limit, inputs_of(run, data), on_round)
            if outcome.error:
                raise UserError(outcome.error)
            records, traffic = read_history(folder.rounds), Traffic.read(folder.meta())
        if tracking is not None:
            tracking.complete(tracked, records)
    return task, records, traffic


def _output(
    run: Run,
    metric: Metric,
    classes: Sequence[str],
    records: Sequence[Record],
    traffic: Mapping[str, float],
    folder: str,
) -> Output:
    """Return what is printed: at most eleven evaluations, from that of the first model to the last."""
    from ehfl.analysis.units import time_scale
    from ehfl.quantities import as_time
    from ehfl.report.tables.output import Output, number_column, table_of
    from ehfl.report.write import amount, counted, percent, value, with_unit
    from ehfl.runs import evaluations_of

    setting, evaluations = run.setting, evaluations_of(records)
    length = setting.fleet.round_length
    whole = (
        ""
        if length is None
        else f" of {as_time(length)} ({with_unit(time_scale(len(records) * length), len(records) * length)})"
    )
    epochs = setting.learning.local_epochs
    turn = f"K = {setting.learning.local_steps}" if epochs is None else counted(epochs, "local epoch")
    facts = [
        f"{setting.learning.task['name']}: {run.arm.label}, {counted(len(records), 'round')}{whole}, "
        f"{turn}, seed {run.seed}",
        f"{counted(setting.fleet.clients, 'client')}; "
        f"{sum(record.seconds + record.eval_seconds for record in records):.1f} s of training and evaluation",
    ]
    shown = dict.fromkeys((*evaluations[:: max(1, len(evaluations) // 10)], evaluations[-1]))
    rows = {counted(found.rounds, "round"): found for found in shown}
    factor, unit = (100, "[%]") if metric.is_share else (1, "")
    losses = number_column("test\nloss", {label: found.loss for label, found in rows.items()}, fine=True)
    values = number_column(f"{metric.name}\n{unit}", {label: found.metric for label, found in rows.items()}, factor)
    last, turns = evaluations[-1], sum(record.participants for record in records)
    worst = last.worst_class(classes)
    sent = (
        f"; {amount(traffic['downloaded'])} MB went to clients and {amount(traffic['uploaded'])} MB back"
        if traffic
        else ""
    )
    verdict = [
        f"The last model has a test {metric.name} of {value(metric, last.metric)}"
        + (f"; the worst class, {worst[0]}, {percent(worst[1])}." if worst else "."),
        f"Clients took part {turns:,} times; {counted(sum(not record.participants for record in records), 'round')} "
        f"without participants{sent}.",
    ]
    hint = (
        f"tables and figures: ehfl report {folder}" if folder else "keep the run, to resume and report it: --run FOLDER"
    )
    return Output(tuple(facts), table_of([losses, values], list(rows)), tuple(verdict), (), hint)


def _traffic(sent: Traffic | None, records: Sequence[Record]) -> dict[str, float]:
    """Return what all turns together sent [MB]; nothing where a folder of an older version does not say."""
    turns = sum(record.participants for record in records)
    return {} if sent is None else {"downloaded": sent.downloaded(turns), "uploaded": sent.uploaded(turns)}
