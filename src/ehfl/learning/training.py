"""`Training`: local SGD along a participation, from the first round to the last, through kills."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ehfl.arrays import Clients, FloatArray
from ehfl.history import NAME, Accuracies, History, HistoryFile, Record, rewind, rounds_digest
from ehfl.learning.aggregation import State, traffic_of
from ehfl.learning.checkpoint import Checkpoint, latest_checkpoint
from ehfl.learning.client_side import ClientSide
from ehfl.learning.device import thread_limit
from ehfl.learning.evaluation import judged, right_by_client
from ehfl.learning.local_sgd import checked_steps
from ehfl.learning.memory import check_room, delete_files, shelved, size_of, without_files
from ehfl.learning.saved_state import as_arrays, from_arrays
from ehfl.learning.server import Diverged, Server
from ehfl.learning.tasks import Examples, Task, classes_of
from ehfl.run_folder import OtherRun
from ehfl.theory import StepSize, check_causal
from ehfl.validation import at, whole_number

OnRound = Callable[[Record], None]


class Training:
    """A run that is ready to start."""

    def __init__(
        self,
        task: Task,
        server: Server,
        clients: ClientSide,
        *,
        step_size: StepSize,
        etas: FloatArray | None = None,
        eval_every: int,
        identity: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    ) -> None:
        """Prepare the run.

        `etas` are the step sizes of all rounds, where they are known beforehand; `identity` is what a checkpoint is
        known by.
        """
        self._task, self._server, self._clients = task, server, clients
        self._step_size, self._etas = step_size, etas
        self._eval_every = whole_number("eval_every", eval_every, low=1)
        if etas is None:
            check_causal(step_size, "step_size", repr(step_size), "participants are not yet known")
        self._device = server.model.weights.device
        self._test = Examples(task.test.inputs.to(self._device), task.test.targets.to(self._device))
        self._classes = classes_of(task)
        with at("aggregation"):
            self._traffic = traffic_of(server.aggregation, self.n_parameters)
        self._identity = identity
        # What is held here is not overwritten in files: a checkpoint that is damaged has one before it.
        self._checkpointed: deque[State] = deque(maxlen=2)

    @property
    def n_parameters(self) -> int:
        """How many weights the model has."""
        return self._server.model.weights.numel()

    def run(
        self,
        threads: int,
        folder: Path | None = None,
        *,
        checkpoint_every: int = 10,
        on_round: OnRound | None = None,
    ) -> History:
        """Play all rounds, or those that the folder lacks, on so many threads; no other process may be in it."""
        check_room(self._server.aggregation, size_of(self._server.state), folder)
        with thread_limit(threads):
            if folder is None:
                records = [_announced(record, on_round) for record in self._rounds([])]
            else:
                records = self._resumed(folder, checkpoint_every, on_round)
        weights = self._server.model.weights.cpu().numpy().copy()
        played = self._clients.participation()
        return History(
            tuple(records), self._task.metric, weights, played, self._classes, self._clients.labels, self._traffic
        )

    def _resumed(self, folder: Path, checkpoint_every: int, on_round: OnRound | None) -> list[Record]:
        """Play the rounds that the folder lacks, and return all of them."""
        identity = self._identity
        if callable(identity):
            identity = dict(identity()) | {"eval_every": self._eval_every}
        start = latest_checkpoint(folder, identity)
        first = self._server.state = shelved(self._server.state, folder)
        if start is None:
            start = self._checkpoint(0, identity, rounds_digest(()))
            start.write(folder)  # so that a folder with rounds in it always says whose they are
        self._server.model.load(start.model)
        self._server.state = from_arrays(start.state, first, self._device)
        self._checkpointed.append(self._server.state)
        # Lines behind the checkpoint are of rounds that will be trained again, with the same result.
        records = rewind(folder / NAME, start.rounds, start.history)
        with HistoryFile(folder / NAME, records) as file:
            for record in self._rounds(list(records)):
                file.append(record)
                records.append(_announced(record, on_round))
                done = record.round + 1
                if done % checkpoint_every == 0 or done == self._clients.rounds:
                    file.sync()  # a checkpoint must never know of rounds that the disk does not
                    self._checkpoint(done, identity, file.digest).write(folder)
        delete_files(first)
        return records

    def _rounds(self, past: Sequence[Record]) -> Iterator[Record]:
        """Play the rounds that follow these; after each yield the model is x_{t+1}.

        The clients go through the past rounds again, which costs no training: they are then where they were when the
        run was killed.
        """
        counts = []  # n_t so far: what a causal rule may look at
        for record in past:
            counts.append(self._clients.again(record))
            if counts[-1] != record.participants:  # a scheduler whose parameters no identity shows
                there = f"round {record.round} had {record.participants} participants and has {counts[-1]} now"
                raise OtherRun(f"the rounds so far belong to another run: {there}")
        for t in range(len(past), self._clients.rounds):
            clients = self._clients.clients(t)
            record = self._round(t, clients, self._eta([*counts, len(clients)]))
            counts.append(record.participants)
            yield record

    def _eta(self, counts: Sequence[int]) -> float:
        """Return the step size of the last round that is counted."""
        if self._etas is not None:
            return float(self._etas[len(counts) - 1])
        return float(checked_steps(self._step_size(counts, self._clients.rounds), len(counts))[-1])

    def _round(self, t: int, clients: Clients, eta: float) -> Record:
        """Play round t; return its record, with evaluations where they are due."""
        start = time.perf_counter()
        scores = self._evaluated("first", rounds=0) if t == 0 else {}  # x_0, which curves begin with
        began = time.perf_counter()
        heard = self._server.play(t, lambda assign: self._clients.updates(assign, clients, t, eta))
        losses = heard.losses
        seconds = time.perf_counter() - began
        if (t + 1) % self._eval_every == 0 or t + 1 == self._clients.rounds:
            scores |= self._evaluated("test", rounds=t + 1)
        others = time.perf_counter() - start - seconds if scores else 0.0
        scores |= {"losses": tuple(losses)} if self._clients.keeps_losses else {}
        scores |= {"steps": tuple(heard.steps)} if self._clients.keeps_steps else {}
        # Before the record is handed on, so that whoever reads it sees a round that is over.
        devices = self._clients.report(t, losses)
        scores |= heard.measured()
        return Record(
            t, len(losses), eta, heard.mean_loss(), devices=devices, seconds=seconds, eval_seconds=others, **scores
        )

    def _evaluated(self, name: str, rounds: int) -> dict[str, Any]:
        """Return what the test set says of the model after so many rounds, as a record names it."""
        try:
            scores, by_class = judged(self._task, self._server.model.module, self._test, len(self._classes))
        except Diverged as error:
            remedy = "try a smaller step size or gradient clipping" if rounds else "look at the task's model and data"
            raise Diverged(f"{error} after {rounds} rounds: {remedy}") from error
        return {f"{name}_loss": scores.loss, f"{name}_metric": scores.metric} | self._served(name, by_class)

    def _served(self, name: str, by_class: Accuracies) -> dict[str, Any]:
        """Return whom the model serves how well, where the task has classes, as a record names it."""
        if not by_class:
            return {}
        if name == "first":  # x_0 has learned from nobody: what clients find in it says little
            return {"first_by_class": by_class}
        labels = self._clients.labels
        return {"by_class": by_class, "by_client": None if labels is None else right_by_client(by_class, labels)}

    def _checkpoint(self, rounds: int, identity: Mapping[str, Any], history: str) -> Checkpoint:
        # A file of vectors has them in places that depend on how often the run was resumed; equal runs end alike.
        over = rounds == self._clients.rounds
        state = without_files(self._server.state) if over else self._server.state
        self._checkpointed.append(state)
        return Checkpoint(rounds, self._server.model.state(), identity, as_arrays(state), history)


def _announced(record: Record, on_round: OnRound | None) -> Record:
    if on_round is not None:
        on_round(record)
    return record
