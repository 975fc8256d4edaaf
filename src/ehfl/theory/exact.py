"""The exact law of n_t on small fleets whose batteries count in units: from a given start, and in the long run.

Under Greedy and RoundRobin clients are independent: each level is a separate chain, and n_t a sum of independent zeros
and ones. Under Myopic they compete, and all levels together are one chain: where clients are alike, the numbers s_l of
clients that hold at least l units, l = 1 to C, are enough. Else the state is the level of each client, and among equal
levels every subset is as likely as another (docs/theory.md, exact batteries).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, combinations_with_replacement, product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, IntArray, PerClient
from ehfl.machine import check_memory
from ehfl.randomness import MAX_CLIENTS, MAX_ROUNDS
from ehfl.theory.participants import number_of
from ehfl.validation import InvalidValue, number_in, whole_number

Scheduler = Literal["myopic", "greedy", "round-robin"]
_MOST_PLAYED, _MOST_SOLVED = 50_000, 4_096  # states of a chain: to go from round to round, to solve its equations
_MOST_NUMBERS = 500_000  # in all states of a chain together
_MANY = 30  # clients, or units, that make a chain of 2^30 states and more
_MAX_LEVEL = 2**30 - 1  # of a simulated battery
_ZETA_HALF = -1.4603545088095868  # Riemann's zeta function at 1/2


@dataclass(frozen=True, eq=False)
class Batteries:
    """Clients that harvest a unit a round with probability `rate` each, independently; taking part costs a unit.

    E_i(t+1) = min(E_i(t) - 1{i takes part in t} + A_i(t), capacity),   A_i(t) = 1 with probability rate_i, else 0.

    >>> Batteries(clients=3, rate=[0.5, 0.5, 0.2], capacity=2).rates.tolist()
    [0.5, 0.5, 0.2]
    """

    clients: int  # M
    rate: ArrayLike  # lambda, one for all or one per client, in [0, 1]
    capacity: float  # E_max, an integer or infinite
    initial: ArrayLike = 0  # E_i(0), one for all or one per client
    rates: FloatArray = field(init=False, repr=False)  # (n_clients,)
    start: IntArray = field(init=False, repr=False)  # (n_clients,)

    def __post_init__(self) -> None:
        clients = whole_number("clients", self.clients, low=1, high=MAX_CLIENTS)
        check_memory("clients", clients, 16.0 * clients)
        capacity = PerClient.of("capacity", self.capacity, f"[1, {_MAX_LEVEL}]", whole=True, or_inf=True).plain()
        rates = PerClient.of("rate", self.rate, "[0, 1]", clients=clients).of_fleet(clients)
        most = min(capacity, _MAX_LEVEL)
        start = PerClient.of("initial", self.initial, f"[0, {most}]", whole=True, clients=clients).of_fleet(clients)
        facts = {"clients": clients, "capacity": capacity, "rates": np.array(rates), "start": np.array(start, np.int64)}
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    @property
    def alike(self) -> bool:
        """Whether all clients harvest at the same rate."""
        return bool((self.rates == self.rates[0]).all())

    @property
    def sustainable(self) -> int:
        """The number of clients per round that the harvest can sustain: the sum of rates rounded down, at least 1."""
        return max(1, math.floor(float(self.rates.sum()) * (1 + 1e-12)))  # ten times 0.1 is 1, whatever the last bit

    def levels_within(self, rounds: int) -> int:
        """Return the highest level that a battery can reach in `rounds` rounds, which is finite for infinite ones, too.

        >>> Batteries(clients=2, rate=0.5, capacity=float("inf"), initial=1).levels_within(10)
        11
        """
        return int(min(self.capacity, int(self.start.max()) + rounds))


@dataclass(frozen=True, eq=False)
class Turnout:
    """The law of n_t in each round, or in the long run, without the first axis."""

    law: FloatArray  # P(n_t = n), (n_rounds, n_clients + 1)
    wasted: FloatArray  # expected units that find a full battery in the round, (n_rounds,)

    @property
    def mean(self) -> FloatArray:
        """E n_t, (n_rounds,)."""
        mean: FloatArray = np.asarray(self.law @ np.arange(self.law.shape[-1]))
        return mean


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


def _width(scheduler: Scheduler, batteries: Batteries, target: int | None) -> int:
    """Return the scheduler's maximum number of clients per round."""
    if not isinstance(scheduler, str) or scheduler not in ("myopic", "greedy", "round-robin"):
        raise InvalidValue("scheduler", "one of myopic, greedy, round-robin", repr(scheduler))
    M = batteries.clients
    width = batteries.sustainable if target is None else whole_number("target", target, low=1, high=M)
    return M if scheduler == "greedy" else width


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


def longest_queues(batteries: Batteries, capacity: int, target: int, most_states: int) -> Chain:
    """Return the chain of all levels under Myopic; raise an error above `most_states` states."""
    M = batteries.clients
    if batteries.alike:
        n_states = math.comb(M + capacity, M) if min(M, capacity) < _MANY else math.inf
        formula, numbers, chain = "binom(clients + capacity, clients)", capacity, _by_number
    else:
        n_states = (capacity + 1) ** M if M < _MANY else math.inf
        formula, numbers, chain = "(capacity + 1)^clients, as rates differ,", M, _by_client
    most = min(most_states, _MOST_NUMBERS // numbers)
    if n_states > most:
        raise InvalidValue(
            "batteries", f"so few and small that {formula} is at most {most:,}", f"{M} clients of {capacity} units"
        )
    return chain(batteries, capacity, target)


def _by_number(batteries: Batteries, C: int, target: int) -> Chain:
    """Return the chain of (s_1, ..., s_C); s_0 = M.

    Who pays:      s_l' = s_l - min(s_l, target) + min(s_{l+1}, target), s_{C+1} = 0, since of those who hold exactly l
                   units min(s_l, target) - min(s_{l+1}, target) are among the fullest.
    Who harvests:  s_l'' = s_l' + Bin(s_{l-1}' - s_l', rate), from l = C down to 1, so that no client moves twice.
    """
    M, rate = batteries.clients, float(batteries.rates[0])
    gains = [number_of(np.full(n, rate)).tolist() for n in range(M + 1)]  # P(Bin(n, rate) = k)

    def pays(state: State) -> Moves:
        served = [*(min(number, target) for number in state), 0]
        yield tuple(number - served[at] + served[at + 1] for at, number in enumerate(state)), 1.0

    def harvests(at: int, state: State) -> Moves:
        below = (state[at - 1] if at else M) - state[at]
        for gain, chance in enumerate(gains[below]):
            yield (*state[:at], state[at] + gain, *state[at + 1 :]), chance

    return Chain.of(
        [state[::-1] for state in combinations_with_replacement(range(M + 1), C)],  # s_1 >= ... >= s_C
        tuple(int((batteries.start >= level).sum()) for level in range(1, C + 1)),
        [pays, *(partial(harvests, at) for at in reversed(range(C)))],
        count=lambda state: min(state[0], target),
        waste=lambda state: rate * state[-1],
        clients=M,
    )


def _by_client(batteries: Batteries, C: int, target: int) -> Chain:
    """Return the chain of the levels of each client, (C + 1)^M states; ties are broken as Myopic does, at random."""
    M, rates = batteries.clients, batteries.rates.tolist()

    def pays(state: State) -> Moves:
        sets = _participants(np.array(state), target)
        for clients in sets:
            yield tuple(level - (i in clients) for i, level in enumerate(state)), 1 / len(sets)

    def harvests(i: int, state: State) -> Moves:
        yield state, 1 - rates[i]
        yield (*state[:i], min(state[i] + 1, C), *state[i + 1 :]), rates[i]

    return Chain.of(
        list(product(range(C + 1), repeat=M)),
        tuple(batteries.start.tolist()),
        [pays, *(partial(harvests, i) for i in range(M))],
        count=lambda state: min(sum(level > 0 for level in state), target),
        waste=lambda state: sum(rate for rate, level in zip(rates, state, strict=True) if level == C),
        clients=M,
    )


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


State = tuple[int, ...]
Moves = Iterable[tuple[State, float]]  # the states that may follow, with their probabilities


@dataclass(frozen=True, eq=False)
class Chain:
    """Levels of a whole fleet as one state, a round as a product of sparse matrices: who pays, then who harvests."""

    start: FloatArray  # the law of the first state, (n_states,)
    counts: IntArray  # n_t in each state, (n_states,)
    wasted: FloatArray  # units expected to find a full battery in a round that begins in the state, (n_states,)
    factors: list[Any]  # row-stochastic matrices of SciPy, (n_states, n_states) each
    clients: int

    @staticmethod
    def of(
        states: Sequence[State],
        first: State,
        steps: Sequence[Callable[[State], Moves]],
        *,
        count: Callable[[State], int],
        waste: Callable[[State], float],
        clients: int,
    ) -> Chain:
        """Return the chain of a round's steps, the first of which is payment; `waste` is that of the harvest then."""
        from scipy.sparse import csr_array  # imported here: loading it takes longer than most computations

        place = {state: row for row, state in enumerate(states)}

        def matrix(moves: Callable[[State], Moves]) -> Any:
            found = [(chance, row, place[to]) for state, row in place.items() for to, chance in moves(state)]
            chances, rows, columns = (np.array(part) for part in zip(*found, strict=True))
            return csr_array((chances, (rows, columns)), shape=(len(states), len(states)))

        factors = [matrix(moves) for moves in steps]
        wasted = factors[0] @ np.array([waste(state) for state in states])
        start = np.zeros(len(states))
        start[place[first]] = 1.0
        return Chain(start, np.array([count(state) for state in states]), wasted, factors, clients)

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
