"""Local SGD as the paper writes it: plain, slow, and what the engine is tested against."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ehfl.arrays import IntArray
from ehfl.learning.local_sgd import LocalSgd, minibatches
from ehfl.learning.tasks import Task

Weights = dict[str, Tensor]


def reference_round(
    task: Task, model: nn.Module, x_t: Weights, parts: Sequence[IntArray], clients: IntArray, *,
    t: int, eta: float, rule: LocalSgd, seed: int, weighted: bool = False,
) -> Weights:  # fmt: skip
    """Return x_{t+1}, the mean (weighted by D_i or not) of the participants' models after K steps each (eq. 1)."""
    if len(clients) == 0:
        return x_t
    models = []
    for i in clients:
        x = x_t  # x_{t,0}^i = x_t
        for batch in minibatches(rule, parts[i], seed, int(i), t):
            gradient = stochastic_gradient(task, model, x, batch, rule)
            x = {name: x[name] - eta * gradient[name] for name in x}  # eq. (1)
        models.append(x)
    shares = [len(parts[i]) if weighted else 1 for i in clients]
    return {
        name: sum((share * x[name] for share, x in zip(shares, models, strict=True)), torch.zeros(())) / sum(shares)
        for name in x_t
    }


def stochastic_gradient(task: Task, model: nn.Module, x: Weights, batch: IntArray, rule: LocalSgd) -> Weights:
    """Return the gradient of the batch's loss at x, clipped and with weight decay if the rule says so."""
    index = torch.from_numpy(batch)
    leaves = {name: value.detach().requires_grad_() for name, value in x.items()}
    outputs = functional_call(model, leaves, (task.training.inputs[index],))
    loss = task.loss(outputs, task.training.targets[index])
    gradient = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
    if rule.clip is not None:
        length = torch.sqrt(sum((g.pow(2).sum() for g in gradient.values()), torch.zeros(())))
        gradient = {name: g * min(1.0, rule.clip / float(length)) for name, g in gradient.items()}
    return {name: g + rule.weight_decay * x[name] for name, g in gradient.items()}
