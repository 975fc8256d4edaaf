"""SGD on problems whose constants are known, many seeds at once: what bounds are measured against.

Clients that are unlike have f_i(x) = f(x) + <d_i, x> with offsets d_i that add up to 0, so that grad f_i - grad f is
d_i everywhere and zeta^2 the mean of |d_i|^2, exactly. All functions return |grad f(x_t)|^2, shape (n_rounds, n_seeds).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import BoolArray, FloatArray
from ehfl.theory.counts import checked_counts
from ehfl.theory.problems import KnownProblem

_AT_ONCE = 2**24  # numbers in the local models of one round

OfRound = Callable[[int], FloatArray]


def gradient_squares(
    problem: KnownProblem,
    start: FloatArray,
    n_t: ArrayLike,
    eta_t: FloatArray,
    local_steps: int,
    seeds: int,
    rng: np.random.Generator,
    offsets: OfRound | None = None,
) -> FloatArray:
    """Run local SGD with a mean of the participants (paper, eq. 1).

    `offsets` gives those of round t's participants, shape (1 or n_seeds, n_t, dimension); without, data are alike.
    Noise is Gaussian for K = 1, where the mean of n clients' is one Gaussian; for K > 1 it is a random sign in each
    coordinate, which has the same variance and takes a tenth of the time to draw.
    """
    scale = math.sqrt(problem.variance / problem.dimension)  # of the noise in each coordinate
    x = np.tile(start, (seeds, 1))  # (n_seeds, dimension)
    squares = np.empty((eta_t.size, seeds))
    for t, (n, eta) in enumerate(zip(map(int, checked_counts(n_t)), eta_t.tolist(), strict=True)):
        gradient = problem.gradient(x)
        squares[t] = (gradient**2).sum(axis=1)
        if n == 0:
            continue
        mine = np.zeros((1, 1, problem.dimension)) if offsets is None else offsets(t)
        if local_steps == 1:
            noise = scale / math.sqrt(n) * rng.standard_normal(x.shape)
            x = x - eta * (gradient + mine.mean(axis=1) + noise)
        else:
            x = _mean_of_local_models(problem, x, n, eta, local_steps, scale, rng, mine)
    return squares


def _mean_of_local_models(
    problem: KnownProblem,
    x: FloatArray,
    n: int,
    eta: float,
    local_steps: int,
    scale: float,
    rng: np.random.Generator,
    offsets: FloatArray,
) -> FloatArray:
    """Return the mean of the n models that K local steps from x end at, seed by seed."""
    total, at_once = np.zeros_like(x), max(1, _AT_ONCE // x.size)  # clients
    for first in range(0, n, at_once):
        some = min(at_once, n - first)
        mine = offsets if offsets.shape[1] == 1 else offsets[:, first : first + some]
        local = np.repeat(x[:, None, :], some, axis=1)  # (n_seeds, clients, dimension)
        for _ in range(local_steps):
            step = problem.gradient(local)
            step += 2 * scale * _bits(local.shape, rng)
            step += mine - scale
            step *= eta
            local -= step
        total += local.sum(axis=1)
    return total / n


def _bits(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return zeros and ones, equally likely."""
    drawn = np.frombuffer(rng.bytes(-(-math.prod(shape) // 8)), dtype=np.uint8)
    return np.unpackbits(drawn, count=math.prod(shape)).reshape(shape)


def weighted_squares(
    problem: KnownProblem,
    start: FloatArray,
    offsets: FloatArray,
    eta_t: FloatArray,
    weights: OfRound,
    seeds: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Run SGD with one step of each participant, whose gradients are summed up with the weights of round t.

    These have the shape (n_seeds, n_clients), 0 for who is away: a mean, or inverse probabilities.
    """
    scale = math.sqrt(problem.variance / problem.dimension)
    x = np.tile(start, (seeds, 1))
    squares = np.empty((eta_t.size, seeds))
    for t, eta in enumerate(eta_t.tolist()):
        gradient, w = problem.gradient(x), weights(t)
        squares[t] = (gradient**2).sum(axis=1)
        noise = scale * np.sqrt((w**2).sum(axis=1, keepdims=True)) * rng.standard_normal(x.shape)
        x = x - eta * (w.sum(axis=1, keepdims=True) * gradient + w @ offsets + noise)
    return squares


def memory_squares(
    problem: KnownProblem, start: FloatArray, offsets: FloatArray, took_part: BoolArray, eta: float
) -> FloatArray:
    """Run gradient descent by the mean of everyone's last exact gradient; nothing is random, so there is one seed."""
    x, memory = start.copy(), np.zeros_like(offsets)
    squares = np.empty((len(took_part), 1))
    for t, here in enumerate(took_part):
        gradient = problem.gradient(x)
        squares[t] = (gradient**2).sum()
        memory[here] = gradient + offsets[here]
        x = x - eta * memory.mean(axis=0)
    return squares
