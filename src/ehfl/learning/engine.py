"""The round: x_t goes out, K SGD steps at each participant, an aggregation makes x_{t+1} of what comes back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from ehfl.arrays import IntArray
from ehfl.learning.aggregation import Aggregation, Mean, State, Update, share_of
from ehfl.learning.flat import FlatModel
from ehfl.learning.local_sgd import LocalSgd, minibatches
from ehfl.learning.tasks import Examples, Task
from ehfl.validation import UserError

Correction = Callable[[Tensor], Tensor]  # local weights in, what is added to the gradient there out


class Diverged(UserError, ArithmeticError):
    """The loss or the model is no longer finite."""


class Engine:
    """Plays rounds of local SGD; with the mean, equal to `reference_round` up to float32 rounding.

    `model` is where gradients are computed and holds x_t between rounds, so that it can be evaluated.
    """

    def __init__(
        self,
        task: Task,
        model: FlatModel,
        parts: Sequence[IntArray],
        rule: LocalSgd,
        aggregation: Aggregation | None = None,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        self.task, self.model, self.parts, self.rule, self.seed = task, model, parts, rule, seed
        self.aggregation: Aggregation = Mean() if aggregation is None else aggregation
        self.training = Examples(task.training.inputs.to(device), task.training.targets.to(device))
        # An aggregation need not know of devices: what it remembers follows the model to its own.
        started = self.aggregation.init(len(parts), model.weights.numel())
        self.state: State = {name: value.to(device) for name, value in started.items()}

    def train_round(self, t: int, clients: IntArray, eta: float) -> tuple[float | None, list[float]]:
        """Turn the model from x_t into x_{t+1}; return the mean training loss, None if empty, and each client's."""
        # The model is also where every client trains, so x_t is kept apart while they do.
        x = self.model.weights.clone()
        losses: list[float] = []
        total = weight = 0.0

        # A generator, so that a client is trained when the aggregation asks for it and its model can be forgotten
        # before the next one's: the mean needs the memory of two models, however many take part.
        def updates() -> Iterator[Update]:
            nonlocal total, weight
            for client in clients.tolist():
                update = self.local_update(x, client, t, eta)
                losses.append(update.loss)
                share = share_of(self.aggregation, update.examples)
                total += share * update.loss
                weight += share
                yield update

        # Empty rounds go through the aggregation, too: one with a memory may move the model in them.
        version = x._version  # torch counts the changes in place
        after, self.state = self.aggregation.apply(x, updates(), self.state)
        name = f"{type(self.aggregation).__name__}.apply"
        if x._version != version:
            raise UserError(f"{name} must leave x as it is: clients that train later would start from another model")
        if len(losses) != len(clients):
            raise UserError(f"{name} must go through the updates once, got {len(losses)} of {len(clients)}")
        if after.shape != x.shape:  # torch would spread a single number over all weights
            raise UserError(f"{name} must return a model of shape {tuple(x.shape)}, got {tuple(after.shape)}")
        self.model.weights.copy_(after)
        loss = None if not losses else total / weight if weight else sum(losses) / len(losses)
        self._check_finite(loss, t)
        return loss, losses

    def local_update(self, x: Tensor, client: int, t: int, eta: float, correction: Correction | None = None) -> Update:
        """Return what client's K steps in round t make of x: a pure function of these, the data and the seed.

        A correction, such as FedProx's pull back to x or SCAFFOLD's control variates, is added to every gradient.
        """
        if x.data_ptr() == self.model.weights.data_ptr():  # the steps are taken in that very place
            x = x.clone()
        self.model.weights.copy_(x)
        batches = minibatches(self.rule, self.parts[client], self.seed, client, t)
        losses = [self._step(torch.from_numpy(batch), eta, correction) for batch in batches]
        loss = float(torch.stack(losses).mean())
        weights = self.model.weights.clone()  # the next client trains in the same place
        return Update(client, x, weights, loss, steps=len(losses), examples=self.parts[client].size)

    def _step(self, batch: Tensor, eta: float, correction: Correction | None) -> Tensor:
        """Take one step of eq. (1) on the examples of the batch; return their loss."""
        batch = batch.to(self.training.inputs.device)
        outputs = self.model.module(self.training.inputs.index_select(0, batch))
        loss = self.task.loss(outputs, self.training.targets.index_select(0, batch))
        gradient = self.model.gradient(loss)
        # Clipping comes first, so that the bound is on what the data say and not on the decay.
        if self.rule.clip is not None:
            gradient.mul_((self.rule.clip / gradient.norm()).clamp(max=1.0))
        if self.rule.weight_decay:
            gradient.add_(self.model.weights, alpha=self.rule.weight_decay)
        if correction is not None:
            gradient.add_(correction(self.model.weights))
        self.model.weights.add_(gradient, alpha=-eta)
        return loss.detach()

    def _check_finite(self, loss: float | None, t: int) -> None:
        """Say that training has diverged where it has; an aggregation with a memory can do so in an empty round."""
        if loss is not None and not math.isfinite(loss):
            raise Diverged(f"training loss is {loss} in round {t}: try a smaller step size or gradient clipping")
        # A sum is one number to fetch from the device, and it is not finite if any weight is not.
        if not math.isfinite(float(self.model.weights.sum())):
            raise Diverged(f"the model is not finite after round {t}: try a smaller step size or gradient clipping")
