"""Theorems 1 and 2 of the paper, as printed and as their proofs give them.

Both assume eta_t = eta sqrt(n_t / T) and bound (1/T) sum_t E|grad f(x_t)|^2 by the extremes n_min and n_max of n_t.
With n_min = 0, which energy from zero forces on the first round, they say nothing: infinity (E5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ehfl.theory.bounds import Constants, check_eta, check_steps, largest_step
from ehfl.validation import of_kind, whole_number

_ROOT30 = math.sqrt(30)


@dataclass(frozen=True, slots=True)
class Extremes:
    """What the theorems keep of a participation."""

    n_min: int
    n_max: int
    rounds: int  # T

    def __post_init__(self) -> None:
        whole_number("rounds", self.rounds, low=1)
        whole_number("n_min", self.n_min, low=0)
        whole_number("n_max", self.n_max, low=max(1, self.n_min))


def largest_eta(extremes: Extremes, local_steps: int, smoothness: float, *, printed: bool = False) -> float:
    """Return the largest eta the theorem allows; for K > 1 the printed condition is sqrt(T) tighter than needed (E4).

    >>> largest_eta(Extremes(5, 5, 500), local_steps=1, smoothness=2.0)
    5.0
    """
    extremes = of_kind("extremes", extremes, Extremes)
    largest_step(local_steps, smoothness)  # refuses what cannot be either
    of_kind("printed", printed, bool)
    T, n_max = extremes.rounds, extremes.n_max
    if local_steps == 1:
        return math.sqrt(T / n_max) / smoothness
    return math.sqrt((1 if printed else T) / (30 * n_max)) / (2 * local_steps * smoothness)


def theorem1(extremes: Extremes, eta: float, constants: Constants, *, printed: bool = False) -> float:
    """Return Theorem 1 (K = 1): (Delta + L s2 eta^2 / 2) / (eta sqrt(n_min T) - L eta^2 n_min / 2).

    The print has L s2 in place of L s2 eta^2 (E1).

    >>> theorem1(Extremes(4, 4, 100), 1.0, Constants(smoothness=1.0, variance=2.0, gap=17.0))
    1.0
    """
    constants = of_kind("constants", constants, Constants)
    check_eta(eta, largest_eta(extremes, 1, constants.smoothness))
    n_min, T, L = extremes.n_min, extremes.rounds, constants.smoothness
    below = eta * math.sqrt(n_min * T) - L * eta**2 * n_min / 2
    noise = L * constants.variance * (1 if printed else eta**2) / 2
    return (constants.gap + noise) / below if below > 0 else math.inf


def theorem2(extremes: Extremes, eta: float, local_steps: int, constants: Constants, *, printed: bool = False) -> float:
    """Return Theorem 2 (K > 1), with D = eta sqrt(n_min T) - sqrt(30) K L eta^2 n_min.

    (2 Delta / K + L s2 eta^2) / D + 5 K L^2 s2 eta^3 n_max^1.5 / (sqrt(T) D). The print has another last denominator
    (E3): within the printed condition it is true but loose; beyond, where it claims nothing, it turns negative.
    """
    check_steps(local_steps, low=2)
    constants = of_kind("constants", constants, Constants)
    check_eta(eta, largest_eta(extremes, local_steps, constants.smoothness))
    K, L, s2 = local_steps, constants.smoothness, constants.variance
    n_min, n_max, T = extremes.n_min, extremes.n_max, extremes.rounds
    below = eta * math.sqrt(n_min * T) - _ROOT30 * K * L * eta**2 * n_min
    last = math.sqrt(T) * below
    if printed:
        last = eta * math.sqrt(n_min * T) - _ROOT30 * K * L * eta**2 * n_min * math.sqrt(T)
    if below <= 0 or last <= 0:
        return math.inf
    drift = 5 * K * L**2 * s2 * eta**3 * math.sqrt(n_max**3)
    return (2 * constants.gap / K + L * s2 * eta**2) / below + drift / last
