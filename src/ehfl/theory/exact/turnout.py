"""The exact law of n_t on small fleets: from a given start, and in the long run (docs/theory.md, exact batteries).

Under Greedy and RoundRobin clients are independent: each level is a separate chain, and n_t a sum of independent zeros
and ones. Under Myopic they compete, and all levels together are one chain (`longest_queues`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.machine import check_memory
from ehfl.randomness import MAX_ROUNDS
from ehfl.theory.exact.batteries import Batteries, Turnout
from ehfl.theory.exact.chain import longest_queues, stationary
from ehfl.theory.participants import number_of
from ehfl.validation import InvalidValue, number_in, whole_number

Scheduler = Literal["myopic", "greedy", "round-robin"]
_MOST_PLAYED, _MOST_SOLVED = 50_000, 4_096  # states of a chain: to go from round to round, to solve its equations


def turnout_law(scheduler: Scheduler, batteries: Batteries, rounds: int, target: int | None = None) -> Turnout:
    """Return the exact law of n_t in each of `rounds` rounds, from the initial levels.

    `target` is Myopic's target or RoundRobin's clients a round, by default as many as the harvest sustains; Greedy has
    none. The paper's fleet with batteries of one unit, over 150 rounds: how often five take part, and the mean.

    >>> found = turnout_law("myopic", Batteries(clients=10, rate=0.5, capacity=1), rounds=150)
    >>> float(found.law[:, 5].mean().round(4)), float(found.mean.mean().round(3))
    (0.7146, 4.534)
    """
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    width = _width(scheduler, batteries, target)
    M, capacity = batteries.clients, batteries.levels_within(rounds)
    check_memory("rounds", rounds, 8.0 * rounds * (M + 1))
    if scheduler == "myopic":
        return longest_queues(batteries, capacity, width, _MOST_PLAYED).turnout(rounds)
    check_memory("batteries", f"{M} clients of {capacity} units", 24.0 * M * (capacity + 1))
    return _ByTurns(batteries, capacity, width).turnout(rounds)


def long_run_turnout(scheduler: Scheduler, batteries: Batteries, target: int | None = None) -> Turnout:
    """Return the exact stationary law of n_t, which does not depend on the initial levels.

    RoundRobin has one for each round of its cycle of M / gcd(M, width); the mean over the cycle is returned. Rates must
    be below 1: then all batteries can run empty from any level, so there is one stationary law.

    >>> found = long_run_turnout("myopic", Batteries(clients=2, rate=0.5, capacity=1), target=1)
    >>> found.law.round(12).tolist(), float(found.wasted.round(12))  # n' = r + Bin(2 - r, 1/2), r = 1 after two
    ([0.166666666667, 0.833333333333, 0.0], 0.166666666667)
    """
    width = _width(scheduler, batteries, target)
    if math.isinf(batteries.capacity):
        raise InvalidValue("capacity", "finite: infinite batteries may never come to rest", batteries.capacity)
    if (batteries.rates == 1).any():
        raise InvalidValue("rate", "below 1 in the long run", 1)
    if scheduler == "myopic":
        return longest_queues(batteries, int(batteries.capacity), width, _MOST_SOLVED).long_run()
    return _ByTurns(batteries, int(batteries.capacity), width).long_run()


@dataclass(frozen=True, eq=False)
class _ByTurns:
    """The next `width` clients in cyclic order, those of them that can pay: RoundRobin, and Greedy where all are next.

    Whose turn it is depends on the round alone, so the levels of clients are independent.
    """

    batteries: Batteries
    capacity: int
    width: int

    def turnout(self, rounds: int) -> Turnout:
        levels = (self.batteries.start[:, None] == np.arange(self.capacity + 1)).astype(np.float64)
        return self._play(levels, rounds)

    def long_run(self) -> Turnout:
        M, n_levels = self.batteries.clients, self.capacity + 1
        cycle = M // math.gcd(M, self.width)
        check_memory("batteries", f"{M} clients of {self.capacity} units", 24.0 * M * n_levels**2)
        moves = np.broadcast_to(np.eye(n_levels)[:, None], (n_levels, M, n_levels))
        for t in range(cycle):
            moves = self._harvested(self._paid(moves, t))
        found = self._play(stationary(moves.transpose(1, 0, 2)), cycle)
        return Turnout(found.law.mean(axis=0), found.wasted.mean(axis=0))

    def _play(self, levels: FloatArray, rounds: int) -> Turnout:
        """Return the turnout when these are the laws of the clients' levels, (n_clients, capacity + 1)."""
        chances, wasted = np.empty((rounds, self.batteries.clients)), np.empty(rounds)
        for t in range(rounds):
            chances[t] = self._due(t) * levels[:, 1:].sum(axis=1)
            levels = self._paid(levels, t)
            wasted[t] = levels[:, -1] @ self.batteries.rates
            levels = self._harvested(levels)
        return Turnout(np.stack([number_of(p) for p in chances]), wasted)

    def _due(self, t: int) -> FloatArray:
        """Return 1 for those whose turn it is, else 0, (n_clients,)."""
        due = np.zeros(self.batteries.clients)
        due[(t * self.width + np.arange(self.width)) % self.batteries.clients] = 1.0
        return due

    def _paid(self, levels: FloatArray, t: int) -> FloatArray:
        """Return the laws once those whose turn it is have paid, (..., n_clients, capacity + 1)."""
        paid = np.zeros_like(levels)
        paid[..., :-1] = levels[..., 1:]
        paid[..., 0] += levels[..., 0]
        return np.where(self._due(t)[:, None] > 0, paid, levels)

    def _harvested(self, levels: FloatArray) -> FloatArray:
        """Return the laws after the harvest, of the same shape."""
        rate = self.batteries.rates[:, None]
        full = levels[..., -1] * self.batteries.rates
        after = levels * (1 - rate)
        after[..., 1:] += levels[..., :-1] * rate
        after[..., -1] += full
        return after


def _width(scheduler: Scheduler, batteries: Batteries, target: int | None) -> int:
    """Return the scheduler's maximum number of clients per round."""
    if not isinstance(scheduler, str) or scheduler not in ("myopic", "greedy", "round-robin"):
        raise InvalidValue("scheduler", "one of myopic, greedy, round-robin", repr(scheduler))
    M = batteries.clients
    width = batteries.sustainable if target is None else whole_number("target", target, low=1, high=M)
    return M if scheduler == "greedy" else width


_ZETA_HALF = -1.4603545088095868  # Riemann's zeta function at 1/2


def pooled_turnout(batteries: Batteries, rounds: int, target: int | None = None) -> Turnout:
    """Return the law of min(W_t, target), exactly, where one battery W holds what all clients have.

    W_{t+1} = min(W_t - min(W_t, target) + A_t, M capacity),   W_0 = sum_i E_i(0),   A_t = sum_i A_i(t).

    No scheduler comes to more turns within the target: for every harvest and every t, the sum over rounds s <= t of
    min(n_s, target) is at most that of min(W_s, target), whatever the scheduler knows (docs/theory.md, critical load).

    >>> found = pooled_turnout(Batteries(clients=2, rate=0.5, capacity=float("inf")), rounds=3)
    >>> found.law.tolist()  # W is 0, then Bin(2, 1/2); then it is 0 if it was at most 1 and nothing came in
    [[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.1875, 0.8125, 0.0]]
    """
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    M, W_0 = batteries.clients, int(batteries.start.sum())
    wanted = batteries.sustainable if target is None else whole_number("target", target, low=1, high=M)
    most = M * batteries.levels_within(rounds)
    check_memory("rounds", rounds, 8.0 * rounds * (M + 1) + 16.0 * most)
    harvest, law = number_of(batteries.rates), np.eye(1, W_0 + 1, W_0)[0]
    laws, wasted = np.zeros((rounds, M + 1)), np.zeros(rounds)
    for t in range(rounds):
        kept = law[:wanted]
        laws[t, : kept.size], laws[t, wanted] = kept, law[wanted:].sum()
        left = np.append(law[: wanted + 1].sum(), law[wanted + 1 :])
        law = np.convolve(left, harvest)
        beyond = law[most + 1 :]  # what finds the battery full
        wasted[t], law = beyond @ np.arange(1, beyond.size + 1), law[: most + 1]
        law[-1] += beyond.sum()
    return Turnout(laws, wasted)


def critical_shortfall(target: int, variance: float, rounds: int) -> float:
    """Return by how much the pooled battery misses its target in the mean round, where the target is the mean harvest.

    E (1/T) sum_t (target - W_t)^+ = (target + E max_{j < T} S_j) / T from empty, S a random walk without drift and of
    `variance` a step, the variance of the harvest A of a round; so about

        (target + sqrt(2 (T - 1) variance / pi) + zeta(1/2) sqrt(variance / (2 pi))) / T.

    It falls as 1 / sqrt(T): there is no round from which on the target is met. F. Spitzer, A combinatorial lemma and
    its application to probability theory, Trans. AMS 82, 1956.

    >>> round(critical_shortfall(target=5, variance=2.5, rounds=150), 4)
    0.1299
    """
    target = whole_number("target", target, low=1)
    rounds = whole_number("rounds", rounds, low=1)
    variance = number_in("variance", variance, "[0, 1e30]")
    largest = math.sqrt(2 * (rounds - 1) * variance / math.pi) + _ZETA_HALF * math.sqrt(variance / (2 * math.pi))
    return (target + max(0.0, largest)) / rounds
