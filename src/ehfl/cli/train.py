"""`ehfl train`: one scheduler, one task, one run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ehfl.cli.options import AsJson, Capacity, Clients, Cost, Initial, Rate, Rounds, Seed, Target
from ehfl.cli.output import progress
from ehfl.cli.parsing import read_setting, whole

if TYPE_CHECKING:
    from ehfl.learning import History

# The \b in it keeps the lines that follow as they are.
HELP = """Train a task with local SGD on the participation of one scheduler.

With --run, rounds and checkpoints go to a folder, and a run that was interrupted goes on from there.

\b
Examples:
  ehfl train
  ehfl train --scheduler greedy --rounds 300 --local-steps 1 --step-size linear
  ehfl train --partition dirichlet:0.3 --run runs/noniid
  ehfl train --task cifar10 --data ~/cifar --rounds 150 --run runs/cifar
"""


def train(
    clients: Clients = None,
    rate: Rate = "0.5",
    capacity: Capacity = "inf",
    initial: Initial = 0,
    cost: Cost = 1,
    scheduler: Annotated[str, Option("--scheduler", "-s", metavar="NAME", help="As in ehfl simulate.")] = "myopic",
    target: Target = "auto",
    rounds: Rounds = 300,
    seed: Seed = 0,
    task: Annotated[
        str, Option(metavar="TASK", help="digits, cifar10, quadratic, wells or module:factory.")
    ] = "digits",
    data: Annotated[
        Path | None, Option(metavar="FOLDER", help="Where the task's data lie [$EHFL_DATA, else downloaded].")
    ] = None,
    local_steps: Annotated[
        int, Option("--local-steps", "-k", metavar="K", parser=whole, help="SGD steps a round.")
    ] = 5,
    batch_size: Annotated[int, Option(metavar="N", parser=whole, help="Examples a step.")] = 50,
    step_size: Annotated[
        str,
        Option(metavar="RULE", help="nominal, linear, constant, theorem, nominal-causal, linear-causal or a number."),
    ] = "nominal",
    partition: Annotated[
        str, Option(metavar="HOW", help="Who holds which data: iid, dirichlet:ALPHA or shards:N.")
    ] = "iid",
    weighted: Annotated[bool, Option("--weighted", help="Weigh the mean by the clients' data.")] = False,
    eval_every: Annotated[int, Option(metavar="N", parser=whole, help="Rounds between evaluations.")] = 10,
    device: Annotated[str, Option(metavar="NAME", help="auto, cpu, cuda or mps.")] = "auto",
    threads: Annotated[int | None, Option(metavar="N", parser=whole, help="Threads of torch.")] = None,
    run: Annotated[Path | None, Option(metavar="FOLDER", help="Keep rounds and checkpoints here; resumes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a task with local SGD on the participation of one scheduler."""
    from ehfl import simulate
    from ehfl.learning import load_task, make_partitioner
    from ehfl.learning import train as learn

    setting = read_setting(clients, rate, capacity, initial, cost, [scheduler], target)
    dealer = make_partitioner(partition)
    played = simulate(setting.fleet, setting.policies[scheduler], rounds, seed)
    with progress(f"training {task}", rounds) as advance:
        history = learn(
            load_task(task, data),
            played,
            local_steps=local_steps,
            batch_size=batch_size,
            step_size=_read_step_size(step_size),
            weighted=weighted,
            partition=dealer,
            seed=seed,
            eval_every=eval_every,
            device=device,
            threads=threads,
            run_dir=run,
            on_round=advance,
        )
    if as_json:
        typer.echo(json.dumps({"metric": history.metric_name, "rounds": [asdict(r) for r in history.records]}))
    else:
        _print_history(history)


def _read_step_size(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _print_history(history: History) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("round", "test loss", history.metric_name):
        table.add_column(name, justify="right")
    shown = history.evaluations[:: max(1, len(history.evaluations) // 10)]
    for record in dict.fromkeys((*shown, history.evaluations[-1])):
        table.add_row(f"{record.round + 1:,}", f"{record.test_loss:.4f}", f"{record.test_metric:.4f}")
    Console().print(table)
    seconds = sum(record.seconds + record.eval_seconds for record in history.records)
    empty = sum(record.participants == 0 for record in history.records)
    typer.echo(f"{len(history.records):,} rounds, {empty} of them empty, {seconds:.1f} s of training and evaluation")
