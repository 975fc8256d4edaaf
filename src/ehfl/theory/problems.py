"""Problems whose smoothness L, gradient variance sigma^2 and minimum f* are known exactly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, real_numbers
from ehfl.validation import InvalidValue, is_number, whole_number


class Problem(Protocol):
    """A function to minimise; x may carry leading axes (seeds, clients), the last is the dimension."""

    @property
    def dimension(self) -> int:
        """The number of coordinates d of x."""
        ...

    def loss(self, x: FloatArray) -> FloatArray:
        """Return f(x), shape (...)."""
        ...

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of f at x, shape (..., dimension)."""
        ...


class KnownProblem(Problem, Protocol):
    """A problem that knows the constants the bounds ask for."""

    @property
    def smoothness(self) -> float:
        """L, the Lipschitz constant of the gradient."""
        ...

    @property
    def variance(self) -> float:
        """sigma^2, the mean square of the gradient noise."""
        ...

    @property
    def minimum(self) -> float:
        """f*, the least value."""
        ...

    @property
    def centre(self) -> FloatArray:
        """The minimiser, shape (dimension,)."""
        ...


@dataclass(frozen=True, eq=False)
class _Separable(ABC):
    """f(x) = f* + sum_j a_j h(x_j - b_j), with h >= h(0) = 0 and |h''| <= h''(0) = 1, so that L = max a_j."""

    curvature: ArrayLike  # a_j, (dimension,)
    minimiser: ArrayLike = 0.0  # b_j, (dimension,) or one number
    minimum: float = 0.0  # f*
    variance: float = 1.0  # sigma^2 = E|g(x) - gradient f(x)|^2 of a sample
    _a: FloatArray = field(init=False, repr=False)
    _b: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_a", _curvature(self.curvature, self.variance))
        object.__setattr__(self, "_b", _centre(self.minimiser, self._a.size))

    @property
    def dimension(self) -> int:
        """The number of coordinates d of x."""
        return self._a.size

    @property
    def smoothness(self) -> float:
        """L, the Lipschitz constant of the gradient."""
        return float(self._a.max())

    @property
    def centre(self) -> FloatArray:
        """The minimiser b, shape (dimension,)."""
        return self._b

    def loss(self, x: FloatArray) -> FloatArray:
        """Return f(x), shape (...)."""
        return np.asarray(self.minimum + (self._a * self._height(x - self._b)).sum(axis=-1))

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of f at x, shape (..., dimension)."""
        return self._a * self._slope(x - self._b)

    @abstractmethod
    def _height(self, u: FloatArray) -> FloatArray:
        """Return h(u)."""

    @abstractmethod
    def _slope(self, u: FloatArray) -> FloatArray:
        """Return h'(u)."""


class Quadratic(_Separable):
    """f(x) = f* + 1/2 sum_j a_j (x_j - b_j)^2: convex, L = max a_j.

    >>> bowl = Quadratic(curvature=[1.0, 4.0], minimiser=[0.0, 1.0], minimum=0.5)
    >>> float(bowl.loss(np.array([2.0, 0.0]))), bowl.gradient(np.array([2.0, 0.0])).tolist(), bowl.smoothness
    (4.5, [2.0, -4.0], 4.0)
    """

    def _height(self, u: FloatArray) -> FloatArray:
        return u**2 / 2

    def _slope(self, u: FloatArray) -> FloatArray:
        return u


class Wells(_Separable):
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


def _curvature(curvature: ArrayLike, variance: float) -> FloatArray:
    allowed = "finite numbers > 0, one per coordinate"
    a = real_numbers("curvature", curvature, allowed)
    if a.ndim != 1 or a.size == 0 or not (np.isfinite(a).all() and (a > 0).all()):
        raise InvalidValue("curvature", allowed, curvature)
    if not (is_number(variance) and 0 <= variance < math.inf):
        raise InvalidValue("variance", "a finite number >= 0", variance)
    return a


def _centre(minimiser: ArrayLike, dimension: int) -> FloatArray:
    allowed = f"finite, one number or one per coordinate ({dimension})"
    b = real_numbers("minimiser", minimiser, allowed)
    if b.shape not in ((), (dimension,)) or not np.isfinite(b).all():
        raise InvalidValue("minimiser", allowed, minimiser)
    return np.array(np.broadcast_to(b, (dimension,)))
