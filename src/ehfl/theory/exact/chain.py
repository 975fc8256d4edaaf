"""Myopic as a Markov chain: the `target` fullest batteries of a small fleet take part, those of them that can pay.

Where clients are alike, the numbers s_l of clients that hold at least l units, l = 1 to C, are enough: everything but
who it is. Else the state is the level of each client, and among equal levels every subset is as likely as another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.theory.exact.batteries import Batteries, Turnout
from ehfl.validation import InvalidValue

_MOST_NUMBERS = 500_000  # in all states of a chain together
_MANY = 30  # clients, or units, that make a chain of 2^30 states and more


def longest_queues(batteries: Batteries, capacity: int, target: int, most_states: int) -> Chain:
    """Return the chain of all levels under Myopic; raise an error above `most_states` states."""
    M = batteries.clients
    if batteries.alike:
        n_states = math.comb(M + capacity, M) if min(M, capacity) < _MANY else math.inf
        _check_size(n_states, most_states, batteries, capacity, "binom(clients + capacity, clients)", capacity)
        return _by_number(batteries, capacity, target)
    n_states = (capacity + 1) ** M if M < _MANY else math.inf
    _check_size(n_states, most_states, batteries, capacity, "(capacity + 1)^clients, as rates differ,", M)
    return _by_client(batteries, capacity, target)


def _check_size(
    n_states: float, most_states: int, batteries: Batteries, capacity: int, formula: str, numbers: int
) -> None:
    """Raise an error for a chain of too many states, each of `numbers` numbers."""
    most = min(most_states, _MOST_NUMBERS // numbers)
    if n_states > most:
        allowed = f"so few and small that {formula} is at most {most:,}"
        raise InvalidValue("batteries", allowed, f"{batteries.clients} clients of {capacity} units")


def _by_number(batteries: Batteries, C: int, target: int) -> Chain:
    """Return the chain of (s_1, ..., s_C); s_0 = M.

    Who pays:      s_l' = s_l - min(s_l, target) + min(s_{l+1}, target), s_{C+1} = 0, since of those who hold exactly l
                   units min(s_l, target) - min(s_{l+1}, target) are among the fullest.
    Who harvests:  s_l'' = s_l' + Bin(s_{l-1}' - s_l', rate), from l = C down to 1, so that no client moves twice.
    """
    M, rate = batteries.clients, float(batteries.rates[0])
    ranks = np.array([[math.comb(s + above, above + 1) for s in range(M + 1)] for above in range(C - 1, -1, -1)])
    states = np.array(list(combinations_with_replacement(range(M + 1), C)))[:, ::-1]  # s_1 >= ... >= s_C
    states = states[np.argsort(_rank(ranks, states))]
    served = np.minimum(states, target)
    after = states - served + np.pad(served[:, 1:], ((0, 0), (0, 1)))
    pays = _sparse(np.ones(len(states)), np.arange(len(states)), _rank(ranks, after))
    first = (batteries.start[:, None] >= np.arange(1, C + 1)).sum(axis=0)
    start = np.zeros(len(states))
    start[_rank(ranks, first[None])] = 1.0
    harvests = (_level_harvest(states, ranks, level, M, rate) for level in range(C, 0, -1))
    return Chain(start, served[:, 0], rate * after[:, -1], (pays, *harvests), M)


def _rank(ranks: IntArray, states: IntArray) -> IntArray:
    """Return each state's place, sum_l binom(s_l + C - l, C - l + 1): the combinatorial number system."""
    rank: IntArray = ranks[np.arange(len(ranks)), states].sum(axis=1)
    return rank


def _level_harvest(states: IntArray, ranks: IntArray, level: int, M: int, rate: float) -> Any:
    """Return the transition matrix of clients from one unit below to this level, (n_states, n_states)."""
    own = states[:, level - 1]
    below = (states[:, level - 2] if level > 1 else M) - own
    n_outcomes = below + 1
    row = np.repeat(np.arange(len(states)), n_outcomes)
    gain = np.arange(row.size) - np.repeat(np.cumsum(n_outcomes) - n_outcomes, n_outcomes)
    column = row + ranks[level - 1, own[row] + gain] - ranks[level - 1, own[row]]
    return _sparse(_binomial(M, rate)[below[row], gain], row, column)


def _binomial(most: int, rate: float) -> FloatArray:
    """Return P(Bin(n, rate) = k) for n and k from 0 to `most`, (most + 1, most + 1)."""
    chances = np.zeros((most + 1, most + 1))
    chances[0, 0] = 1.0
    for n in range(most):
        chances[n + 1] = (1 - rate) * chances[n]
        chances[n + 1, 1:] += rate * chances[n, :-1]
    return chances


def _by_client(batteries: Batteries, C: int, target: int) -> Chain:
    """Return the chain of the levels of each client, (C + 1)^M states; ties are broken as Myopic does, at random."""
    from scipy.sparse import eye_array, kron

    M, rates = batteries.clients, batteries.rates
    places = (C + 1) ** np.arange(M - 1, -1, -1)
    states = np.array(list(product(range(C + 1), repeat=M)))
    pays = _payments(states, places, target)
    harvests = tuple(
        kron(kron(eye_array((C + 1) ** i), _own_harvest(C, rate)), eye_array((C + 1) ** (M - 1 - i)), format="csr")
        for i, rate in enumerate(rates)
    )
    start = np.zeros(len(states))
    start[batteries.start @ places] = 1.0
    counts = np.minimum((states > 0).sum(axis=1), target)
    return Chain(start, counts, pays @ ((states == C) @ rates), (pays, *harvests), M)


def _own_harvest(C: int, rate: float) -> FloatArray:
    """Return the transition matrix of a client's harvest, (C + 1, C + 1)."""
    moves = (1 - rate) * np.eye(C + 1) + rate * np.eye(C + 1, k=1)
    moves[C, C] = 1.0
    return moves


def _payments(states: IntArray, places: IntArray, target: int) -> Any:
    """Return the transition matrix of the participants' payments."""
    chances, rows, columns = [], [], []
    for row, levels in enumerate(states):
        sets = _participants(levels, target)
        rows += [row] * len(sets)
        columns += [row - int(places[list(clients)].sum()) for clients in sets]
        chances += [1 / len(sets)] * len(sets)
    return _sparse(np.array(chances), np.array(rows), np.array(columns))


def _participants(levels: IntArray, target: int) -> list[tuple[int, ...]]:
    """Return the sets that Myopic may select, all equally likely.

    >>> _participants(np.array([1, 2, 1, 0]), target=2)
    [(1, 0), (1, 2)]
    """
    able = np.flatnonzero(levels)
    if able.size <= target:
        return [tuple(able.tolist())]
    least = np.sort(levels)[-target]
    sure, tied = np.flatnonzero(levels > least).tolist(), np.flatnonzero(levels == least).tolist()
    return [(*sure, *some) for some in combinations(tied, target - len(sure))]


def _sparse(chances: FloatArray, rows: IntArray, columns: IntArray) -> Any:
    from scipy.sparse import csr_array  # imported here: loading it takes longer than most computations

    n_states = int(rows[-1]) + 1
    return csr_array((chances, (rows, columns)), shape=(n_states, n_states))


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
