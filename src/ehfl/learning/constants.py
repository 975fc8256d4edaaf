"""Estimates of L, sigma^2, zeta^2 and Delta for a task, so that a bound can be given for it, too.

They are estimates, and are called so wherever they are shown: L, sigma^2 and zeta^2 are the largest met at a few points
of a short training run, not over all of space, and sigma^2 is a mean over sampled minibatches; Delta takes 0 for f*,
which is right for losses that cannot be negative and that the model can bring near 0. All on one thread, so that the
numbers depend neither on how many there are nor on what else they do.
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
from ehfl.learning.tasks import Task
from ehfl.randomness import Purpose, generator
from ehfl.theory import Constants
from ehfl.validation import InvalidValue, whole_number

POINTS = 3  # of the training run that are looked at, x_0 the first
STRIDE = 75  # steps of SGD from one to the next: on digits L and sigma^2 grow tenfold within the first 150
ITERATIONS = 20  # of power iteration at each, two passes over the examples each
_CHUNK = 500  # examples of a full gradient at a time


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

    `parts` are the clients' example numbers; without them all are one client's, so that zeta^2 is 0. At x_0 and after
    75 and 150 steps of SGD: L by power iteration on the Hessian of the loss, where Hessian times vector is a central
    difference of gradients, so that it works for every task; sigma^2 and zeta^2 as `Spread` has them. The largest of
    each is returned, since a bound asks for what holds everywhere. `examples` chosen at random stand for all in L (and
    in sigma^2 without `parts`) where a pass over all takes too long. `on_iteration` is called after each of the
    `POINTS * iterations` iterations, which take nearly all of the time.

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
    with thread_limit(1):
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
    """Return how far the clients' gradients lie apart at x_0, and how noisy each is; `parts` are their example numbers.

    Theorem A takes a client's gradient to be unbiased for the whole: `between` says by how much it is not.

    >>> from ehfl.learning import load_task
    >>> alike = estimate_spread(load_task("quadratic"), [[0, 1, 2], [0, 1, 2]], batch_size=3)
    >>> round(alike.between, 9), round(alike.within, 9)
    (0.0, 0.0)
    """
    shares = _checked_shares(parts, len(task.training))
    with thread_limit(1):
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
    """A model on its way from x_0, and what can be measured of examples where it is."""

    def __init__(self, task: Task, batch_size: int, seed: int, device: str) -> None:
        self.task, self.batch_size = task, whole_number("batch_size", batch_size, low=1)
        self.model = initial_model(task, seed, pick_device(device))
        self.rng = generator(seed, Purpose.PROBE)

    def loss_and_gradient(self, rows: Tensor) -> tuple[float, Tensor]:
        examples, device = self.task.training, self.model.weights.device
        loss = self.task.loss(self.model.module(examples.inputs[rows].to(device)), examples.targets[rows].to(device))
        return float(loss.detach()), self.model.gradient(loss).clone()

    def full(self, rows: Tensor) -> tuple[float, Tensor]:
        """Return the mean loss of these examples and its gradient, summed in float64."""
        # Differences of two such gradients are what curvature and zeta^2 are made of.
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
        """Return the spread here, from `batches` minibatches in all, spread over the clients as evenly as can be."""
        whole_number("batches", batches, low=1)
        turns = np.bincount(np.resize(self.rng.permutation(len(shares)), batches), minlength=len(shares))
        mean = torch.zeros_like(self.model.weights, dtype=torch.float64)
        between = within = total = 0.0
        for client, rows in enumerate(shares):
            loss, gradient = self.full(rows)
            total += loss
            away = gradient - mean  # from the mean of the clients before (Welford), so that one gradient is kept
            mean += away / (client + 1)
            between += float(away.square().sum()) * client / (client + 1)
            draws = turns[client] if self.batch_size < len(rows) else 0  # else a batch is all of them, always
            within += sum(float((self.batch_gradient(rows) - gradient).square().sum()) for _ in range(draws))
        return Spread(between / len(shares), within / batches, total / len(shares))

    def curvature(self, rows: Tensor, iterations: int, on_iteration: Callable[[object], None] | None) -> float:
        """Return the largest absolute eigenvalue of the Hessian here, by power iteration."""
        point = self.model.weights.clone()
        vector = torch.from_numpy(self.rng.standard_normal(point.numel())).to(point.device, torch.float64)
        size = 0.0
        for _ in range(iterations):
            vector /= vector.norm()
            # Far enough that float32 differences carry digits, near enough that the gradient is still linear.
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
