"""What no scheduler can beat: all batteries in one; and how it falls short where the target is all that comes in."""

from __future__ import annotations

import math

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.machine import check_memory, check_time
from ehfl.randomness import MAX_ROUNDS
from ehfl.theory.batteries import MULTIPLICATIONS_A_SECOND, Batteries, Turnout
from ehfl.theory.chances import number_of
from ehfl.validation import number_in, of_kind, whole_number

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
    batteries = of_kind("batteries", batteries, Batteries)
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    M, W_0 = batteries.clients, int(batteries.start.sum())
    wanted = batteries.sustainable if target is None else whole_number("target", target, low=1, high=M)
    most = M * batteries.levels_within(rounds)
    check_memory("rounds", rounds, 8.0 * rounds * (M + 1) + 16.0 * most)
    check_time("rounds", rounds, rounds * (M + 1) * most / 2 / MULTIPLICATIONS_A_SECOND)
    harvest, law = number_of(batteries.rates), np.eye(1, W_0 + 1, W_0)[0]
    laws, wasted = np.zeros((rounds, M + 1)), np.zeros(rounds)
    for t in range(rounds):
        kept = law[:wanted]
        laws[t, : kept.size], laws[t, wanted] = kept, law[wanted:].sum()
        left = np.append(law[: wanted + 1].sum(), law[wanted + 1 :])
        law, wasted[t] = _full_at(most, np.convolve(left, harvest))
    return Turnout(laws, wasted)


def _full_at(most: int, law: FloatArray) -> tuple[FloatArray, float]:
    """Return the law of a level that cannot pass `most`, and what is expected to be lost of it."""
    kept, beyond = law[: most + 1].copy(), law[most + 1 :]
    if beyond.size:
        kept[most] += beyond.sum()
    return kept, float(beyond @ np.arange(1, beyond.size + 1))


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
