"""Estimates of L, sigma^2, zeta^2 and Delta for a task, from which its convergence bound is computed.

The output labels them as estimates: L, sigma^2 and zeta^2 are maxima over a few points of a short training run, not
over the whole space, and sigma^2 is a mean over sampled minibatches. Delta assumes f* = 0, which holds for non-negative
losses that the model can bring near 0. All computations use one thread, so that the results do not depend on the number
of cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ehfl.arrays import IntArray
from ehfl.learning.engine.device import one_thread, pick_device
from ehfl.learning.engine.flat import Traits
from ehfl.learning.first_model import initial_model
from ehfl.learning.tasks.contract import Task
from ehfl.learning.tasks.examples import called, each
from ehfl.randomness import Purpose, generator
from ehfl.theory import Constants
from ehfl.validation import InvalidValue, whole_number

POINTS = 3  # points of the training run where the constants are estimated; the first is x_0
STRIDE = 75  # SGD steps between points: on digits L and sigma^2 grow tenfold within the first 150
ITERATIONS = 20  # power iterations at each point, two passes over the examples each
_CHUNK = 500  # examples per batch of a full gradient, which limits memory


@dataclass(frozen=True, slots=True)
class Spread:
    """How the clients' gradients differ at one model [squared gradient norm], and the loss there."""

    between: float  # zeta^2: mean over clients of |grad f_i - grad f|^2, with f the mean of the clients' f_i
    within: float  # sigma^2: mean over clients of E|g - grad f_i|^2, g a minibatch gradient of theirs
    loss: float  # f


def estimate_constants(
    task: Task,
    parts: Sequence[IntArray] | None = None,
    *,
    batch_size: int = 50,
    seed: int = 0,
    batches: int = 64,
    iterations: int = ITERATIONS,
    examples: int | None = None,
    device: str = "auto",
    on_iteration: Callable[[object], None] | None = None,
) -> Constants:
    """Return estimates of L, sigma^2 (of a minibatch), Delta at the task's x_0 and zeta^2.

    `parts` are the clients' example numbers; without it one client holds all examples, and zeta^2 is 0. Each constant
    is the maximum of three estimates, at x_0 and after 75 and 150 SGD steps, because a bound must hold everywhere. L
    comes from power iteration on the Hessian of the loss; Hessian-vector products are central differences of gradients,
    which work for every task. sigma^2 and zeta^2 are defined in `Spread`. Set `examples` to estimate L (and sigma^2
    without `parts`) on a random sample of that size where a pass over all examples takes too long. `on_iteration` is
    called after each of the `POINTS * iterations` iterations, which take nearly all of the time.

    >>> from ehfl.learning import load_task
    >>> guess = estimate_constants(load_task("quadratic"))
    >>> round(guess.smoothness, 2), round(guess.gap, 2)  # known: 1 and 5.5
    (1.0, 5.5)
    """
    whole_number("iterations", iterations, low=1)
    shares = [torch.arange(len(task.training))] if parts is None else _checked_shares(parts, len(task.training))
    rows = torch.cat(shares)
    if examples is not None:
        whole_number("examples", examples, low=1)
    rows = rows[np.sort(generator(seed, Purpose.PROBE_EXAMPLES).permutation(len(rows))[:examples])]
    probe = _Probe(task, batch_size, seed, device)
    smoothness, met = 0.0, []
    with one_thread():
        for point in range(POINTS):
            if point > 0:
                # 1 / L is the largest step that cannot diverge on a quadratic of this curvature.
                probe.descend(rows, STRIDE, min(0.1, 1 / smoothness) if smoothness else 0.1)
            met.append(probe.spread([rows] if parts is None else shares, batches))
            smoothness = float(np.maximum(smoothness, probe.curvature(rows, iterations, on_iteration)))
    within, between = np.max([(one.within, one.between) for one in met], axis=0)
    return Constants(smoothness, float(within), met[0].loss, float(between))


def estimate_spread(
    task: Task,
    parts: Sequence[IntArray],
    *,
    batch_size: int = 50,
    seed: int = 0,
    batches: int = 64,
    device: str = "auto",
) -> Spread:
    """Return the heterogeneity and the noise of the clients' gradients at x_0; `parts` are their example numbers.

    Theorem A assumes that each client's gradient is an unbiased estimate of the full gradient: `between` measures the
    bias.

    >>> from ehfl.learning import load_task
    >>> alike = estimate_spread(load_task("quadratic"), [[0, 1, 2], [0, 1, 2]], batch_size=3)
    >>> round(alike.between, 9), round(alike.within, 9)
    (0.0, 0.0)
    """
    shares = _checked_shares(parts, len(task.training))
    with one_thread():
        return _Probe(task, batch_size, seed, device).spread(shares, batches)


def _checked_shares(parts: Sequence[IntArray], n_examples: int) -> list[Tensor]:
    """Return each client's example numbers as an index."""
    shares = []
    for part in parts:
        given = np.asarray(part)
        whole = given.ndim == 1 and given.dtype.kind in "iu" and given.size > 0
        if not whole or given.min() < 0 or given.max() >= n_examples:
            allowed = f"example numbers in [0, {n_examples - 1}], at least one of each client"
            raise InvalidValue("parts", allowed, f"an array of {given.dtype} and shape {given.shape}")
        shares.append(torch.from_numpy(given.astype(np.int64)))
    if not shares:
        raise InvalidValue("parts", "the example numbers of at least one client", "none")
    return shares


class _Probe:
    """A model trained from x_0, with methods that measure gradients and curvature at its current weights."""

    def __init__(self, task: Task, batch_size: int, seed: int, device: str) -> None:
        self.task, self.batch_size = task, whole_number("batch_size", batch_size, low=1)
        self.model = initial_model(task, seed, pick_device(device))
        if self.model.traits != Traits():  # f is a function of x alone: without dropout, with fixed running means
            self.model.module.eval()
        self.rng = generator(seed, Purpose.PROBE)

    def loss_and_gradient(self, rows: Tensor) -> tuple[float, Tensor]:
        inputs, targets = each(lambda value: value.to(self.model.weights.device), self.task.training.batch(rows))
        loss = self.task.loss(called(self.model.module, inputs), targets)
        return float(loss.detach()), self.model.gradient(loss).clone()

    def full(self, rows: Tensor) -> tuple[float, Tensor]:
        """Return the mean loss of these examples and its gradient, summed in float64."""
        # float64, because curvature and zeta^2 are small differences of two such gradients.
        total, gradient = 0.0, torch.zeros_like(self.model.weights, dtype=torch.float64)
        for some in torch.split(rows, _CHUNK):
            loss, piece = self.loss_and_gradient(some)
            total += len(some) / len(rows) * loss
            gradient += len(some) / len(rows) * piece
        return total, gradient

    def batch_gradient(self, rows: Tensor) -> Tensor:
        chosen = self.rng.choice(len(rows), min(self.batch_size, len(rows)), replace=False)
        return self.loss_and_gradient(rows[chosen])[1]

    def descend(self, rows: Tensor, steps: int, step_size: float) -> None:
        for _ in range(steps):
            self.model.weights.add_(self.batch_gradient(rows), alpha=-step_size)

    def spread(self, shares: Sequence[Tensor], batches: int) -> Spread:
        """Return the spread at the current weights, from `batches` minibatches divided evenly among the clients."""
        whole_number("batches", batches, low=1)
        turns = np.bincount(np.resize(self.rng.permutation(len(shares)), batches), minlength=len(shares))
        mean = torch.zeros_like(self.model.weights, dtype=torch.float64)
        between = within = total = 0.0
        for client, rows in enumerate(shares):
            loss, gradient = self.full(rows)
            total += loss
            away = gradient - mean  # Welford's running mean keeps one gradient in memory
            mean += away / (client + 1)
            between += float(away.square().sum()) * client / (client + 1)
            draws = turns[client] if self.batch_size < len(rows) else 0  # a full batch has no sampling noise
            within += sum(float((self.batch_gradient(rows) - gradient).square().sum()) for _ in range(draws))
        return Spread(between / len(shares), within / batches, total / len(shares))

    def curvature(self, rows: Tensor, iterations: int, on_iteration: Callable[[object], None] | None) -> float:
        """Return the largest absolute eigenvalue of the Hessian at the current weights, by power iteration."""
        point = self.model.weights.clone()
        vector = torch.from_numpy(self.rng.standard_normal(point.numel())).to(point.device, torch.float64)
        size = 0.0
        for _ in range(iterations):
            vector /= vector.norm()
            # Large enough for significant float32 differences, small enough that the gradient is still linear.
            reach = 1e-2 * math.sqrt(1 + float(point.norm()) ** 2 / point.numel())
            ahead, behind = (self._gradient_at(point + sign * reach * vector.float(), rows) for sign in (1, -1))
            vector = (ahead - behind) / (2 * reach)
            size = float(vector.norm())
            if on_iteration is not None:
                on_iteration(size)
            if size == 0:  # a loss without curvature
                break
        self.model.weights.copy_(point)
        return size

    def _gradient_at(self, point: Tensor, rows: Tensor) -> Tensor:
        self.model.weights.copy_(point)
        return self.full(rows)[1]
