"""Bounds for heterogeneous clients: a plain mean of the participants, inverse-probability weights, and memory (MIFA).

f = (1/N) sum_i f_i is what is to be minimised, zeta^2 the mean of |grad f_i - grad f|^2 over all N clients, at most,
s2 the variance of a client's stochastic gradient around its own grad f_i. Stronger assumptions on participation give
smaller bounds: none (`bound_any`), uniform sampling (`bound_uniform`), independent participation with known
probabilities (`bound_independent`). With zeta^2 = 0 all three equal theorem A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, IntArray
from ehfl.theory.bounds.alike import Constants, averaged_noise, check_eta, checked_steps, drift, largest_step
from ehfl.theory.bounds.descent import Bound, Deviation, Rounds
from ehfl.theory.participants import checked_counts, checked_rates, checked_sets, independent_sets
from ehfl.validation import InvalidValue, whole_number


def bound_any(counts: ArrayLike, etas: ArrayLike, clients: int, local_steps: int, constants: Constants) -> Bound:
    """Return the bound for arbitrary participants (docs/theory.md, theorem C).

    For any S of n of N clients |grad f_S - grad f|^2 <= zeta^2 (N - n)/n; for K = 1 and theta = 1

        sum eta_t E|g_t|^2 <= 2 Delta + sum [eta_t zeta^2 (N - n_t)/n_t + L eta_t^2 s2/n_t].

    >>> round(bound_any([1, 1], [0.5, 0.5], 2, 1, Constants(1.0, 0.0, gap=1e-50, heterogeneity=3.0)).value, 9)
    3.0
    """
    n_t, eta_t = _checked(counts, etas, clients, local_steps, constants)
    N, z2 = clients, constants.heterogeneity
    n = np.maximum(n_t, 1)
    away = z2 * (N - n) / n  # P: |grad f_S - grad f|^2, at most
    share, noise = drift(eta_t, local_steps, constants)  # the share is of the participants' |grad f_i|^2
    # Their mean of |grad f_i|^2 is at most 2|g|^2 + P + N zeta^2 / n, and |g|^2 + zeta^2 if all clients take part.
    slope = np.where(away > 0, 2.0, 1.0) * share
    drifted = noise + share * (away + N * z2 / n)  # R
    # |p + q|^2 <= (1 + alpha)|p|^2 + (1 + 1/alpha)|q|^2 with alpha = sqrt(R/P), which makes what is left smallest.
    ratio = np.sqrt(np.divide(away, drifted, out=np.zeros_like(away), where=drifted > 0))
    bias = (np.sqrt(away) + np.sqrt(drifted)) ** 2
    variance = averaged_noise(n_t, eta_t, local_steps, constants)
    deviation = Deviation(slope * (1 + ratio), bias, variance=variance)
    return Rounds(eta_t, local_steps, constants.smoothness, deviation).bound(constants.gap)


def bound_uniform(counts: ArrayLike, etas: ArrayLike, clients: int, local_steps: int, constants: Constants) -> Bound:
    """Return the bound for n_t participants drawn uniformly, anew in each round (docs/theory.md, theorem D).

    zeta^2 joins the variance, times (N - n_t)/(N - 1): for K = 1 theorem A with s2 + zeta^2 (N - n_t)/(N - 1) for s2
    (S. Wang and M. Ji, "A unified analysis of federated learning with arbitrary client participation", arXiv
    2205.13648).

    >>> noisy = Constants(smoothness=1.0, variance=1.0, gap=1.0, heterogeneity=9.0)
    >>> louder = Constants(smoothness=1.0, variance=1.0 + 9.0 * 5 / 9, gap=1.0)
    >>> from ehfl.theory import bound_alike
    >>> counts, etas = [5] * 9, [0.1] * 9
    >>> bool(np.isclose(bound_uniform(counts, etas, 10, 1, noisy).value, bound_alike(counts, etas, 1, louder).value))
    True
    """
    n_t, eta_t = _checked(counts, etas, clients, local_steps, constants)
    N, z2 = clients, constants.heterogeneity
    n = np.maximum(n_t, 1)
    drawn = z2 * (N - n) / (max(N - 1, 1) * n)  # V: the variance of grad f_S
    share, noise = drift(eta_t, local_steps, constants)
    drifted = noise + share * z2  # R
    # 2|<grad f_S - g, q>| <= gamma |grad f_S - g|^2 + |q|^2 / gamma with gamma = sqrt(R/V).
    ratio = np.sqrt(np.divide(drawn, drifted, out=np.zeros_like(drawn), where=drifted > 0))
    variance = averaged_noise(n_t, eta_t, local_steps, constants) + drawn + 2 * np.sqrt(drawn * drifted)
    deviation = Deviation(share, drifted, share * ratio, variance)
    return Rounds(eta_t, local_steps, constants.smoothness, deviation).bound(constants.gap)


def bound_independent(rates: ArrayLike, etas: ArrayLike, constants: Constants) -> Bound:
    """Return the bound for K = 1 if client i takes part with probability rates[i], independently.

    The mean then weighs client i by q_i on average, and |sum_i q_i grad f_i - grad f|^2 <= chi^2 zeta^2 with
    chi^2 = N sum_i (q_i - 1/N)^2: a floor that no step size takes away, 0 where rates are equal (docs/theory.md,
    theorem E). Step sizes are those of rounds with participants; empty ones, which are not known beforehand, do
    nothing, so that all is multiplied by the chance that there are any.
    """
    sets, z2 = independent_sets(rates), constants.heterogeneity
    eta_t = checked_steps(etas, np.ones(np.shape(etas)), 1, constants.smoothness)
    variance = sets.spread * z2 + constants.variance * sets.inverse_count
    found = Rounds(eta_t, 1, constants.smoothness, Deviation(bias=sets.chi_square * z2, variance=variance))
    return found.bound(constants.gap, chance=sets.not_empty)


def _checked(
    counts: ArrayLike, etas: ArrayLike, clients: int, local_steps: int, constants: Constants
) -> tuple[FloatArray, FloatArray]:
    n_t = checked_counts(counts)
    whole_number("clients", clients, low=1)
    if n_t.max() > clients:
        raise InvalidValue("counts", f"at most {clients} (the clients)", f"{n_t.max():g}")
    return n_t, checked_steps(etas, n_t, local_steps, constants.smoothness)


def bound_inverse_probability(rates: ArrayLike, etas: ArrayLike, constants: Constants) -> Bound:
    """Return the bound for K = 1 if client i takes part with probability p_i = rates[i], independently.

    The direction is (1/N) sum_{i in S} g_i / p_i: E M = grad f, and with v = (max_i 1/p_i - 1)/N

        E|M|^2 <= (1 + v)|grad f|^2 + v zeta^2 + s2 (mean of 1/p_i)/N,

    so that zeta^2 has no floor, only more variance (docs/theory.md, theorem F). For eta_t <= 1/(L (1 + v)). An empty
    round has the direction 0, and is one of those that the expectation is over.

    >>> alike = Constants(smoothness=1.0, variance=1.0, gap=1.0)
    >>> bound_inverse_probability([1.0] * 4, [0.5], alike).value  # theorem A with all clients in every round
    2.75
    """
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


@dataclass(frozen=True, eq=False, slots=True)
class Delays:
    """The ages of the clients' remembered gradients."""

    longest: int  # tau_max: rounds since a client's last turn, the largest over clients with a turn, and rounds
    had_turn: FloatArray  # h_t: share of the clients that took part in round t or before, (n_rounds,)


def delays_of(took_part: ArrayLike) -> Delays:
    """Return the delays of a participation, given as booleans (n_rounds, n_clients).

    >>> delays_of([[True, False], [False, True], [False, True]])
    Delays(longest=2, had_turn=array([0.5, 1. , 1. ]))
    """
    sets = checked_sets(took_part)
    return delays_of_turns(sets.sum(axis=1), np.nonzero(sets)[1], sets.shape[1])


def delays_of_turns(counts: IntArray, participants: IntArray, n_clients: int) -> Delays:
    """Return the delays where `participants` are those of all rounds in a row: a large fleet needs no table.

    A client's delay grows by one a round from its turn on, so it is longest just before its next turn, or at the end.
    """
    order = np.argsort(participants, kind="stable")
    clients, turns = participants[order], np.repeat(np.arange(counts.size), counts)[order]
    first = np.diff(clients, prepend=-1) != 0  # whether a turn is its client's first
    until = np.where(np.roll(first, -1), counts.size, np.roll(turns, -1))  # the client's next turn, or the end
    had_turn = np.cumsum(np.bincount(turns[first], minlength=counts.size)) / n_clients
    return Delays(int((until - turns - 1).max(initial=0)), had_turn)


def bound_memory(delays: Delays, eta: float, constants: Constants) -> Bound:
    """Return the bound for K = 1, exact gradients and one step size eta <= 1/(L (1 + tau_max)) (theorem G).

        sum_t eta h_t |g_t|^2 <= 2 Delta + eta (1 + tau_max) zeta^2 sum over rounds with 0 < h_t < 1 of (1 - h_t).

    After every client's first turn, zeta^2 has no effect. There is no floor, for any rates, if tau_max = o(T) and
    (1 + tau_max) sum (1 - h_t) = o(T): no client stays away for a share of all rounds, or comes only after one.
    Gradient noise is not covered: the memory keeps it for many rounds, so that it is not independent of the model.
    """
    if constants.variance > 0:
        raise InvalidValue("variance", "0 (the theorem is for exact gradients)", constants.variance)
    limit = largest_step_with_memory(delays, constants.smoothness)
    check_eta(eta, limit, f"1/(L (1 + {delays.longest}))")
    weights = eta * delays.had_turn
    starting = (1 - delays.had_turn)[(delays.had_turn > 0) & (delays.had_turn < 1)].sum()
    cost = eta * (1 + delays.longest) * constants.heterogeneity * float(starting)
    total = float(weights.sum())
    return Bound((2 * constants.gap + cost) / total if total else math.inf, weights)


def largest_step_with_memory(delays: Delays, smoothness: float) -> float:
    """Return 1/(L (1 + tau_max)), the largest step size for which the bound is proven."""
    return largest_step(1, smoothness) / (1 + delays.longest)
