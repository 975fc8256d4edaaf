"""Theorems 1 and 2 of the paper, as printed and as their proofs give them.

Both assume eta_t = eta sqrt(n_t / T) and bound (1/T) sum_t E|grad f(x_t)|^2 by the extremes n_min and n_max of n_t.
With n_min = 0, as in the first round of batteries that begin empty, they are vacuous: infinity (E5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.theory.bounds.alike import Constants, bound_alike, check_eta, check_steps, largest_step
from ehfl.theory.bounds.optimal import RULES, best_along, best_of_all, pace
from ehfl.theory.participants import checked_counts
from ehfl.validation import InvalidValue, whole_number

_ROOT30 = math.sqrt(30)


@dataclass(frozen=True, slots=True)
class Extremes:
    """The statistics of a participation in the theorems."""

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
    largest_step(local_steps, smoothness)  # also checks local_steps and smoothness
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


@dataclass(frozen=True, slots=True)
class Promise:
    """The bounds for one participation."""

    n_min: int
    n_max: int
    eta: float  # the theorem's parameter: eta_t = eta sqrt(n_t / T)
    largest_eta: float  # the condition of the corrected theorem
    eta_printed: float  # what the printed theorem is given: the same as far as it allows
    largest_eta_printed: float
    printed: float  # the paper's theorem as printed; inf where its conditions fail
    corrected: float
    realised: dict[str, float]  # by step size rule, each with its best factor
    best: float  # with the best step sizes of all


def bound_slowdown(kept: Promise, mains: ArrayLike, local_steps: int, constants: Constants) -> dict[str, float]:
    """Return the ratio of rounds to those on mains power for the same bound, by step-size rule.

    `mains` holds n_t on mains power, the same in every round. Infinite where there were no participants at all.
    """
    if np.ptp(checked_counts(mains, "mains")) > 0:
        raise InvalidValue("mains", "the same in every round", "counts that vary")
    values = kept.realised | {"best": kept.best}
    return {
        rule: math.inf if math.isinf(value) else pace(value, mains, local_steps, constants)
        for rule, value in values.items()
    }


def promise(counts: ArrayLike, local_steps: int, constants: Constants) -> Promise:
    """Return all bounds for these n_t; eta is the best for the realised bound with the sqrt rule.

    >>> kept = promise([5] * 100, 1, Constants(smoothness=1.0, variance=1.0, gap=1.0))
    >>> math.isclose(kept.corrected, kept.realised["sqrt"])  # equal where n_t never varies
    True
    """
    n_t = checked_counts(counts)
    extremes = Extremes(int(n_t.min()), max(1, int(n_t.max())), n_t.size)
    steps = {rule: best_along(rule, n_t, local_steps, constants) for rule in RULES}
    best = best_of_all(n_t, local_steps, constants)
    wide, tight = (largest_eta(extremes, local_steps, constants.smoothness, printed=one) for one in (False, True))
    eta = min(float(steps["sqrt"].max()) * math.sqrt(n_t.size / extremes.n_max), wide)

    def theorem(eta: float, *, printed: bool) -> float:
        if eta == 0:  # no round has participants
            return math.inf
        if local_steps == 1:
            return theorem1(extremes, eta, constants, printed=printed)
        return theorem2(extremes, eta, local_steps, constants, printed=printed)

    return Promise(
        n_min=extremes.n_min,
        n_max=int(n_t.max()),
        eta=eta,
        largest_eta=wide,
        eta_printed=min(eta, tight),
        largest_eta_printed=tight,
        printed=theorem(min(eta, tight), printed=True),
        corrected=theorem(eta, printed=False),
        realised={rule: bound_alike(n_t, etas, local_steps, constants).value for rule, etas in steps.items()},
        best=bound_alike(n_t, best, local_steps, constants).value,
    )
