"""`train`: builds a run from the user's arguments and plays it, in memory or in a folder."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from ehfl.learning.aggregation import AGGREGATIONS
from ehfl.learning.aggregation.contract import Aggregation, wants_weights
from ehfl.learning.aggregation.weights import no_weights
from ehfl.learning.clients import InProcess, deal, has_steps
from ehfl.learning.engine.device import pick_device
from ehfl.learning.engine.engine import Engine
from ehfl.learning.engine.local_sgd import LocalSgd, step_sizes
from ehfl.learning.engine.stacked import ENGINES, stack_of
from ehfl.learning.engine.workers import Workers, pick_workers
from ehfl.learning.first_model import initial_model
from ehfl.learning.identity import described
from ehfl.learning.server import Server
from ehfl.learning.tasks import TASKS
from ehfl.learning.tasks.contract import Task
from ehfl.learning.training import CHECKPOINT_EVERY, OnRound, Training
from ehfl.partition import PARTITIONS, Partition
from ehfl.randomness import check_seed
from ehfl.runs import History, sole_use
from ehfl.scheduling import Lockstep, Participation, brings_weights, check_target
from ehfl.theory import StepSize, step_size_of
from ehfl.tracking import TrackedRun, Tracker, Tracking
from ehfl.validation import InvalidValue, whole_number


def train(
    task: Task | str,
    participation: Participation | Lockstep,
    *,
    local_steps: int = 5,
    batch_size: int = 50,
    clip: float | None = None,
    weight_decay: float = 0.0,
    local: str | Mapping[str, Any] | None = None,
    local_epochs: int | None = None,
    local_decay: float = 1.0,
    buffers: str = "mean",
    precision: str = "float32",
    step_size: str | float | Mapping[str, Any] | StepSize = "nominal",
    aggregation: str | Mapping[str, Any] | Aggregation = "mean",
    partition: str | Mapping[str, Any] | Partition = "iid",
    seed: int = 0,
    eval_every: int = 10,
    device: str = "auto",
    engine: str = "auto",
    workers: int | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    checkpoint_every: int = CHECKPOINT_EVERY,
    on_round: OnRound | None = None,
    track: str | Tracker | None = None,
) -> History:
    """Return the history of local SGD on the task, with the given participants of each round.

    `local` names an optimiser of torch.optim for the local steps, such as "sgd:momentum=0.9"; its state is new in every
    turn, and eta_t is its step, times `local_decay` after each step of the turn. With `local_epochs` a turn is that
    many passes over the client's examples, and `local_steps` is not used. Buffers that training changes, such as the
    running means of batch normalisation, are averaged, kept by each client ("local") or not changed ("frozen").

    With a `Lockstep` instead of a participation, the scheduler selects clients during training. `step_size`,
    `aggregation` and `partition` are names, tables of a name and parameters, or user objects; a number is a constant
    step size. The model is evaluated before the first round, after every `eval_every` rounds and after the last round.
    With `run_dir`, rounds are written to rounds.jsonl and the model to checkpoints; the same call resumes a killed run
    and ends with the same bits on the same machine and device, for any number of `workers` (default: one per core, one
    for a small model). Without `run_dir`, nothing is written. `engine="plain"` trains clients one by one, "stacked"
    trains small models of all participants as one batch (equal up to rounding), and "auto" selects by model size.
    `precision="bf16"` computes products of training steps in bfloat16, on processors that have instructions for it.
    `track` logs parameters and rounds: "tensorboard", "mlflow", "wandb", "trackio" or a tracker of your own.
    `on_round(record)` or `on_round(record, model)` is called after each round; it must not change the model, and ends
    the run by returning `ehfl.STOP`. A run in a folder is extended by a participation with more rounds.

    >>> from ehfl import AlwaysOn, Bernoulli, Fleet, simulate
    >>> mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(2), rounds=20)
    >>> history = train("quadratic", mains, step_size=0.1)
    >>> history.records[-1].test_loss < 0.3
    True
    """
    whole_number("checkpoint_every", checkpoint_every, low=1)
    made = TASKS.make(task)
    training = training_in_process(
        made,
        participation,
        rule=LocalSgd(
            local_steps, batch_size, clip, weight_decay, local, local_epochs, local_decay, buffers, precision
        ),
        step_size=step_size_of(step_size),
        aggregation=AGGREGATIONS.make(aggregation),
        partition=PARTITIONS.make(partition),
        seed=seed,
        eval_every=eval_every,
        device=device,
        engine=engine,
        workers=workers,
    )
    folder = None if run_dir is None else Path(run_dir)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    if track is None:
        return _run(training, folder, checkpoint_every, on_round)
    name = task if isinstance(task, str) else type(task).__name__
    parameters = {
        **{"task": name, "scheduler": str(participation.scheduler), "rounds": participation.rounds},
        **{"local_steps": local_steps, "batch_size": batch_size, "step_size": step_size, "aggregation": aggregation},
        **{"partition": partition, "seed": seed},
    }
    with closing(Tracking(track, folder or Path(), "ehfl", warnings.warn)) as tracking:
        run = TrackedRun(f"{name}-s{seed}", parameters, made.metric.name, folder)
        history = _run(training, folder, checkpoint_every, tracking.beside(run, on_round))
        tracking.complete(run, history.records)
        return history


def _run(training: Training, folder: Path | None, checkpoint_every: int, on_round: OnRound | None) -> History:
    with nullcontext() if folder is None else sole_use(folder):
        return training.run(folder, checkpoint_every=checkpoint_every, on_round=on_round)


def training_in_process(
    task: Task,
    played: Participation | Lockstep,
    *,
    rule: LocalSgd,
    step_size: StepSize,
    aggregation: Aggregation,
    partition: Partition,
    seed: int = 0,
    eval_every: int = 10,
    device: str = "auto",
    engine: str = "auto",
    workers: int | None = None,
    most_workers: int | None = None,
    identity: Callable[[int], Mapping[str, Any]] | None = None,
) -> Training:
    """Return a run that is ready to start: data partitioned, first model made, step sizes checked.

    `identity` identifies the run in its checkpoints; by default it is computed from the arguments.
    """
    if not isinstance(played, Participation | Lockstep):
        raise InvalidValue("participation", "a Participation, as simulate returned, or a Lockstep", repr(played))
    seed, place = check_seed(seed), pick_device(device)
    if engine not in ENGINES:
        raise InvalidValue("engine", f"one of {', '.join(ENGINES)}", engine)
    _check_weights(aggregation, played)
    _check_steps(rule, played)
    # With a known participation compute all step sizes now: some rules use later rounds of their window.
    etas = step_sizes(step_size, played) if isinstance(played, Participation) else None
    model = initial_model(task, seed, place, rule.buffers)
    examples = Engine(task, deal(task, played.n_clients, partition, seed), rule, place)
    examples.check_batches(model)
    server = Server(model, aggregation, played.n_clients, seed, buffers=rule.buffers)
    stack = stack_of(examples, model, participants_of(played), engine)
    trained = model.weights.numel() * (1 if stack is None else stack.depth)  # weights, by a worker at a time
    team = Workers(model, pick_workers(workers, trained, place, most_workers))

    def identity_of(rounds: int) -> Mapping[str, Any]:
        found = described(examples, server, aggregation, played, step_size, etas, rounds)
        return found | {"engine": engine, "eval_every": eval_every}

    return Training(
        task,
        server,
        InProcess(played, examples, team, stack),
        team,
        step_size=step_size,
        etas=etas,
        eval_every=eval_every,
        # Computed on demand, because it hashes all data.
        identity=identity or identity_of,
    )


def _check_weights(aggregation: Aggregation, played: Participation | Lockstep) -> None:
    """Raise an error if the aggregation needs the scheduler's weights and there are none."""
    there = brings_weights(played.scheduler) if isinstance(played, Lockstep) else played.weights is not None
    if wants_weights(aggregation) and not there:
        raise no_weights(aggregation, str(played.scheduler))


def participants_of(played: Participation | Lockstep) -> float:
    """Return the mean number of participants per round, or its best estimate before the run."""
    return (
        float(played.counts.mean()) if isinstance(played, Participation) else check_target(played.fleet, played.target)
    )


def _check_steps(rule: LocalSgd, played: Participation | Lockstep) -> None:
    """Raise an error if turns have more steps than `local_steps`."""
    if not has_steps(played):
        return
    if isinstance(played, Participation):
        most = int(played.steps.max(initial=1)) if played.steps is not None else 1
    else:
        most = played.fleet.steps or 1
    if rule.local_epochs is not None:
        allowed = f"left out where the scheduler chooses how many steps a turn has ({played.scheduler})"
        raise InvalidValue("local_epochs", allowed, rule.local_epochs)
    if most > rule.local_steps:
        raise InvalidValue("local_steps", f"at least the {most} steps that turns of the fleet have", rule.local_steps)
