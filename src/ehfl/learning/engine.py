"""The round: x_t goes out, K SGD steps at each participant, the mean comes back."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ehfl.energy.harvest import IntArray
from ehfl.learning.flat import FlatModel
from ehfl.learning.local_sgd import LocalSgd, minibatches
from ehfl.learning.task import Examples, Task
from ehfl.validation import UserError


class Diverged(UserError, ArithmeticError):
    """The loss or the model is no longer finite."""


class Engine:
    """Plays rounds of local SGD on one model; equal to `reference_round` up to float32 rounding."""

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
        self._start = torch.empty_like(model.weights)  # x_t
        # Sums of float32 in float64 are exact for equal clients; MPS has no float64.
        exact = torch.float32 if device.type == "mps" else torch.float64
        self._sum = torch.zeros_like(model.weights, dtype=exact)

    def play(self, t: int, clients: IntArray, eta: float) -> float | None:
        """Turn the model from x_t into x_{t+1}; return the mean training loss, None for an empty round."""
        if len(clients) == 0:
            return None
        shares = [self.parts[i].size if self.rule.weighted else 1 for i in clients]
        self._start.copy_(self.model.weights)
        self._sum.zero_()
        total = 0.0
        for client, share in zip(clients.tolist(), shares, strict=True):
            self.model.weights.copy_(self._start)
            total += share * self._train(client, t, eta)
            self._sum.add_(self.model.weights, alpha=share)
        self.model.weights.copy_(self._sum.div_(sum(shares)))
        return self._checked(total / sum(shares), t)

    def _train(self, client: int, t: int, eta: float) -> float:
        """Run the client's K steps from the weights as they are; return the mean loss of its minibatches."""
        losses = [
            self._step(torch.from_numpy(batch), eta)
            for batch in minibatches(self.rule, self.parts[client], self.seed, client, t)
        ]
        return float(torch.stack(losses).mean())

    def _step(self, batch: Tensor, eta: float) -> Tensor:
        """Take one step of eq. (1) on the examples of the batch; return their loss."""
        batch = batch.to(self.training.inputs.device)
        outputs = self.model.module(self.training.inputs.index_select(0, batch))
        loss = self.task.loss(outputs, self.training.targets.index_select(0, batch))
        gradient = self.model.gradient(loss)
        if self.rule.clip is not None:
            gradient.mul_((self.rule.clip / gradient.norm()).clamp(max=1.0))
        if self.rule.weight_decay:
            gradient.add_(self.model.weights, alpha=self.rule.weight_decay)
        self.model.weights.add_(gradient, alpha=-eta)
        return loss.detach()

    def _checked(self, loss: float, t: int) -> float:
        """Return the loss, or say that training has diverged."""
        if not math.isfinite(loss):
            raise Diverged(f"training loss is {loss} in round {t}: try a smaller step size or gradient clipping")
        if not math.isfinite(float(self.model.weights.sum())):
            raise Diverged(f"the model is not finite after round {t}: try a smaller step size or gradient clipping")
        return loss
