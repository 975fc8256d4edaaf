"""The participation as input of theory: counts, sets or probabilities; and each client's weight in a plain mean.

chi^2 = N sum_i (q_i - 1/N)^2 measures how unevenly, q_i being the mean weight of client i. It is 0 where all weigh the
same, and N - 1 where a single client is all that the model hears of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import BoolArray, FloatArray, real_numbers
from ehfl.validation import InvalidValue

MOST_CLIENTS = 64  # the cost grows with the pairs of clients
_ALLOWED = "whole numbers >= 0, one a round"
_MOST_NODES = 512  # of the quadrature; enough for rounding to be all the error there is, up to a tile of clients


@dataclass(frozen=True, eq=False, slots=True)
class RandomSets:
    """Moments of a random set S of N clients, given that it is not empty; the same law in every round."""

    not_empty: float  # P(S not empty)
    weights: FloatArray  # q_i = E 1{i in S} / |S|, (n_clients,)
    inverse_count: float  # E 1/|S|
    spread: float  # E|grad f_S - its mean|^2 over zeta^2, at most

    @property
    def chi_square(self) -> float:
        """N sum_i (q_i - 1/N)^2."""
        return float(chi_square_of(self.weights))


def chi_square_of(weights: FloatArray) -> FloatArray:
    """Return chi^2 = N sum_i (q_i - 1/N)^2 of what N clients weigh, along the last axis; 0 where none weighs anything.

    >>> chi_square_of(np.array([[0.25, 0.5, 0.25], [0.0, 0.0, 0.0]])).tolist()
    [0.125, 0.0]
    """
    n_clients = weights.shape[-1]
    return np.where(weights.any(axis=-1), n_clients * np.square(weights - 1 / n_clients).sum(axis=-1), 0.0)


def independent_weights(rates: FloatArray) -> FloatArray:
    """Return q_i where client i takes part with chance rates[i], independently; shape (n_clients,).

    As 1/n = integral of s^(n-1) over [0, 1],

        P(S not empty) q_i = integral over [0, 1] of rates_i prod_{j != i} (1 - rates_j + rates_j s) ds.

    The integrand is a polynomial of degree N - 1, for which Gauss's rule with N/2 nodes is exact. Products are sums
    of logarithms, so that none of them underflows. All integrals together are P(S not empty), by which they are
    divided.

    >>> independent_weights(np.array([1.0, 0.5])).tolist()  # alone in half of the rounds, one of two in the others
    [0.75, 0.25]
    """
    nodes, areas = np.polynomial.legendre.leggauss(min((rates.size + 1) // 2, _MOST_NODES))
    logs = np.log1p(np.multiply.outer((nodes - 1) / 2, rates))  # log(1 - rate + rate s), (n_nodes, n_clients)
    others = np.exp(logs.sum(axis=1, keepdims=True) - logs)
    weights: FloatArray = rates * (areas @ others)
    return weights / weights.sum() if weights.any() else weights


def independent_sets(rates: ArrayLike) -> RandomSets:
    """Return the random sets of clients that take part independently with these probabilities.

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
    not_empty = float(how_many.sum())  # 1 - P(S empty) would lose digits of small rates
    if not_empty == 0:
        raise InvalidValue("rates", "above 0 for one client at least", "0 for all")
    weights, sizes = independent_weights(p), np.arange(1, p.size + 1)
    together = np.empty((p.size, p.size))  # E 1{i, j in S} / |S|^2
    for i in range(p.size):
        together[i, i] = p[i] * (number_of(np.delete(p, i)) @ (1 / sizes**2))
        for j in range(i):
            together[i, j] = together[j, i] = p[i] * p[j] * (number_of(np.delete(p, [j, i])) @ (1 / sizes[1:] ** 2))
    covariance = together / not_empty - np.outer(weights, weights)
    spread = p.size * max(0.0, float(np.linalg.eigvalsh(covariance)[-1]))
    return RandomSets(not_empty, weights, float(how_many @ (1 / sizes)) / not_empty, spread)


def number_of(rates: FloatArray) -> FloatArray:
    """Return the law of the number of participants, (n_clients + 1,).

    >>> number_of(np.array([0.5, 0.5])).tolist()
    [0.25, 0.5, 0.25]
    """
    law = np.ones(1)
    for rate in rates:
        law = np.convolve(law, [1 - rate, rate])
    return law


def checked_rates(rates: ArrayLike, *, positive: bool = False) -> FloatArray:
    """Return probabilities to take part, one per client; raise an error for invalid ones."""
    allowed = f"numbers in {'(0' if positive else '[0'}, 1], one per client"
    p = real_numbers("rates", rates, allowed)
    if p.ndim != 1 or p.size == 0:
        raise InvalidValue("rates", allowed, f"an array of shape {p.shape}")
    wrong = ~((p >= 0) & (p <= 1)) | (positive & (p == 0))
    if wrong.any():
        raise InvalidValue("rates", allowed, f"{p[wrong][0]:g} for client {int(np.argmax(wrong))}")
    return p


def checked_counts(counts: ArrayLike, name: str = "counts") -> FloatArray:
    """Return n_t as floats, shape (n_rounds,); raise an error for invalid counts. Integral floats are valid.

    >>> checked_counts([5.0, 0, 2]).tolist()
    [5.0, 0.0, 2.0]
    """
    n_t = real_numbers(name, counts, _ALLOWED)
    if n_t.ndim != 1 or n_t.size == 0:
        raise InvalidValue(name, _ALLOWED, f"an array of shape {n_t.shape}")
    wrong = ~(np.isfinite(n_t) & (n_t >= 0) & (n_t == np.floor(n_t)))
    if wrong.any():
        t = int(np.argmax(wrong))
        raise InvalidValue(name, _ALLOWED, f"{n_t[t]:g} in round {t}")
    return n_t


def checked_sets(took_part: ArrayLike) -> BoolArray:
    """Return the participation as booleans, shape (n_rounds, n_clients); raise an error for other input."""
    sets = np.asarray(took_part)
    if sets.ndim != 2 or sets.size == 0 or sets.dtype != np.bool_:
        allowed = "booleans, shape (n_rounds, n_clients)"
        raise InvalidValue("took_part", allowed, f"an array of {sets.dtype} and shape {sets.shape}")
    return sets
