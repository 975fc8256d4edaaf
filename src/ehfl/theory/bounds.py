"""Bounds on the gradient norm: the paper's two theorems, printed and corrected, and one for what really happened.

Notation of the paper: Delta = f(x_0) - f*, L smoothness, s2 the variance of a stochastic gradient, K local steps, eta_t
step sizes, n_t participants. Derivations, and what is wrong in the print, stand in docs/theory.md; E1 to E6 below are
its errata. Every bound is on a mean of E|grad f(x_t)|^2 over the rounds t = 0..T-1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.validation import InvalidValue

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Constants:
    """What a bound needs to know of a problem."""

    smoothness: float  # L
    variance: float  # s2 [squared gradient norm]
    gap: float  # Delta = f(x_0) - f*

    def __post_init__(self) -> None:
        if not (self.smoothness > 0 and math.isfinite(self.smoothness)):
            raise InvalidValue("smoothness", "a positive number", self.smoothness)
        if not (self.variance >= 0 and math.isfinite(self.variance)):
            raise InvalidValue("variance", "a number >= 0", self.variance)
        if not (self.gap >= 0 and math.isfinite(self.gap)):
            raise InvalidValue("gap", "a number >= 0", self.gap)


def largest_step(local_steps: int, smoothness: float) -> float:
    """Return the largest eta_t for which the realised bound is proven: 1/L for K = 1, else 1/(8 K L)."""
    return 1 / smoothness if local_steps == 1 else 1 / (8 * local_steps * smoothness)


def bound(
    counts: ArrayLike, etas: ArrayLike, *, local_steps: int, smoothness: float, variance: float, gap: float
) -> float:
    """Return the bound for the participation and step sizes that really happened (docs/theory.md, theorem A).

    It bounds sum_t w_t E|grad f(x_t)|^2 / sum_t w_t, with w_t from `weights`. Empty rounds have weight 0, so that
    rounds without participants cost time but do not make the bound infinite (E5). Infinite if no round had any.

    >>> bound([0, 5, 5], [0.0, 0.1, 0.1], local_steps=1, smoothness=1.0, variance=0.0, gap=1.9)
    10.0
    """
    constants = Constants(smoothness, variance, gap)
    n_t, eta_t = _checked(counts, etas, local_steps, smoothness)
    total = float(weights(n_t, eta_t, local_steps, smoothness).sum())
    if total == 0:
        return math.inf
    return (gap + float(noise(n_t, eta_t, local_steps, constants).sum())) / total


def bound_for(n_t: ArrayLike, etas: ArrayLike, local_steps: int, constants: Constants) -> float:
    """Return `bound` for constants that come together."""
    return bound(
        n_t,
        etas,
        local_steps=local_steps,
        smoothness=constants.smoothness,
        variance=constants.variance,
        gap=constants.gap,
    )


def weights(n_t: FloatArray, eta_t: FloatArray, local_steps: int, smoothness: float) -> FloatArray:
    """Return w_t: how much a round counts, shape (n_rounds,); 0 in empty rounds."""
    K, L = local_steps, smoothness
    w_t = eta_t - L * eta_t**2 / 2 if K == 1 else K / 2 * (eta_t - 30 * K**2 * L**2 * eta_t**3)
    return np.where(n_t > 0, w_t, 0.0)


def noise(n_t: FloatArray, eta_t: FloatArray, local_steps: int, constants: Constants) -> FloatArray:
    """Return what gradient noise adds in each round, shape (n_rounds,); 0 in empty rounds.

    K L s2 eta_t^2 / (2 n_t), and for K > 1 also the client drift 5 K^2 L^2 s2 eta_t^3 / 2 and, in the first term, the
    factor 1 + (8/7)(K - 1) L eta_t <= 8/7 that the paper's (b4) leaves out (E6).
    """
    K, L, s2 = local_steps, constants.smoothness, constants.variance
    n = np.maximum(n_t, 1)
    averaged = K * L * s2 * eta_t**2 / (2 * n) * (1 + 8 / 7 * (K - 1) * L * eta_t)
    drift = 5 * K**2 * L**2 * s2 * eta_t**3 / 2 if K > 1 else 0.0
    return np.where(n_t > 0, averaged + drift, 0.0)


def _checked(counts: ArrayLike, etas: ArrayLike, local_steps: int, smoothness: float) -> tuple[FloatArray, FloatArray]:
    n_t, eta_t = np.asarray(counts, dtype=np.float64), np.asarray(etas, dtype=np.float64)
    if n_t.ndim != 1 or n_t.shape != eta_t.shape:
        raise InvalidValue("etas", f"one step size a round, shape {n_t.shape}", f"shape {eta_t.shape}")
    if local_steps < 1:
        raise InvalidValue("local_steps", "a whole number >= 1", local_steps)
    eta_t = np.where(n_t > 0, eta_t, 0.0)
    lowest, highest = float(eta_t.min(initial=0)), float(eta_t.max(initial=0))
    limit = largest_step(local_steps, smoothness)
    if lowest < 0 or not highest <= limit * (1 + 1e-12):
        formula = "1/L" if local_steps == 1 else "1/(8 K L)"
        raise InvalidValue("etas", f"in [0, {limit:.6g}] ({formula})", f"{lowest if lowest < 0 else highest:.6g}")
    return n_t, eta_t
