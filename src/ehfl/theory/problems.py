"""Problems whose smoothness L, gradient variance sigma^2 and minimum f* are known exactly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import BoolArray, FloatArray, real_numbers
from ehfl.theory.participants import checked_counts
from ehfl.validation import InvalidValue, is_number, whole_number


@dataclass(frozen=True, eq=False)
class KnownProblem(ABC):
    """f(x) = f* + sum_j a_j h(x_j - b_j), with h >= h(0) = 0 and |h''| <= h''(0) = 1, so that L = max a_j.

    x may carry leading axes (seeds, clients), the last is the dimension.
    """

    curvature: ArrayLike  # a_j, (dimension,)
    minimiser: ArrayLike = 0.0  # b_j, (dimension,) or one number
    minimum: float = 0.0  # f*
    variance: float = 1.0  # sigma^2 = E|g(x) - gradient f(x)|^2 of a sample
    centre: FloatArray = field(init=False, repr=False)  # b, (dimension,)
    _a: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        allowed = "finite numbers > 0, one per coordinate"
        a = real_numbers("curvature", self.curvature, allowed)
        if a.ndim != 1 or a.size == 0 or not (np.isfinite(a).all() and (a > 0).all()):
            raise InvalidValue("curvature", allowed, self.curvature)
        if not (is_number(self.variance) and 0 <= self.variance < math.inf):
            raise InvalidValue("variance", "a finite number >= 0", self.variance)
        allowed = f"finite, one number or one per coordinate ({a.size})"
        b = real_numbers("minimiser", self.minimiser, allowed)
        if b.shape not in ((), a.shape) or not np.isfinite(b).all():
            raise InvalidValue("minimiser", allowed, self.minimiser)
        object.__setattr__(self, "_a", a)
        object.__setattr__(self, "centre", np.array(np.broadcast_to(b, a.shape)))

    @property
    def dimension(self) -> int:
        """The number of coordinates d of x."""
        return self._a.size

    @property
    def smoothness(self) -> float:
        """L, the Lipschitz constant of the gradient."""
        return float(self._a.max())

    @property
    def start(self) -> FloatArray:
        """x_0 of all experiments: one unit from the minimiser in each coordinate, (dimension,)."""
        return self.centre + 1.0

    @property
    def gap(self) -> float:
        """Delta = f(x_0) - f*."""
        return float(self.loss(self.start)) - self.minimum

    def loss(self, x: FloatArray) -> FloatArray:
        """Return f(x), shape (...)."""
        return np.asarray(self.minimum + (self._a * self._height(x - self.centre)).sum(axis=-1))

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of f at x, shape (..., dimension)."""
        return self._a * self._slope(x - self.centre)

    @abstractmethod
    def _height(self, u: FloatArray) -> FloatArray:
        """Return h(u)."""

    @abstractmethod
    def _slope(self, u: FloatArray) -> FloatArray:
        """Return h'(u)."""


class Quadratic(KnownProblem):
    """f(x) = f* + 1/2 sum_j a_j (x_j - b_j)^2: convex, L = max a_j.

    >>> bowl = Quadratic(curvature=[1.0, 4.0], minimiser=[0.0, 1.0], minimum=0.5)
    >>> float(bowl.loss(np.array([2.0, 0.0]))), bowl.gradient(np.array([2.0, 0.0])).tolist(), bowl.smoothness
    (4.5, [2.0, -4.0], 4.0)
    """

    def _height(self, u: FloatArray) -> FloatArray:
        return u**2 / 2

    def _slope(self, u: FloatArray) -> FloatArray:
        return u


class Wells(KnownProblem):
    """f(x) = f* + 1/2 sum_j a_j u_j^2 / (1 + u_j^2), u = x - b: smooth and not convex, L = max a_j.

    The second derivative of u^2 / (1 + u^2) / 2 is (1 - 3 u^2) / (1 + u^2)^3, which lies in [-1/4, 1].

    >>> well = Wells(curvature=[2.0])
    >>> float(well.loss(np.array([1.0]))), well.gradient(np.array([1.0])).tolist(), well.smoothness
    (0.5, [0.5], 2.0)
    """

    def _height(self, u: FloatArray) -> FloatArray:
        return u**2 / (1 + u**2) / 2

    def _slope(self, u: FloatArray) -> FloatArray:
        return u / (1 + u**2) ** 2


def noise_samples(dimension: int, variance: float, size: int, rng: np.random.Generator) -> FloatArray:
    """Return gradient noise z, shape (size, dimension): its mean is 0 and the mean of |z|^2 the variance, exactly.

    The loss of sample z is f(x) + <z, x>, so its gradient is the gradient of f, plus z.
    """
    whole_number("size", size, low=2)
    z = rng.standard_normal((size, dimension))
    z -= z.mean(axis=0)
    noise: FloatArray = z * np.sqrt(variance / (z**2).sum(axis=1).mean())
    return noise


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
    counts = checked_counts(n_t).astype(np.int64).tolist()

    def step(t: int, x: FloatArray, gradient: FloatArray) -> FloatArray:
        n, eta = counts[t], float(eta_t[t])
        if n == 0:
            return x
        mine = np.zeros((1, 1, problem.dimension)) if offsets is None else offsets(t)
        if local_steps > 1:
            return _mean_of_local_models(problem, x, n, eta, local_steps, scale, rng, mine)
        noise = scale / math.sqrt(n) * rng.standard_normal(x.shape)
        after: FloatArray = x - eta * (gradient + mine.mean(axis=1) + noise)
        return after

    return _descend(problem, np.tile(start, (seeds, 1)), eta_t.size, step)


def _descend(
    problem: KnownProblem, x: FloatArray, rounds: int, step: Callable[[int, FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """Return |grad f(x_t)|^2, (n_rounds, n_seeds), where `step` moves x of shape (n_seeds, dimension)."""
    squares = np.empty((rounds, len(x)))
    for t in range(rounds):
        gradient = problem.gradient(x)
        squares[t] = (gradient**2).sum(axis=1)
        x = step(t, x, gradient)
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

    These have the shape (n_seeds, n_clients), 0 for absent clients: a mean, or inverse probabilities.
    """
    scale = math.sqrt(problem.variance / problem.dimension)

    def step(t: int, x: FloatArray, gradient: FloatArray) -> FloatArray:
        w = weights(t)
        noise = scale * np.sqrt((w**2).sum(axis=1, keepdims=True)) * rng.standard_normal(x.shape)
        after: FloatArray = x - eta_t[t] * (w.sum(axis=1, keepdims=True) * gradient + w @ offsets + noise)
        return after

    return _descend(problem, np.tile(start, (seeds, 1)), eta_t.size, step)


def memory_squares(
    problem: KnownProblem, start: FloatArray, offsets: FloatArray, took_part: BoolArray, eta: float
) -> FloatArray:
    """Run gradient descent by the mean of all clients' last exact gradients; it is deterministic, so one seed."""
    memory = np.zeros_like(offsets)

    def step(t: int, x: FloatArray, gradient: FloatArray) -> FloatArray:
        memory[took_part[t]] = gradient + offsets[took_part[t]]
        after: FloatArray = x - eta * memory.mean(axis=0)
        return after

    return _descend(problem, start[None], len(took_part), step)
