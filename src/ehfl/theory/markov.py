"""Markov chains with few states: their law from round to round, and the one that they come to rest in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.theory.batteries import Turnout


@dataclass(frozen=True, eq=False)
class Chain:
    """Levels of a whole fleet as one state, a round as a product of sparse matrices: who pays, then who harvests."""

    start: FloatArray  # the law of the first state, (n_states,)
    counts: IntArray  # n_t in each state, (n_states,)
    wasted: FloatArray  # units expected to find a full battery in a round that begins in the state, (n_states,)
    factors: tuple[Any, ...]  # row-stochastic matrices of SciPy, (n_states, n_states) each
    clients: int

    def turnout(self, rounds: int) -> Turnout:
        """Return the law of n_t in rounds 0 to rounds - 1."""
        law, laws, wasted = self.start, np.empty((rounds, self.clients + 1)), np.empty(rounds)
        for t in range(rounds):
            laws[t], wasted[t] = self._counted(law), law @ self.wasted
            for factor in self.factors:
                law = factor.T @ law
        return Turnout(laws, wasted)

    def long_run(self) -> Turnout:
        """Return the stationary law of n_t."""
        transitions = self.factors[0].toarray()
        for factor in self.factors[1:]:
            transitions = transitions @ factor
        law = stationary(transitions)
        return Turnout(self._counted(law), np.asarray(law @ self.wasted))

    def _counted(self, law: FloatArray) -> FloatArray:
        counted: FloatArray = np.bincount(self.counts, law, minlength=self.clients + 1).astype(np.float64)
        return counted


def stationary(transitions: FloatArray) -> FloatArray:
    """Return the law pi = pi P of a chain with one recurrent class, (..., n_states), by Gaussian elimination.

    The n equations pi (P - I) = 0 add up to 0 = 0, so one of them is dropped for sum pi = 1.

    >>> stationary(np.array([[0.5, 0.5], [0.25, 0.75]])).round(12).tolist()
    [0.333333333333, 0.666666666667]
    """
    n_states = transitions.shape[-1]
    system = np.swapaxes(transitions - np.eye(n_states), -1, -2)
    system[..., 0, :] = 1.0
    right = np.zeros((n_states, 1))
    right[0] = 1.0
    found = np.maximum(np.linalg.solve(system, right)[..., 0], 0.0)  # rounding may leave -1e-17
    law: FloatArray = found / found.sum(axis=-1, keepdims=True)
    return law
