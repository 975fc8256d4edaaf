"""`Training`: local SGD along a participation, from the first round to the last, through kills."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ehfl.arrays import IntArray
from ehfl.history import NAME, History, HistoryFile, Record, rewind, rounds_digest
from ehfl.learning.aggregation import Aggregation
from ehfl.learning.checkpoint import Checkpoint, latest_checkpoint
from ehfl.learning.device import pick_device, thread_limit
from ehfl.learning.engine import Diverged, Engine
from ehfl.learning.evaluation import evaluate
from ehfl.learning.first_model import initial_model
from ehfl.learning.known_by import described
from ehfl.learning.local_sgd import LocalSgd, checked_steps, step_sizes
from ehfl.learning.tasks import Examples, Task
from ehfl.machine import check_time
from ehfl.partition import Partition
from ehfl.partition import deal as deal_targets
from ehfl.randomness import check_seed
from ehfl.run_folder import OtherRun
from ehfl.scheduling import Course, Lockstep, Participation, course_of, wants_losses
from ehfl.theory import StepSize
from ehfl.validation import InvalidValue, whole_number

OnRound = Callable[[Record], None]


class Training:
    """A run that is ready to start: data dealt out, first model made, step sizes checked."""

    def __init__(
        self,
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
        identity: Mapping[str, Any] | None = None,
    ) -> None:
        """Prepare the run; `identity` is what a checkpoint is known by, unless what is given here is enough."""
        self._task, self._played, seed = task, played, check_seed(seed)
        self._eval_every = whole_number("eval_every", eval_every, low=1)
        self._device = pick_device(device)
        # Asked round by round, because a scheduler in lockstep decides a round only after the one before.
        self._course: Course = course_of(played)
        turns = played.offsets[-1] if isinstance(played, Participation) else played.rounds
        check_time("local_steps", rule.local_steps, rule.seconds(int(turns)))
        self._step_size = step_size
        # Where participation is known, all step sizes are too: some rules look at later rounds of their window.
        self._etas = step_sizes(step_size, played) if isinstance(played, Participation) else None
        if isinstance(played, Lockstep) and not getattr(step_size, "causal", False):
            allowed = (
                "one that looks at past rounds alone, such as nominal-causal, since participants are not yet known"
            )
            raise InvalidValue("step_size", allowed, repr(step_size))
        parts = deal(task, played.n_clients, partition, seed)
        model = initial_model(task, seed, self._device)
        self._engine = Engine(task, model, parts, rule, aggregation, seed=seed, device=self._device)
        self._test = Examples(task.test.inputs.to(self._device), task.test.targets.to(self._device))
        # Losses of each client are kept only where a resumed run needs them to decide again as it did.
        self._keeps_losses = isinstance(played, Lockstep) and wants_losses(played.scheduler)
        self._identity = identity

    @property
    def n_parameters(self) -> int:
        """How many weights the model has."""
        return self._engine.model.weights.numel()

    def run(
        self,
        threads: int,
        folder: Path | None = None,
        *,
        checkpoint_every: int = 10,
        on_round: OnRound | None = None,
    ) -> History:
        """Play all rounds, or those that the folder lacks, on so many threads; no other process may be in it."""
        with thread_limit(threads):
            if folder is None:
                records = [_announced(record, on_round) for record in self._rounds([])]
            else:
                records = self._resumed(folder, checkpoint_every, on_round)
        weights = self._engine.model.weights.cpu().numpy().copy()
        return History(tuple(records), self._task.metric, weights, self._course.participation())

    def _resumed(self, folder: Path, checkpoint_every: int, on_round: OnRound | None) -> list[Record]:
        """Play the rounds that the folder lacks, and return all of them."""
        identity = self._identity
        if identity is None:  # only now, because it goes through all data
            known = described(self._engine, self._played, self._step_size, self._etas)
            identity = known | {"eval_every": self._eval_every}
        start = latest_checkpoint(folder, identity)
        if start is None:
            start = self._checkpoint(0, identity, rounds_digest(()))
            start.write(folder)  # so that a folder with rounds in it always says whose they are
        self._engine.model.load(start.model)
        self._engine.state = {name: torch.from_numpy(a).to(self._device) for name, a in start.state.items()}
        # Lines behind the checkpoint are of rounds that will be trained again, with the same result.
        records = rewind(folder / NAME, start.rounds, start.history)
        with HistoryFile(folder / NAME, records) as file:
            for record in self._rounds(list(records)):
                file.append(record)
                records.append(_announced(record, on_round))
                done = record.round + 1
                if done % checkpoint_every == 0 or done == self._played.rounds:
                    file.sync()  # a checkpoint must never know of rounds that the disk does not
                    self._checkpoint(done, identity, file.digest).write(folder)
        return records

    def _rounds(self, past: Sequence[Record]) -> Iterator[Record]:
        """Play the rounds that follow these; after each yield the model is x_{t+1}.

        What was decided in the past rounds is decided again, from the losses that were reported then: it costs no
        training, and a scheduler in lockstep is where it was when the run was killed.
        """
        counts = []  # n_t so far: what a causal rule may look at
        for record in past:
            counts.append(len(self._course.clients(record.round)))
            if counts[-1] != record.participants:  # a scheduler whose parameters no identity shows
                there = f"round {record.round} had {record.participants} participants and has {counts[-1]} now"
                raise OtherRun(f"the rounds so far belong to another run: {there}")
            self._course.report(record.round, record.losses or ())
        for t in range(len(past), self._played.rounds):
            clients = self._course.clients(t)
            counts.append(len(clients))
            record, losses = self._round(t, clients, self._eta(counts))
            # Before the yield, so that whoever reads the record sees a round that is over.
            self._course.report(t, losses)
            yield record

    def _eta(self, counts: Sequence[int]) -> float:
        """Return the step size of the last round that is counted."""
        if self._etas is not None:
            return float(self._etas[len(counts) - 1])
        return float(checked_steps(self._step_size(counts, self._played.rounds), len(counts))[-1])

    def _round(self, t: int, clients: IntArray, eta: float) -> tuple[Record, list[float]]:
        """Play round t; return its record, with evaluations where they are due, and each participant's loss."""
        start = time.perf_counter()
        scores = self._evaluated("first", rounds=0) if t == 0 else {}  # x_0, which curves begin with
        began = time.perf_counter()
        loss, losses = self._engine.train_round(t, clients, eta)
        seconds = time.perf_counter() - began
        if (t + 1) % self._eval_every == 0 or t + 1 == self._played.rounds:
            scores |= self._evaluated("test", rounds=t + 1)
        others = time.perf_counter() - start - seconds if scores else 0.0
        kept = tuple(losses) if self._keeps_losses else None
        return Record(t, len(clients), eta, loss, losses=kept, seconds=seconds, eval_seconds=others, **scores), losses

    def _evaluated(self, name: str, rounds: int) -> dict[str, Any]:
        """Return what the test set says of the model after so many rounds, as a record names it."""
        try:
            scores = evaluate(self._task, self._engine.model.module, self._test)
        except Diverged as error:
            remedy = "try a smaller step size or gradient clipping" if rounds else "look at the task's model and data"
            raise Diverged(f"{error} after {rounds} rounds: {remedy}") from error
        return {f"{name}_loss": scores.loss, f"{name}_metric": scores.metric}

    def _checkpoint(self, rounds: int, identity: Mapping[str, Any], history: str) -> Checkpoint:
        state = {name: value.cpu().numpy().copy() for name, value in self._engine.state.items()}
        return Checkpoint(rounds, self._engine.model.state(), identity, state, history)


def deal(task: Task, n_clients: int, partition: Partition, seed: int) -> list[IntArray]:
    """Return each client's example numbers; a deal that breaks the rules is refused."""
    return deal_targets(partition, task.training.targets.cpu().numpy(), n_clients, seed)


def _announced(record: Record, on_round: OnRound | None) -> Record:
    if on_round is not None:
        on_round(record)
    return record
