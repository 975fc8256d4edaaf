"""The clients as a run sees them, and those that train in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Protocol

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.learning.aggregation.contract import Order, Turns, Update
from ehfl.learning.engine.engine import Engine
from ehfl.learning.engine.stacked import Stack
from ehfl.learning.engine.workers import Workers
from ehfl.learning.tasks.contract import Task, label_counts
from ehfl.partition import Partition, with_users
from ehfl.partition import deal as deal_targets
from ehfl.runs import Devices, Record
from ehfl.scheduling import Course, Lockstep, Participation, brings_steps, wants_losses


class ClientSide(Protocol):
    """The clients of a run, for rounds t = 0, 1, ...: `choose`, `train`, then `report`; `replay` for past rounds.

    There are two: `InProcess` trains in this process, and `ehfl.flower` sends the model to devices.
    """

    rounds: int  # T
    n_clients: int
    keeps_losses: bool  # whether a resumed run needs each participant's loss to decide as it did
    keeps_steps: bool  # whether turns may have fewer than K local steps, so that records say how many

    @property
    def labels(self) -> IntArray | None:
        """How many training examples of each class every client holds, (n_clients, n_classes); None if unknown."""
        ...

    def choose(self, t: int) -> Turns:
        """Return the clients that are asked to take part in round t."""
        ...

    def train(self, orders: Iterator[Order]) -> Iterator[Update]:
        """Yield an update for each order, in the order of the clients; a device that fails is left out."""
        ...

    def report(self, t: int, losses: Sequence[float]) -> Devices | None:
        """End the round with the losses of its participants; return the state of the devices, if there are any."""
        ...

    def replay(self, record: Record) -> int:
        """Repeat a round of an earlier process without training; return the number of participants."""
        ...

    def participation(self) -> Participation:
        """Return the participation in all rounds; call it after the last round."""
        ...


class InProcess:
    """Clients that are trained in this process, by parallel workers."""

    def __init__(
        self, played: Participation | Lockstep, engine: Engine, workers: Workers, stack: Stack | None = None
    ) -> None:
        # One round at a time: a scheduler in lockstep needs the losses of the previous round.
        self._course = Course(played) if isinstance(played, Lockstep) else played
        self._engine, self._workers = engine, workers
        self._stack = stack
        self.rounds, self.n_clients = played.rounds, played.n_clients
        self.keeps_losses = isinstance(played, Lockstep) and wants_losses(played.scheduler)
        self.keeps_steps = has_steps(played)
        self.labels = label_counts(engine.task, engine.parts)
        self._weights: FloatArray | None = None  # of this round's turns, where the scheduler brings any

    def choose(self, t: int) -> Turns:
        """Return the participants of round t."""
        clients, steps = self._course.clients(t), self._course.steps_of(t)
        self._weights = self._course.weights_of(t)
        parts, rule = self._engine.parts, self._engine.rule
        every = np.array([rule.steps_of(parts[client].size) for client in clients.tolist()], np.int64)
        return Turns(clients, every if steps is None else steps, clients.size)

    def train(self, orders: Iterator[Order]) -> Iterator[Update]:
        """Train the clients; set the weights of the updates if the scheduler gives any."""
        if self._stack is not None:
            blocks = self._workers.map(self._stack.train, self._stack.blocks(orders))
            updates: Iterator[Update] = chain.from_iterable(blocks)
        else:
            updates = self._workers.map(lambda model, order: self._engine.train(order, model), orders)
        return updates if self._weights is None else map(_weighted, updates, self._weights.tolist())

    def report(self, t: int, losses: Sequence[float]) -> Devices | None:
        """Pass the losses to the scheduler; return None, as there are no devices."""
        if isinstance(self._course, Course):
            self._course.report(t, losses)
        return None

    def replay(self, record: Record) -> int:
        """Repeat the scheduler's selection of a past round from its recorded losses, without training."""
        count = self._course.clients(record.round).size
        self.report(record.round, record.losses or ())
        return count

    def participation(self) -> Participation:
        """Return all rounds."""
        return self._course.participation() if isinstance(self._course, Course) else self._course


def _weighted(update: Update, weight: float) -> Update:
    return replace(update, weight=weight)


def has_steps(played: Participation | Lockstep) -> bool:
    """Return whether turns may have fewer than K local steps."""
    if isinstance(played, Participation):
        return played.steps is not None
    return brings_steps(played.scheduler) and played.fleet.step_costs is not None


def deal(task: Task, n_clients: int, partition: Partition, seed: int) -> list[IntArray]:
    """Return each client's example numbers; raise an error if the partition breaks the rules."""
    dealer = with_users(partition, task.training.users)
    return deal_targets(dealer, task.training.targets.cpu().numpy(), n_clients, seed)
