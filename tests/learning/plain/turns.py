"""Turns and rounds of an engine, for tests that look at a few of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ehfl.arrays import IntArray
from ehfl.learning import Aggregation, LocalSgd, Mean, Task
from ehfl.learning.aggregation.contract import Order, Turns, Update
from ehfl.learning.engine.engine import Engine
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.first_model import initial_model
from ehfl.learning.server import Received, Server

CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Player:
    """An engine, the model that it trains in, and a server of that model."""

    engine: Engine
    server: Server
    seed: int

    @property
    def model(self) -> FlatModel:
        return self.server.model

    def train(
        self, start: Tensor, client: int, t: int, eta: float, steps: int | None = None, *, pull: float = 0.0,
        shift: Tensor | None = None,
    ) -> Update:  # fmt: skip
        """Return a client's turn from this model."""
        steps = self.engine.rule.steps_of(self.engine.parts[client].size) if steps is None else steps
        buffers = self.model.buffers()
        return self.engine.train(Order(client, t, start, steps, eta, self.seed, pull, shift, buffers), self.model)

    def turns(self, clients: Sequence[int] | IntArray) -> Turns:
        """Return whole turns of these clients."""
        who = np.asarray(clients, np.int32)
        return Turns(who, np.full(who.size, self.engine.rule.local_steps), who.size)

    def play(self, t: int, clients: Sequence[int] | IntArray, eta: float) -> Received:
        """Play a round."""
        orders = self.server.orders(t, self.turns(clients), eta)
        return self.server.absorb(t, (self.engine.train(order, self.model) for order in orders))


def player(
    task: Task, parts: Sequence[IntArray], rule: LocalSgd, aggregation: Aggregation | None = None, *, seed: int = 0
) -> Player:
    model = initial_model(task, seed, CPU, rule.buffers)
    server = Server(model, aggregation or Mean(), len(parts), seed, buffers=rule.buffers)
    return Player(Engine(task, parts, rule, CPU), server, seed)
