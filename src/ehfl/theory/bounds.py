"""The bound on the gradient norm for the participation and step sizes that really happened.

Notation of the paper: Delta = f(x_0) - f*, L smoothness, s2 the variance of a stochastic gradient, K local steps, eta_t
step sizes, n_t participants. Derivations, and what is wrong in the print (errata E1 to E7), stand in docs/theory.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, real_numbers
from ehfl.theory.counts import checked_counts
from ehfl.validation import InvalidValue, is_number, of_kind, short, whole_number

# Of theorem A for K > 1: how far clients drift (e^(9/16)/4 and 2 e^(9/16), rounded up) and how noise meets later
# gradients (e^(1/8)/2, rounded up).
_DRIFT, _GROWTH, _CROSS = 0.44, 3.52, 4 / 7


@dataclass(frozen=True, slots=True)
class Constants:
    """What a bound needs to know of a problem."""

    smoothness: float  # L
    variance: float  # s2 [squared gradient norm]
    gap: float  # Delta = f(x_0) - f*

    def __post_init__(self) -> None:
        # beyond these, products of powers of them would leave the range of floating point
        _check_constant("smoothness", self.smoothness)
        for name, value in (("variance", self.variance), ("gap", self.gap)):
            if not (is_number(value) and value == 0):
                _check_constant(name, value, "0 or in")


def _check_constant(name: str, value: float, allowed: str = "in") -> None:
    if not (is_number(value) and 1e-50 <= value <= 1e50):
        raise InvalidValue(name, f"{allowed} [1e-50, 1e50]", value)


def check_steps(local_steps: int, low: int = 1) -> int:
    """Return the number of local steps K; of more than these, the powers that bounds have would leave the range."""
    return whole_number("local_steps", local_steps, low=low, high=1_000_000_000)


def largest_step(local_steps: int, smoothness: float) -> float:
    """Return the largest eta_t for which the realised bound is proven: 1/L for K = 1, else 1/(8 K L)."""
    check_steps(local_steps)
    _check_constant("smoothness", smoothness)
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
    return bound_for(counts, etas, local_steps, Constants(smoothness, variance, gap))


def bound_for(counts: ArrayLike, etas: ArrayLike, local_steps: int, constants: Constants) -> float:
    """Return `bound` for constants that come together."""
    n_t = checked_counts(counts)
    constants = of_kind("constants", constants, Constants)
    eta_t = _checked_etas(etas, n_t, local_steps, constants.smoothness)
    total = float(weights(n_t, eta_t, local_steps, constants.smoothness).sum())
    if total == 0:
        return math.inf
    return (constants.gap + float(noise(n_t, eta_t, local_steps, constants).sum())) / total


def weights(n_t: FloatArray, eta_t: FloatArray, local_steps: int, smoothness: float) -> FloatArray:
    """Return w_t: how much a round counts, shape (n_rounds,); 0 in empty rounds."""
    K, L = local_steps, smoothness
    w_t = eta_t - L * eta_t**2 / 2 if K == 1 else K / 2 * (eta_t - _GROWTH * K * (K - 1) * L**2 * eta_t**3)
    return np.where(n_t > 0, w_t, 0.0)


def noise(n_t: FloatArray, eta_t: FloatArray, local_steps: int, constants: Constants) -> FloatArray:
    """Return what gradient noise adds in each round, shape (n_rounds,); 0 in empty rounds.

    K L s2 eta_t^2 / (2 n_t), and for K > 1 the clients' drift, which averaging does not reduce.
    """
    K, L, s2 = local_steps, constants.smoothness, constants.variance
    n = np.maximum(n_t, 1)
    averaged = K * L * s2 * eta_t**2 / (2 * n)
    drift = K * (K - 1) * L**2 * s2 * eta_t**3 * (_DRIFT + _CROSS / n)
    return np.where(n_t > 0, averaged + drift, 0.0)


def leading_order(counts: ArrayLike, etas: ArrayLike, local_steps: int = 1) -> float:
    """Return sqrt(sum eta_t^2 / n_t) / (sqrt(K) sum eta_t): the realised bound for small steps, but for constants.

    With steps c eta_t and c the best, the bound of many rounds is a constant of the problem times this. So it compares
    schedulers where noise is what holds learning back; as bounds fall with 1 / sqrt(T), the square of a ratio says how
    many times as many rounds. Infinite if no round had participants.

    >>> leading_order([4] * 25, [0.125] * 25)  # 1 / sqrt(n T)
    0.1
    """
    n_t, eta_t = _active(counts, etas)
    K = check_steps(local_steps)
    largest = eta_t.max()
    if largest == 0:
        return math.inf
    eta_t = eta_t / largest  # the scale does not matter, and squares of very small steps would vanish
    return math.sqrt(float((eta_t**2 / np.maximum(n_t, 1)).sum()) / K) / float(eta_t.sum())


def _active(counts: ArrayLike, etas: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return n_t and eta_t, the latter 0 in empty rounds."""
    n_t = checked_counts(counts)
    allowed = f"one step size a round, shape {n_t.shape}"
    eta_t = real_numbers("etas", etas, allowed)
    if n_t.shape != eta_t.shape:
        raise InvalidValue("etas", allowed, f"shape {eta_t.shape}")
    if not (np.isfinite(eta_t) & (eta_t >= 0)).all():
        raise InvalidValue("etas", "finite numbers >= 0", short(str(etas)))
    return n_t, np.where(n_t > 0, eta_t, 0.0)


def step_for(value: float, n_t: FloatArray, local_steps: int, constants: Constants) -> FloatArray:
    """Return the eta_t that make value * w_t - noise_t largest, within the condition; 0 in empty rounds.

    Setting the derivative to zero gives a quadratic in eta_t for K > 1, and eta_t = b n_t / (L (s2 + b n_t)) for K = 1.
    """
    K, L, s2, b = local_steps, constants.smoothness, constants.variance, value
    n = np.maximum(n_t, 1)
    if K == 1:
        eta_t = b * n / (L * (s2 + b * n))
    else:
        square = 3 * K * (K - 1) * L**2 * (s2 * (_DRIFT + _CROSS / n) + _GROWTH * b * K / 2)
        line = K * L * s2 / n
        eta_t = b * K / (line + np.sqrt(line**2 + 2 * b * K * square))
    return np.where(n_t > 0, np.minimum(eta_t, largest_step(K, L)), 0.0)


def _checked_etas(etas: ArrayLike, n_t: FloatArray, local_steps: int, smoothness: float) -> FloatArray:
    _, eta_t = _active(n_t, etas)
    highest, limit = float(eta_t.max()), largest_step(local_steps, smoothness)
    if highest > limit * (1 + 1e-12):
        formula = "1/L" if local_steps == 1 else "1/(8 K L)"
        raise InvalidValue("etas", f"in [0, {limit:.6g}] ({formula})", f"{highest:.6g}")
    return eta_t
