"""Participants that come by chance: what a mean of them, and a sum with inverse probabilities, makes of gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, real_numbers
from ehfl.validation import InvalidValue

MOST_CLIENTS = 64  # pairs of clients are looked at one by one


@dataclass(frozen=True, eq=False, slots=True)
class RandomSets:
    """What matters of a random set S of N clients, given that it is not empty; the same chances in every round."""

    anybody: float  # P(S not empty)
    weights: FloatArray  # q_i = E 1{i in S} / |S|, (n_clients,)
    inverse_count: float  # E 1/|S|
    spread: float  # E|grad f_S - its mean|^2 over zeta^2, at most

    @property
    def chi_square(self) -> float:
        """N sum_i (q_i - 1/N)^2."""
        return float(imbalance(self.weights))


def imbalance(weights: FloatArray) -> FloatArray:
    """Return chi^2 = N sum_i (q_i - 1/N)^2 of what N clients weigh, along the last axis.

    >>> float(imbalance(np.array([0.25, 0.5, 0.25])))
    0.125
    """
    n_clients = weights.shape[-1]
    return np.asarray(n_clients * np.square(weights - 1 / n_clients).sum(axis=-1))


def independent_sets(rates: ArrayLike) -> RandomSets:
    """Return the sets that come about where each client takes part with a chance of its own.

    With d_i = grad f_i - grad f the variance of the mean over S is sum_ij C_ij <d_i, d_j>,
    C_ij = E 1{i, j in S} / |S|^2 - q_i q_j, so at most N zeta^2 times the largest eigenvalue of C. Everything follows
    from the law of how many others take part.

    >>> found = independent_sets([1.0, 0.5])  # one of two, or both
    >>> found.weights.tolist(), found.inverse_count, found.chi_square
    ([0.75, 0.25], 0.75, 0.25)
    """
    p = checked_rates(rates)
    if p.size > MOST_CLIENTS:
        raise InvalidValue("rates", f"those of at most {MOST_CLIENTS} clients", f"{p.size} of them")
    how_many = number_of(p)[1:]
    anybody = float(how_many.sum())  # 1 - P(nobody) would lose digits of small rates
    if anybody == 0:
        raise InvalidValue("rates", "above 0 for one client at least", "0 for all")
    together = np.empty((p.size, p.size))  # E 1{i, j in S} / |S|^2
    weights, sizes = np.empty(p.size), np.arange(1, p.size + 1)
    for i in range(p.size):
        others = number_of(np.delete(p, i))
        weights[i], together[i, i] = p[i] * (others @ (1 / sizes)), p[i] * (others @ (1 / sizes**2))
        for j in range(i):
            together[i, j] = together[j, i] = p[i] * p[j] * (number_of(np.delete(p, [j, i])) @ (1 / sizes[1:] ** 2))
    weights /= anybody
    covariance = together / anybody - np.outer(weights, weights)
    spread = p.size * max(0.0, float(np.linalg.eigvalsh(covariance)[-1]))
    return RandomSets(anybody, weights, float(how_many @ (1 / sizes)) / anybody, spread)


def number_of(rates: FloatArray) -> FloatArray:
    """Return the law of how many of these clients take part, (n_clients + 1,).

    >>> number_of(np.array([0.5, 0.5])).tolist()
    [0.25, 0.5, 0.25]
    """
    law = np.ones(1)
    for rate in rates:
        law = np.convolve(law, [1 - rate, rate])
    return law


def checked_rates(rates: ArrayLike, *, positive: bool = False) -> FloatArray:
    """Return chances of taking part, one per client, or refuse what cannot be any."""
    allowed = f"numbers in {'(0' if positive else '[0'}, 1], one per client"
    p = real_numbers("rates", rates, allowed)
    if p.ndim != 1 or p.size == 0:
        raise InvalidValue("rates", allowed, f"an array of shape {p.shape}")
    wrong = ~((p >= 0) & (p <= 1)) | (positive & (p == 0))
    if wrong.any():
        raise InvalidValue("rates", allowed, f"{p[wrong][0]:g} for client {int(np.argmax(wrong))}")
    return p
