"""`train`: local SGD along a participation, from the first round to the last, through kills."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ehfl.energy.harvest import IntArray
from ehfl.files import sole_use
from ehfl.history import History, HistoryFile, Record, rewind
from ehfl.learning.checkpoint import Checkpoint, Settings, latest_checkpoint
from ehfl.learning.device import keep_freed_memory, pick_device, pick_threads, thread_limit
from ehfl.learning.engine import Engine
from ehfl.learning.evaluation import evaluate
from ehfl.learning.flat import FlatModel
from ehfl.learning.initialisation import check_model
from ehfl.learning.local_sgd import LocalSgd
from ehfl.learning.task import Examples, Task
from ehfl.partition import IidPartitioner, Partitioner
from ehfl.randomness import Purpose, check_seed, generator
from ehfl.scheduling import Participation
from ehfl.theory import StepSize, make_step_size
from ehfl.validation import InvalidValue, whole_number


def train(
    task: Task,
    participation: Participation,
    *,
    local_steps: int = 5,
    batch_size: int = 50,
    step_size: str | float | StepSize = "nominal",
    weighted: bool = False,
    clip: float | None = None,
    weight_decay: float = 0.0,
    partition: Partitioner | None = None,
    seed: int = 0,
    eval_every: int = 10,
    device: str = "auto",
    threads: int | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    on_round: Callable[[Record], None] | None = None,
) -> History:
    """Return the history of local SGD on the task, with the participants of each round as given.

    `step_size` is a rule's name, a number (constant) or a function of the counts. The model is evaluated after every
    `eval_every` rounds and after the last. With a `run_dir`, rounds go to rounds.jsonl and the model to checkpoints; a
    run that was killed goes on from there when called again, and ends with the same bits on the same machine, device
    and number of threads. Without one, nothing is written.

    >>> from ehfl import AlwaysOn, Bernoulli, Fleet, simulate
    >>> from ehfl.learning import load_task
    >>> mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(2), rounds=20)
    >>> history = train(load_task("quadratic"), mains, step_size=0.1)
    >>> history.records[-1].test_loss < 0.3
    True
    """
    rule = LocalSgd(local_steps, batch_size, weighted, clip, weight_decay)
    eval_every = whole_number("eval_every", eval_every, low=1)
    checkpoint_every = whole_number("checkpoint_every", checkpoint_every, low=1)
    place = pick_device(device)
    keep_freed_memory()
    parts = deal(task, participation.n_clients, partition or IidPartitioner(), check_seed(seed))
    etas = step_sizes(step_size, participation)
    model = initial_model(task, seed, place)
    with thread_limit(pick_threads(threads, model.weights.numel())):
        engine = Engine(task, model, parts, rule, seed=seed, device=place)
        run = _Run(task, participation, etas, engine, eval_every)
        if run_dir is None:
            records = [_told(record, on_round) for record in run.rounds(0)]
        else:
            folder = Path(run_dir)
            folder.mkdir(parents=True, exist_ok=True)
            with sole_use(folder):
                records = _recorded(run, folder, checkpoint_every, on_round)
    return History(tuple(records), task.metric_name, model.weights.cpu().numpy().copy())


def deal(task: Task, n_clients: int, partitioner: Partitioner, seed: int) -> list[IntArray]:
    """Return each client's example numbers."""
    return partitioner.partition(task.training.targets.cpu().numpy(), n_clients, seed)


def step_sizes(rule: str | float | StepSize, participation: Participation) -> NDArray[np.float64]:
    """Return eta_t, shape (n_rounds,), from a rule's name, a number or a function of the counts."""
    if isinstance(rule, str):
        rule = make_step_size(rule)
    elif isinstance(rule, int | float):
        rule = make_step_size("constant", value=rule)
    etas = np.asarray(rule(participation.counts), dtype=np.float64)
    if etas.shape != (participation.rounds,) or not np.isfinite(etas).all():
        raise InvalidValue("step_size", f"finite, one a round ({participation.rounds})", f"shape {etas.shape}")
    return etas


def initial_model(task: Task, seed: int, device: torch.device) -> FlatModel:
    """Return x_0, a pure function of task and seed."""
    module = task.model(generator(seed, Purpose.INIT))
    check_model(module)
    return FlatModel(module, device)


@dataclass(frozen=True, eq=False, slots=True)
class _Run:
    task: Task
    participation: Participation
    etas: NDArray[np.float64]  # (n_rounds,)
    engine: Engine
    eval_every: int

    def rounds(self, start: int) -> Iterator[Record]:
        """Play the rounds from `start` on; after each yield the model is x_{t+1}."""
        place = self.engine.training.inputs.device
        test = Examples(self.task.test.inputs.to(place), self.task.test.targets.to(place))
        for t in range(start, self.participation.rounds):
            clients, eta = self.participation.clients(t), float(self.etas[t])
            began = time.perf_counter()
            loss = self.engine.play(t, clients, eta)
            trained = time.perf_counter()
            record = Record(t, len(clients), eta, loss, seconds=trained - began)
            if (t + 1) % self.eval_every == 0 or t + 1 == self.participation.rounds:
                test_loss, metric = evaluate(self.task, self.engine.model.module, test)
                took = time.perf_counter() - trained
                record = replace(record, test_loss=test_loss, test_metric=metric, eval_seconds=took)
            yield record

    def checkpoint(self, rounds: int) -> Checkpoint:
        return Checkpoint(rounds, self.engine.model.weights.cpu().numpy().copy(), self.settings())

    def settings(self) -> Settings:
        """Return what makes this run this run; a checkpoint of another is refused."""
        return {
            "task": self.task.name,
            "examples": len(self.engine.training),
            "parameters": self.engine.model.weights.numel(),
            **asdict(self.engine.rule),
            "seed": self.engine.seed,
            "eval_every": self.eval_every,
            "rounds": self.participation.rounds,
            "clients": self.participation.n_clients,
            "device": self.engine.training.inputs.device.type,
            "participation": _digest([self.participation.offsets, self.participation.indices]),
            "step_sizes": _digest([self.etas]),
            "partition": _digest(self.engine.parts),
        }


def _digest(arrays: Sequence[NDArray[np.generic]]) -> str:
    """Return a short fingerprint of arrays and their lengths."""
    digest = hashlib.sha256()
    for array in arrays:
        wide = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        digest.update(f"{array.size}:".encode() + wide.tobytes())
    return digest.hexdigest()[:16]


def _told(record: Record, on_round: Callable[[Record], None] | None) -> Record:
    if on_round is not None:
        on_round(record)
    return record


def _recorded(
    run: _Run, folder: Path, checkpoint_every: int, on_round: Callable[[Record], None] | None
) -> list[Record]:
    """Play the rounds that the folder lacks, and return all of them; no other process may be at it."""
    start = latest_checkpoint(folder, run.settings())
    if start is None:
        start = run.checkpoint(0)
        start.write(folder)  # so that a folder with rounds in it always says whose they are
    with torch.no_grad():
        run.engine.model.weights.copy_(torch.from_numpy(start.weights))
    path = folder / "rounds.jsonl"
    records = rewind(path, start.rounds)
    with ExitStack() as stack:
        file = stack.enter_context(HistoryFile(path))
        for record in run.rounds(start.rounds):
            file.append(record)
            records.append(_told(record, on_round))
            done = record.round + 1
            if done % checkpoint_every == 0 or done == run.participation.rounds:
                file.sync()
                run.checkpoint(done).write(folder)
    return records
