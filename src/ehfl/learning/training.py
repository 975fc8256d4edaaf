"""`Training`: local SGD with a given participation, from the first round to the last, resumable after a kill."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ehfl.arrays import FloatArray
from ehfl.learning.aggregation.contract import State, Turns, traffic_of
from ehfl.learning.checkpoint import Checkpoint, latest_checkpoint
from ehfl.learning.clients import ClientSide
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.engine.local_sgd import checked_steps
from ehfl.learning.engine.workers import Workers
from ehfl.learning.evaluation import judged, outputs_in, right_by_client
from ehfl.learning.memory import (
    as_arrays,
    check_kept,
    check_room,
    delete_files,
    delete_unused,
    from_arrays,
    in_files,
    size_of,
    without_files,
)
from ehfl.learning.server import Diverged, Server
from ehfl.learning.tasks.contract import Task, classes_of
from ehfl.learning.tasks.examples import Batch
from ehfl.runs import ROUNDS, STOP, Accuracies, History, HistoryFile, OtherRun, Record, rewind, rounds_digest
from ehfl.theory import StepSize, check_causal
from ehfl.validation import UserError, at, whole_number, with_first

CHECKPOINT_EVERY = 10  # rounds, by default
OnRound = Callable[..., object]  # called after each round with its record and the model x_{t+1}


class Training:
    """A run that is ready to start."""

    def __init__(
        self,
        task: Task,
        server: Server,
        clients: ClientSide,
        workers: Workers,
        *,
        step_size: StepSize,
        etas: FloatArray | None = None,
        eval_every: int,
        identity: Callable[[int], Mapping[str, Any]],
    ) -> None:
        """Prepare the run.

        `etas` are the step sizes of all rounds if they are known in advance; `identity(n)` identifies the run in its
        checkpoints, as one of n rounds.
        """
        self._task, self._server, self._clients, self._workers = task, server, clients, workers
        self._step_size, self._etas = step_size, etas
        self._eval_every = whole_number("eval_every", eval_every, low=1)
        if etas is None:
            check_causal(step_size, "step_size", repr(step_size), "participants are not yet known")
        self._device = server.model.weights.device
        self._test = task.test.to(self._device)
        self._classes = classes_of(task)
        with at("aggregation"):
            self._traffic = traffic_of(server.aggregation, server.model.sent)
        self._identity = identity
        # States of the last two checkpoints: their files stay, so that a damaged checkpoint has a predecessor.
        self._checkpointed: deque[State] = deque(maxlen=2)

    @property
    def n_parameters(self) -> int:
        """The number of the model's weights."""
        return self._server.model.weights.numel()

    def run(
        self,
        folder: Path | None = None,
        *,
        checkpoint_every: int = CHECKPOINT_EVERY,
        on_round: OnRound | None = None,
    ) -> History:
        """Play all rounds, or those missing in the folder; no other process may use the folder.

        `on_round` is called with each new record, and with the model too if it takes two arguments.
        """
        on_round = on_round and with_first(on_round, most=2)
        check_room(self._server.aggregation, size_of(self._server.state), folder)
        with self._workers.running():
            if folder is None:
                records = []
                for record in self._rounds([]):
                    records.append(record)
                    if self._stopped(record, on_round):
                        break
            else:
                records = self._resumed(folder, checkpoint_every, on_round)
        weights = self._server.model.weights.cpu().numpy().copy()
        played = self._clients.participation()
        return History(
            tuple(records), self._task.metric, weights, played, self._classes, self._clients.labels, self._traffic
        )

    def _resumed(self, folder: Path, checkpoint_every: int, on_round: OnRound | None) -> list[Record]:
        """Play the rounds missing in the folder, and return all of them."""
        rounds = self._clients.rounds
        identity = self._identity(rounds)
        start = latest_checkpoint(folder, identity, shorter=self._identity)
        if start is not None and start.rounds < rounds:
            check_kept(start.state, folder, start.rounds)
        first = self._server.state = in_files(self._server.state, folder)
        if start is None:
            start = self._checkpoint(0, identity, rounds_digest(()), over=rounds == 0)
            start.write(folder)  # so that a folder with rounds always has the identity of its run
        self._server.model.load(start.model)
        self._server.state = from_arrays(start.state, first, self._device)
        self._checkpointed.append(self._server.state)
        # Lines after the checkpoint are dropped: their rounds are trained again, with the same result.
        records = rewind(folder / ROUNDS, start.rounds, start.history)
        with HistoryFile(folder / ROUNDS, records) as file:
            for record in self._rounds(list(records)):
                file.append(record)
                records.append(record)
                stopped, done = self._stopped(record, on_round), record.round + 1
                if stopped or done % checkpoint_every == 0 or done == rounds:
                    file.sync()  # a checkpoint must never refer to rounds that are not on the disk
                    self._checkpoint(done, identity, file.digest, over=done == rounds).write(folder)
                    delete_unused(self._server.state, self._checkpointed)
                if stopped:
                    break
        if len(records) == rounds:  # a stopped run may go on
            delete_files(first)
        return records

    def _rounds(self, past: Sequence[Record]) -> Iterator[Record]:
        """Play the rounds that follow these; after each yield the model is x_{t+1}.

        The clients replay the past rounds without training, which restores their state at the kill.
        """
        counts = []  # n_t so far, the input of a causal step-size rule
        for record in past:
            counts.append(self._clients.replay(record))
            if self._etas is not None and record.step_size != self._etas[record.round]:
                there = (
                    f"round {record.round} had step size {record.step_size:g} and has {self._etas[record.round]:g} now"
                )
                raise OtherRun(f"the rounds so far belong to another run, or one of another length: {there}")
            if counts[-1] != record.participants:  # catches scheduler parameters that the identity does not contain
                there = f"round {record.round} had {record.participants} participants and has {counts[-1]} now"
                raise OtherRun(f"the rounds so far belong to another run: {there}")
        for t in range(len(past), self._clients.rounds):
            turns = self._clients.choose(t)
            record = self._round(t, turns, self._eta([*counts, turns.wanted]))
            counts.append(record.participants)
            yield record

    def _eta(self, counts: Sequence[int]) -> float:
        """Return the step size of the last round in `counts`."""
        if self._etas is not None:
            return float(self._etas[len(counts) - 1])
        return float(checked_steps(self._step_size(counts, self._clients.rounds), len(counts))[-1])

    def _round(self, t: int, turns: Turns, eta: float) -> Record:
        """Play round t; return its record, with evaluations where they are due."""
        start = time.perf_counter()
        scores = self._evaluated("first", rounds=0) if t == 0 else {}  # x_0, the first point of every curve
        began = time.perf_counter()
        orders = self._server.orders(t, turns, eta)
        received = self._server.absorb(t, self._clients.train(orders))
        losses = received.losses
        seconds = time.perf_counter() - began
        if (t + 1) % self._eval_every == 0 or t + 1 == self._clients.rounds:
            scores |= self._evaluated("test", rounds=t + 1)
        others = time.perf_counter() - start - seconds if scores else 0.0
        scores |= {"losses": tuple(losses)} if self._clients.keeps_losses else {}
        scores |= {"steps": tuple(received.steps)} if self._clients.keeps_steps else {}
        # Before the record is yielded, so that its reader sees a finished round.
        devices = self._clients.report(t, losses)
        scores |= received.measured()
        return Record(
            t, len(losses), eta, received.mean_loss(), devices=devices, seconds=seconds, eval_seconds=others, **scores
        )

    def _evaluated(self, name: str, rounds: int) -> dict[str, Any]:
        """Return the model's scores on the test set after `rounds` rounds, under their record names."""
        try:
            module = self._server.model.module
            scores, by_class = judged(self._task, module, self._test, len(self._classes), self._outputs)
        except Diverged as error:
            remedy = "try a smaller step size or gradient clipping" if rounds else "look at the task's model and data"
            raise Diverged(f"{error} after {rounds} rounds: {remedy}") from error
        return {f"{name}_loss": scores.loss, f"{name}_metric": scores.metric} | self._served(name, by_class)

    def _outputs(self, chunks: Iterable[Batch]) -> Iterator[Any]:
        """Yield x_t's outputs for chunks of inputs, computed by the workers."""
        x, buffers = self._server.model.weights, self._server.model.buffers()

        def work(model: FlatModel, chunk: Batch) -> Any:
            if model.weights is not x:
                model.put(x, buffers)
            return outputs_in(model.module, chunk)

        return self._workers.map(work, chunks)

    def _served(self, name: str, by_class: Accuracies) -> dict[str, Any]:
        """Return the accuracy by class and by client under their record names, if the task has classes."""
        if not by_class:
            return {}
        if name == "first":  # x_0 is untrained, so its accuracy by client says little
            return {"first_by_class": by_class}
        labels = self._clients.labels
        return {"by_class": by_class, "by_client": None if labels is None else right_by_client(by_class, labels)}

    def _checkpoint(self, rounds: int, identity: Mapping[str, Any], history: str, *, over: bool) -> Checkpoint:
        # The layout of vector files depends on how often the run was resumed, and equal runs must end with equal files.
        state = without_files(self._server.state) if over else self._server.state
        self._checkpointed.append(state)
        return Checkpoint(rounds, self._server.model.state(), identity, as_arrays(state), history)

    def _stopped(self, record: Record, on_round: OnRound | None) -> bool:
        """Call `on_round`; return whether it ends the run."""
        if on_round is None:
            return False
        module = self._server.model.module
        versions = [value._version for value in module.parameters()]
        answer = on_round(record, module)
        if [value._version for value in module.parameters()] != versions:
            raise UserError("on_round must not change the model")
        return isinstance(answer, str) and answer == STOP
