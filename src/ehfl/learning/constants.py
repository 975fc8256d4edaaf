"""Estimates of L, sigma^2 and Delta for a task, so that a bound can be given for it, too; and how far clients differ.

They are estimates, and are called so wherever they are shown: L is the largest curvature met at a few points of a short
training run, not over all of space; sigma^2 is a mean over sampled minibatches at x_0, and grows as training goes on
(tenfold on digits); Delta takes 0 for f*, which is right for losses that cannot be negative and that the model can
bring near 0. All on one thread, so that the numbers depend neither on how many there are nor on what else they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ehfl.arrays import IntArray
from ehfl.learning.device import pick_device, thread_limit
from ehfl.learning.first_model import initial_model
from ehfl.learning.flat import FlatModel
from ehfl.learning.tasks import Task
from ehfl.randomness import Purpose, generator
from ehfl.theory import Constants
from ehfl.validation import InvalidValue, whole_number

POINTS = 3  # at which the curvature is looked at
ITERATIONS = 20  # of power iteration at each, two passes over the examples each
_CHUNK = 500  # examples of the full gradient at a time


def estimate_constants(
    task: Task,
    *,
    batch_size: int = 50,
    seed: int = 0,
    batches: int = 64,
    iterations: int = ITERATIONS,
    examples: int | None = None,
    device: str = "auto",
    on_iteration: Callable[[object], None] | None = None,
) -> Constants:
    """Return estimates of smoothness, gradient variance (of a minibatch) and gap at the task's x_0.

    L: power iteration on the Hessian of the training loss, at x_0 and after 25 and 50 steps of SGD; Hessian times
    vector comes from a central difference of gradients, so it works for every task. sigma^2: mean of |g_batch - g|^2.
    `examples` chosen at random stand for all where a pass over all takes too long. `on_iteration` is called after each
    of the `POINTS * iterations` iterations, which take nearly all of the time.

    >>> from ehfl.learning import load_task
    >>> guess = estimate_constants(load_task("quadratic"))
    >>> round(guess.smoothness, 2), round(guess.gap, 2)  # known: 1 and 5.5
    (1.0, 5.5)
    """
    for name, count in (("batch_size", batch_size), ("batches", batches), ("iterations", iterations)):
        whole_number(name, count, low=1)
    most = len(task.training)
    used = most if examples is None else min(whole_number("examples", examples, low=1), most)
    rows = torch.from_numpy(generator(seed, Purpose.PROBE_EXAMPLES).permutation(most)[:used])
    probe = _Probe(task, initial_model(task, seed, pick_device(device)), rows, batch_size, seed, on_iteration)
    with thread_limit(1):
        start, gradient = probe.full(probe.model.weights)
        variance = probe.variance(gradient, batches)
        smoothness = probe.curvature(iterations)
        for _ in range(POINTS - 1):
            # 1 / L is the largest step that cannot diverge on a quadratic of this curvature.
            probe.descend(steps=25, step_size=min(0.1, 1 / smoothness) if smoothness else 0.1)
            smoothness = max(smoothness, probe.curvature(iterations))
    return Constants(smoothness, variance, start)


@dataclass(frozen=True, slots=True)
class Spread:
    """How gradients at the first model differ [squared gradient norm]."""

    between: float  # zeta^2: mean over clients of |grad f_i - grad f|^2, with f the mean of the clients' f_i
    within: float  # mean over clients of E|g - grad f_i|^2, g a minibatch gradient of theirs


def estimate_spread(
    task: Task,
    parts: Sequence[IntArray],
    *,
    batch_size: int = 50,
    seed: int = 0,
    batches: int = 64,
    device: str = "auto",
) -> Spread:
    """Return how far the clients' gradients lie apart at x_0, and how noisy each is; `parts` are their example numbers.

    Theorem A takes a client's gradient to be unbiased for the whole: `between` says by how much it is not.

    >>> from ehfl.learning import load_task
    >>> alike = estimate_spread(load_task("quadratic"), [[0, 1, 2], [0, 1, 2]], batch_size=3)
    >>> round(alike.between, 9), round(alike.within, 9)
    (0.0, 0.0)
    """
    rows = [_checked_rows(part, len(task.training)) for part in parts]
    if not rows:
        raise InvalidValue("parts", "the example numbers of at least one client", "none")
    for name, count in (("batch_size", batch_size), ("batches", batches)):
        whole_number(name, count, low=1)
    model = initial_model(task, seed, pick_device(device))
    gradients, squares = [], 0.0
    with thread_limit(1):
        for client, mine in enumerate(rows):
            probe = _Probe(task, model, mine, batch_size, seed, client=client)
            _, gradient = probe.full(model.weights)
            gradients.append(gradient)
            squares += probe.variance(gradient, batches)
    stacked = torch.stack(gradients)  # (n_clients, n_params)
    between = (stacked - stacked.mean(dim=0)).square().sum(dim=1).mean()
    return Spread(float(between), squares / len(parts))


def _checked_rows(part: IntArray, n_examples: int) -> Tensor:
    """Return a client's example numbers as an index."""
    given = np.asarray(part)
    whole = given.ndim == 1 and given.dtype.kind in "iu" and given.size > 0
    if not whole or given.min() < 0 or given.max() >= n_examples:
        allowed = f"example numbers in [0, {n_examples - 1}], at least one of each client"
        raise InvalidValue("parts", allowed, f"an array of {given.dtype} and shape {given.shape}")
    return torch.from_numpy(given.astype(np.int64))


class _Probe:
    """A model at a point, and what can be measured there of some examples."""

    def __init__(
        self,
        task: Task,
        model: FlatModel,
        rows: Tensor,
        batch_size: int,
        seed: int,
        on_iteration: Callable[[object], None] | None = None,
        client: int = 0,
    ) -> None:
        self.task, self.model, self.on_iteration = task, model, on_iteration
        self.batch_size = min(batch_size, len(rows))
        device = model.weights.device
        self.inputs, self.targets = task.training.inputs[rows].to(device), task.training.targets[rows].to(device)
        self.rng = generator(seed, Purpose.PROBE, client=client)

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
            if self.on_iteration is not None:
                self.on_iteration(size)
            if size == 0:  # a loss without curvature
                break
        self.model.weights.copy_(point)
        return size
