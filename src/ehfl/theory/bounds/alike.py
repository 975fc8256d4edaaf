"""The bound on the gradient norm for the actual participation and step sizes.

Notation of the paper: Delta = f(x_0) - f*, L smoothness, s2 the variance of a stochastic gradient, K local steps, eta_t
step sizes, n_t participants. docs/theory.md has the derivations and the paper's errata (E1 to E12).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, real_numbers
from ehfl.theory.bounds.descent import Bound, Deviation, Rounds
from ehfl.theory.participants import checked_counts
from ehfl.validation import InvalidValue, is_number, short, whole_number

# For K > 1: how far clients drift (e^(9/16)/2, rounded up) and how noise meets later gradients (e^(1/8)/2, rounded up).
DRIFT, CROSS = 0.88, 4 / 7
_HALVINGS = 120  # enough to bisect 100 powers of ten down to rounding


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of a problem that a bound depends on."""

    smoothness: float  # L
    variance: float  # s2 [squared gradient norm]
    gap: float  # Delta = f(x_0) - f*
    heterogeneity: float = 0.0  # zeta^2 = mean over clients of |grad f_i - grad f|^2, at most [squared gradient norm]

    def __post_init__(self) -> None:
        # products of powers of larger values would overflow floating point
        _check_constant("smoothness", self.smoothness)
        for name in ("variance", "gap", "heterogeneity"):
            value = getattr(self, name)
            if not (is_number(value) and value == 0):
                _check_constant(name, value, "0 or in")


def _check_constant(name: str, value: float, allowed: str = "in") -> None:
    if not (is_number(value) and 1e-50 <= value <= 1e50):
        raise InvalidValue(name, f"{allowed} [1e-50, 1e50]", value)


def check_steps(local_steps: int, low: int = 1) -> int:
    """Return the number of local steps K; raise an error for larger ones, whose powers overflow in the bounds."""
    return whole_number("local_steps", local_steps, low=low, high=1_000_000_000)


def largest_step(local_steps: int, smoothness: float) -> float:
    """Return the largest eta_t for which the realised bound is proven: 1/L for K = 1, else 1/(8 K L)."""
    check_steps(local_steps)
    _check_constant("smoothness", smoothness)
    return 1 / smoothness if local_steps == 1 else 1 / (8 * local_steps * smoothness)


def bound(
    counts: ArrayLike, etas: ArrayLike, *, local_steps: int, smoothness: float, variance: float, gap: float
) -> float:
    """Return the bound for the actual participation and step sizes (docs/theory.md, theorem A).

    It bounds sum_t w_t E|grad f(x_t)|^2 / sum_t w_t, with w_t from `bound_alike`. Empty rounds have weight 0, so that
    rounds without participants cost time but do not make the bound infinite (E5). Infinite if no round had any.

    >>> bound([0, 5, 5], [0.0, 0.1, 0.1], local_steps=1, smoothness=1.0, variance=0.0, gap=1.9)
    10.0
    """
    return bound_alike(counts, etas, local_steps, Constants(smoothness, variance, gap)).value


def bound_alike(counts: ArrayLike, etas: ArrayLike, local_steps: int, constants: Constants) -> Bound:
    """Return theorem A, with its weights, for identically distributed data."""
    n_t = checked_counts(counts)
    eta_t = checked_steps(etas, n_t, local_steps, constants.smoothness)
    return rounds_alike(n_t, eta_t, local_steps, constants).bound(constants.gap)


def rounds_alike(n_t: FloatArray, eta_t: FloatArray, local_steps: int, constants: Constants) -> Rounds:
    """Return the rounds of theorem A: fresh samples of one distribution for every step of every client."""
    alike = Deviation(
        *drift(eta_t, local_steps, constants), variance=averaged_noise(n_t, eta_t, local_steps, constants)
    )
    return Rounds(eta_t, local_steps, constants.smoothness, alike)


def drift(eta_t: FloatArray, local_steps: int, constants: Constants) -> tuple[FloatArray, FloatArray]:
    """Return a and r of E|u|^2 <= a |g|^2 + r, u being the drift of true gradients along K local steps.

    a = 3.52 K(K-1) L^2 eta^2, r = 0.88 (K-1) L^2 eta^2 s2: averaging over clients does not reduce them.
    """
    K, L = local_steps, constants.smoothness
    per_noise = DRIFT * (K - 1) * L**2 * eta_t**2
    return 4 * K * per_noise, per_noise * constants.variance


def averaged_noise(n_t: FloatArray, eta_t: FloatArray, local_steps: int, constants: Constants) -> FloatArray:
    """Return the gradient noise in E|M|^2: s2 / (n_t K), and for K > 1 its correlation with later gradients."""
    K, L, s2 = local_steps, constants.smoothness, constants.variance
    return s2 / (np.maximum(n_t, 1) * K) * (1 + 2 * CROSS * (K - 1) * L * eta_t)


def leading_order(counts: ArrayLike, etas: ArrayLike, local_steps: int = 1) -> float:
    """Return sqrt(sum eta_t^2 / n_t) / (sqrt(K) sum eta_t): the realised bound for small steps, up to constants.

    With steps c eta_t and the best c, the bound for many rounds is this value times a constant of the problem. So it
    compares schedulers when noise limits learning; as bounds fall with 1 / sqrt(T), the square of a ratio is the ratio
    of rounds needed. Infinite if no round had participants.

    >>> leading_order([4] * 25, [0.125] * 25)  # 1 / sqrt(n T)
    0.1
    """
    n_t, eta_t = _active(counts, etas)
    K = check_steps(local_steps)
    largest = eta_t.max()
    if largest == 0:
        return math.inf
    eta_t = eta_t / largest  # the result is scale-invariant; this avoids underflow of squares
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
    """Return the eta_t that make value * w_t - noise_t of theorem A largest, within the condition; 0 in empty rounds.

    For K = 1 it is b n_t / (L (s2 + b n_t)). For K > 1 and the best theta = S eta, S^2 = 0.88 (K-1) L^2 (4 K + s2/b),
    the derivative falls from b to where it is 0 or the condition ends the search; theta stays below 1/2.
    """
    K, L, s2, b = local_steps, constants.smoothness, constants.variance, value
    n, index = np.unique(np.maximum(n_t, 1), return_inverse=True)
    eta = b * n / (L * (s2 + b * n)) if K == 1 else _root(b, n, K, constants)
    return np.where(n_t > 0, np.minimum(eta, largest_step(K, L))[index], 0.0)


def _root(b: float, n: FloatArray, K: int, constants: Constants) -> FloatArray:
    """Return where value * w - noise of one round stops growing with eta, for each n, at most 1/(8 K L).

    Its derivative over K b is 1 - (p + 2 S + q) eta + (3 p S - c) eta^2 - 2 p S^2 eta^3 with p = L K, q = L s2/(n b),
    c = (12/7) (K-1) L^2 s2/(n b); it is halved in on, on a scale of logarithms since constants may be of any size.
    """
    L, noise = constants.smoothness, constants.variance / b
    p, S = L * K, L * math.sqrt(DRIFT * (K - 1) * (4 * K + noise))
    q, c = L * noise / n, 3 * CROSS * (K - 1) * L**2 * noise / n
    # Below this bound each negative term is at most a fifth of the leading 1.
    high = np.full(n.size, largest_step(K, L))
    low = np.minimum(high, 0.2 / (p + 2 * S + q))
    low = np.minimum(low, math.cbrt(0.1 / p / S / S))
    low = np.minimum(low, np.sqrt(0.2 / c) if noise else math.inf)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low) * np.sqrt(high)
        grows = 1 - (p + 2 * S + q) * middle + (3 * p * S - c) * middle**2 - 2 * p * S**2 * middle**3 > 0
        low, high = np.where(grows, middle, low), np.where(grows, high, middle)
    return high


def check_eta(eta: float, largest: float, formula: str = "") -> None:
    """Raise an error if a theorem does not allow this eta; `formula` explains its limit."""
    if not (is_number(eta) and 0 < eta <= largest * (1 + 1e-12)):
        allowed = f"in (0, {largest:.6g}]{f' ({formula})' if formula else ''}"
        raise InvalidValue("eta", allowed, f"{eta:.6g}" if is_number(eta) else repr(eta))


def checked_steps(
    etas: ArrayLike, n_t: FloatArray, local_steps: int, smoothness: float, limit: float | None = None, formula: str = ""
) -> FloatArray:
    """Return eta_t, 0 in empty rounds; raise an error beyond the theorem's condition (default: theorem A's)."""
    _, eta_t = _active(n_t, etas)
    if limit is None:
        limit, formula = largest_step(local_steps, smoothness), "1/L" if local_steps == 1 else "1/(8 K L)"
    highest = float(eta_t.max())
    if highest > limit * (1 + 1e-12):
        raise InvalidValue("etas", f"in [0, {limit:.6g}] ({formula})", f"{highest:.6g}")
    return eta_t
