"""The clients' half of a round: K SGD steps from x_t on a client's own examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, repeat

import torch
from torch import Tensor

from ehfl.arrays import IntArray
from ehfl.learning.aggregation import Assign, Assignment, Update
from ehfl.learning.flat import FlatModel
from ehfl.learning.local_sgd import LocalSgd, minibatches
from ehfl.learning.tasks import Examples, Task


class Engine:
    """Trains clients, one after the other, in the model that it is given."""

    def __init__(
        self,
        task: Task,
        model: FlatModel,
        parts: Sequence[IntArray],
        rule: LocalSgd,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        self.task, self.model, self.parts, self.rule, self.seed = task, model, parts, rule, seed
        self.training = Examples(task.training.inputs.to(device), task.training.targets.to(device))

    def updates(
        self, assign: Assign, clients: IntArray, t: int, eta: float, steps: IntArray | None = None
    ) -> Iterator[Update]:
        """Train these clients, each with what it is assigned, for K steps or so many, when its update is asked for."""
        turns = zip(clients.tolist(), repeat(None) if steps is None else steps.tolist(), strict=False)
        return (self.local_update(assign(client), client, t, eta, taken) for client, taken in turns)

    def local_update(
        self, given: Assignment | Tensor, client: int, t: int, eta: float, steps: int | None = None
    ) -> Update:
        """Return what client's steps in round t make of a model: a pure function of these, the data and the seed.

        They are K, or the first so many `steps` of them. A bare model is an assignment that asks for nothing more.
        """
        given = Assignment(given) if isinstance(given, Tensor) else given
        if given.start.data_ptr() == self.model.weights.data_ptr():  # the steps are taken in that very place
            given = replace(given, start=given.start.clone())
        self.model.weights.copy_(given.start)
        batches = islice(minibatches(self.rule, self.parts[client], self.seed, client, t), steps)
        losses = torch.stack([self._step(torch.from_numpy(batch), eta, given) for batch in batches])
        weights = self.model.weights.clone()  # the next client trains in the same place
        loss, first = float(losses.mean()), float(losses[0])
        size = self.parts[client].size
        return Update(client, given.start, weights, loss, len(losses), size, eta, start_loss=first)

    def _step(self, batch: Tensor, eta: float, given: Assignment) -> Tensor:
        """Take one step of eq. (1) on the examples of the batch; return their loss."""
        batch = batch.to(self.training.inputs.device)
        outputs = self.model.module(self.training.inputs.index_select(0, batch))
        loss = self.task.loss(outputs, self.training.targets.index_select(0, batch))
        gradient = self.model.gradient(loss)
        # Clipping comes first, so that the bound is on what the data say and on nothing else.
        if self.rule.clip is not None:
            gradient.mul_((self.rule.clip / gradient.norm()).clamp(max=1.0))
        if self.rule.weight_decay:
            gradient.add_(self.model.weights, alpha=self.rule.weight_decay)
        if given.pull:
            gradient.add_(self.model.weights - given.start, alpha=given.pull)
        if given.shift is not None:
            gradient.add_(given.shift)
        self.model.weights.add_(gradient, alpha=-eta)
        return loss.detach()
