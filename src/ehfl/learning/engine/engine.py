"""`Engine.train`: a client's turn, K steps from a given model on the client's own examples."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import islice

import torch
from torch import Tensor

from ehfl.arrays import IntArray
from ehfl.learning.aggregation.contract import Order, Update
from ehfl.learning.engine.chance import Chance
from ehfl.learning.engine.device import check_precision, forward
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.engine.local_sgd import LocalSgd, minibatches
from ehfl.learning.tasks.contract import Task
from ehfl.validation import InvalidValue


class Engine:
    """The read-only data of all turns: the task, the clients' examples and the training rule."""

    def __init__(self, task: Task, parts: Sequence[IntArray], rule: LocalSgd, device: torch.device) -> None:
        check_precision(rule.precision, device)
        self.task, self.parts, self.rule = task, parts, rule
        self.training = task.training.to(device)

    def check_batches(self, model: FlatModel) -> None:
        """Refuse batches of a single example where the model cannot train on one, as batch normalisation cannot."""
        least = min(self.rule.least_batch(part.size) for part in self.parts)
        if least > 1 or not model.traits.moving:
            return
        try:
            with Chance(seed=0):
                self._loss(torch.zeros(1, dtype=torch.int64), model.copy())
        except ValueError as error:
            allowed = "one that leaves no client a batch of a single example, which batch normalisation cannot train on"
            raise InvalidValue("batch_size", allowed, self.rule.batch_size) from error

    def train(self, order: Order, model: FlatModel) -> Update:
        """Return the update of a client after its local steps: a pure function of the order and the data.

        Training happens in the buffers of `model`; its previous weights are overwritten.
        """
        if order.start.data_ptr() == model.weights.data_ptr():
            raise ValueError("an order must not start from the model that is trained in: its steps would change it")
        model.put(order.start, order.buffers)
        examples = self.parts[order.client]
        batches = islice(minibatches(self.rule, examples, order.seed, order.client, order.round), order.steps)
        step, losses = self.rule.step_of(model.weights), []
        chance = Chance(order.seed, order.client, order.round) if model.traits.draws else nullcontext()
        for k, batch in enumerate(batches):
            with chance:
                loss = self._loss(torch.from_numpy(batch), model)
            gradient = self._gradient(loss, order, model)
            step(gradient, order.eta * self.rule.local_decay**k)
            losses.append(loss.detach())
        weights = model.weights.clone()  # the next client overwrites this buffer
        mean, eta = float(torch.stack(losses).mean()), self.rule.mean_step(order.eta, len(losses))
        return Update(order.client, order.start, weights, mean, len(losses), examples.size, eta,
                      start_loss=float(losses[0]), round=order.round, seed=order.seed,
                      buffers=model.buffers())  # fmt: skip

    def _loss(self, batch: Tensor, model: FlatModel) -> Tensor:
        inputs, targets = self.training.batch(batch)
        return self.task.loss(forward(model.module, inputs, self.rule.precision), targets)

    def _gradient(self, loss: Tensor, order: Order, model: FlatModel) -> Tensor:
        """Return the gradient by which the client's next step moves."""
        gradient = model.gradient(loss)
        # Clip first, so that the bound applies to the data's gradient alone, without decay, pull and shift.
        if self.rule.clip is not None:
            gradient.mul_((self.rule.clip / gradient.norm()).clamp(max=1.0))
        if self.rule.weight_decay:
            gradient.add_(model.weights, alpha=self.rule.weight_decay)
        if order.pull:
            gradient.add_(model.weights - order.start, alpha=order.pull)
        if order.shift is not None:
            gradient.add_(order.shift)
        return gradient
