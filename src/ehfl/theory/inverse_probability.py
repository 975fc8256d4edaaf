"""The bound for inverse-probability weights: unbiased for any data and rates, at a price in variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.theory.bounds import Constants, checked_steps, largest_step
from ehfl.theory.chances import checked_rates
from ehfl.theory.descent import Bound, Deviation, Rounds
from ehfl.validation import of_kind


def bound_inverse_probability(rates: ArrayLike, etas: ArrayLike, constants: Constants) -> Bound:
    """Return the bound for K = 1 where client i takes part with chance p_i = rates[i], whatever else happens.

    The direction is (1/N) sum_{i in S} g_i / p_i: E M = grad f, and with v = (max_i 1/p_i - 1)/N

        E|M|^2 <= (1 + v)|grad f|^2 + v zeta^2 + s2 (mean of 1/p_i)/N,

    so that zeta^2 has no floor, only more variance (docs/theory.md, theorem F). For eta_t <= 1/(L (1 + v)). An empty
    round has the direction 0, and is one of those that the expectation is over.

    >>> alike = Constants(smoothness=1.0, variance=1.0, gap=1.0)
    >>> bound_inverse_probability([1.0] * 4, [0.5], alike).value  # theorem A with everybody in every round
    2.75
    """
    constants = of_kind("constants", constants, Constants)
    p = checked_rates(rates, positive=True)
    share, limit = variance_share(p), largest_step_of(p, constants.smoothness)
    eta_t = checked_steps(etas, np.ones(np.shape(etas)), 1, constants.smoothness, limit, "1/(L (1 + v))")
    variance = share * constants.heterogeneity + constants.variance * float((1 / p).mean()) / p.size
    return Rounds(eta_t, 1, constants.smoothness, Deviation(variance_share=share, variance=variance)).bound(
        constants.gap
    )


def variance_share(rates: FloatArray) -> float:
    """Return v = (max_i 1/p_i - 1)/N: the variance of M, without gradient noise, over the mean of |grad f_i|^2."""
    return (1 / float(rates.min()) - 1) / rates.size


def largest_step_of(rates: FloatArray, smoothness: float) -> float:
    """Return the largest eta_t for which the bound is proven: 1/(L (1 + v))."""
    return largest_step(1, smoothness) / (1 + variance_share(rates))
