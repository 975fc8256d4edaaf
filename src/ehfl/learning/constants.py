"""Estimates of L, sigma^2 and Delta for a task, so that a bound can be given for it, too.

They are estimates, and are called so wherever they are shown: L is the largest curvature met at a few points of a short
training run, not over all of space; sigma^2 is a mean over sampled minibatches at x_0; Delta takes 0 for f*, which is
right for losses that cannot be negative and that the model can bring near 0.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ehfl.learning.device import pick_device, pick_threads, thread_limit
from ehfl.learning.flat import FlatModel
from ehfl.learning.tasks import Task
from ehfl.learning.training import initial_model
from ehfl.randomness import Purpose, generator
from ehfl.theory import Constants
from ehfl.validation import whole_number

_CHUNK = 500  # examples of the full gradient at a time


def estimate_constants(
    task: Task,
    *,
    batch_size: int = 50,
    seed: int = 0,
    batches: int = 64,
    iterations: int = 20,
    examples: int | None = None,
    device: str = "auto",
) -> Constants:
    """Return estimates of smoothness, gradient variance (of a minibatch) and gap at the task's x_0.

    L: power iteration on the Hessian of the training loss, at x_0 and after 25 and 50 steps of SGD; Hessian times
    vector comes from a central difference of gradients, so it works for every task. sigma^2: mean of |g_batch - g|^2.
    `examples` chosen at random stand for all where a pass over all takes too long.

    >>> from ehfl.learning import load_task
    >>> guess = estimate_constants(load_task("quadratic"))
    >>> round(guess.smoothness, 2), round(guess.gap, 2)  # known: 1 and 5.5
    (1.0, 5.5)
    """
    whole_number("batch_size", batch_size, low=1)
    used = (
        len(task.training) if examples is None else min(whole_number("examples", examples, low=1), len(task.training))
    )
    model = initial_model(task, seed, pick_device(device))
    probe = _Probe(task, model, batch_size, seed, used)
    with thread_limit(pick_threads(None, model.weights.numel())):
        start, gradient = probe.full(probe.model.weights)
        variance = probe.variance(gradient, batches)
        smoothness = probe.curvature(iterations)
        for _ in range(2):
            # 1 / L is the largest step that cannot diverge on a quadratic of this curvature.
            probe.descend(steps=25, step_size=min(0.1, 1 / smoothness))
            smoothness = max(smoothness, probe.curvature(iterations))
    return Constants(smoothness, variance, start)


class _Probe:
    """A model at a point, and what can be measured there."""

    def __init__(self, task: Task, model: FlatModel, batch_size: int, seed: int, examples: int) -> None:
        self.task, self.model, self.batch_size = task, model, min(batch_size, examples)
        device = model.weights.device
        rows = torch.from_numpy(generator(seed, Purpose.PROBE_EXAMPLES).permutation(len(task.training))[:examples])
        self.inputs, self.targets = task.training.inputs[rows].to(device), task.training.targets[rows].to(device)
        self.rng = generator(seed, Purpose.PROBE)

    def loss_and_gradient(self, rows: Tensor) -> tuple[float, Tensor]:
        loss = self.task.loss(self.model.module(self.inputs[rows]), self.targets[rows])
        return float(loss.detach()), self.model.gradient(loss).clone()

    def full(self, point: Tensor) -> tuple[float, Tensor]:
        """Return the training loss and its gradient at a point, in float64 sums; the model is left there."""
        self.model.weights.copy_(point.clone())
        n = len(self.inputs)
        # Summed in float64: differences of two such gradients are what the curvature is made of.
        total, gradient = 0.0, torch.zeros_like(self.model.weights, dtype=torch.float64)
        for rows in torch.split(torch.arange(n), _CHUNK):
            loss, piece = self.loss_and_gradient(rows)
            total += len(rows) / n * loss
            gradient += len(rows) / n * piece
        return total, gradient

    def batch(self) -> Tensor:
        return torch.from_numpy(self.rng.choice(len(self.inputs), self.batch_size, replace=False))

    def variance(self, gradient: Tensor, batches: int) -> float:
        squares = [float((self.loss_and_gradient(self.batch())[1] - gradient).square().sum()) for _ in range(batches)]
        return sum(squares) / batches

    def descend(self, steps: int, step_size: float) -> None:
        for _ in range(steps):
            self.model.weights.add_(self.loss_and_gradient(self.batch())[1], alpha=-step_size)

    def curvature(self, iterations: int) -> float:
        """Return the largest absolute eigenvalue of the Hessian at the model's point, by power iteration."""
        point = self.model.weights.clone()
        vector = torch.from_numpy(self.rng.standard_normal(point.numel())).to(point.device, torch.float64)
        size = 0.0
        for _ in range(iterations):
            vector /= vector.norm()
            # Far enough that float32 differences carry digits, near enough that the gradient is still linear.
            reach = 1e-2 * math.sqrt(1 + float(point.norm()) ** 2 / point.numel())
            ahead, behind = (self.full(point + sign * reach * vector.float())[1] for sign in (1, -1))
            vector = (ahead - behind) / (2 * reach)
            size = float(vector.norm())
        self.model.weights.copy_(point)
        return size
