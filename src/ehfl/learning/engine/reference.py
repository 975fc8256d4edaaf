"""Local SGD as the paper writes it: plain, slow, and what the engine is tested against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ehfl.arrays import IntArray
from ehfl.learning.engine.local_sgd import LocalSgd, minibatches
from ehfl.learning.tasks.contract import Task

Weights = dict[str, Tensor]


class Measured(NamedTuple):
    """The inputs of the noise scale in a round, under the names of its record."""

    start_loss: float | None = None
    update_square: float | None = None
    update_spread: float | None = None


def reference_round(
    task: Task, model: nn.Module, x_t: Weights, parts: Sequence[IntArray], clients: IntArray, *,
    t: int, eta: float, rule: LocalSgd, seed: int, weighted: bool = False,
) -> tuple[Weights, Measured]:  # fmt: skip
    """Return x_{t+1}, the mean (weighted by D_i or not) of the participants' models after K steps each (eq. 1).

    The second value holds the inputs of the noise scale.
    """
    if len(clients) == 0:
        return x_t, Measured()
    models, start_losses = [], []
    for i in clients:
        x, losses = x_t, []  # x_{t,0}^i = x_t
        for batch in minibatches(rule, parts[i], seed, int(i), t):
            loss, gradient = stochastic_gradient(task, model, x, batch, rule)
            x = {name: x[name] - eta * gradient[name] for name in x}  # eq. (1)
            losses.append(loss)
        models.append(x)
        start_losses.append(losses[0])
    shares = [len(parts[i]) if weighted else 1 for i in clients]
    start_loss = sum(share * loss for share, loss in zip(shares, start_losses, strict=True)) / sum(shares)
    after = {
        name: sum((share * x[name] for share, x in zip(shares, models, strict=True)), torch.zeros(())) / sum(shares)
        for name in x_t
    }
    return after, Measured(start_loss, *square_and_spread(x_t, models))


def square_and_spread(x_t: Weights, models: Sequence[Weights]) -> tuple[float, float | None]:
    """Return |m|^2 of the mean update m and, of two updates or more, sum of |Delta_i - m|^2 / (n - 1)."""
    deltas = [torch.cat([(x[name] - x_t[name]).double().reshape(-1) for name in x_t]) for x in models]
    mean = torch.stack(deltas).mean(dim=0)
    away = [float((delta - mean).pow(2).sum()) for delta in deltas]
    return float(mean.pow(2).sum()), sum(away) / (len(away) - 1) if len(away) > 1 else None


def stochastic_gradient(
    task: Task, model: nn.Module, x: Weights, batch: IntArray, rule: LocalSgd
) -> tuple[float, Weights]:
    """Return the batch's loss at x, and its gradient, clipped and with weight decay if the rule says so."""
    index = torch.from_numpy(batch)
    leaves = {name: value.detach().requires_grad_() for name, value in x.items()}
    outputs = functional_call(model, leaves, (task.training.inputs[index],))
    loss = task.loss(outputs, task.training.targets[index])
    gradient = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
    if rule.clip is not None:
        length = torch.sqrt(sum((g.pow(2).sum() for g in gradient.values()), torch.zeros(())))
        gradient = {name: g * min(1.0, rule.clip / float(length)) for name, g in gradient.items()}
    return float(loss.detach()), {name: g + rule.weight_decay * x[name] for name, g in gradient.items()}
