"""The input of a scheduler at the start of a round, and the longest queues, in NumPy; `kernels` has large fleets."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import Clients, FloatArray, IntArray, Levels
from ehfl.energy.feed import Expectation
from ehfl.randomness import TILE, Purpose, frozen, generator, stream_of, word_row
from ehfl.scheduling.past import Past
from ehfl.validation import InvalidValue, UserError, whole_number

_ROUNDING = 1e-9  # of a reserve times a cost: 0.1 of 30 is 3, not more

Auto = Literal["auto"]  # the target of clients per round


class View(NamedTuple):
    """Energy, costs and random numbers of one round, and the selection methods for schedulers.

    >>> view = View(round=0, energy=np.array([2, 0, 3, 1], dtype=np.int32))
    >>> view.longest(2).tolist(), view.able(np.array([0, 1])).tolist()
    ([0, 2], [0])
    """

    round: int
    energy: Levels  # E_i(t), (n_clients,), read-only
    cost: int | IntArray = 1  # of taking part: one number, or (n_clients,)
    seed: int = 0
    target: int = 1  # clients per round; by default the number that the harvest sustains
    capacity: float | FloatArray = math.inf  # of the batteries: one number, or (n_clients,)
    rates: FloatArray | None = None  # mean harvest a round, (n_clients,)
    losses: FloatArray | None = None  # of each client's last turn, (n_clients,), NaN before; None without learning
    past: Past | None = None  # behind `turns`, `last_turn` and `recent`
    expectation: Expectation | None = None  # behind `ahead`
    local_steps: int | None = None  # K, of a whole turn, where turns may have fewer
    step_cost: int | IntArray = 0  # what one of them costs: one number, or (n_clients,)
    round_length: float | None = None  # [s], if rounds have one

    @property
    def turns(self) -> IntArray:
        """The number of turns of each client, (n_clients,)."""
        return self._past().turns

    @property
    def last_turn(self) -> IntArray:
        """The round in which each client last took part, (n_clients,); -1 before its first turn."""
        return self._past().last_turn

    def recent(self, rate: float) -> FloatArray:
        """Return the recent participation rate of each client, (n_clients,): a mean with weights decaying by 1 - rate.

        It is the sum over past rounds s of rate (1 - rate)^(t-1-s) 1{i took part in s}, 0 before the first.
        """
        return self._past().recent(rate, self.round)

    def longest(self, count: int) -> Clients:
        """Return the `count` longest queues, ties broken at random, without those that cannot pay; sorted."""
        if isinstance(self.cost, np.ndarray):
            return self.able(longest_queues(self.energy, count, 0, self.seed, self.round))
        return longest_queues(self.energy, count, self.cost, self.seed, self.round)

    @property
    def rounds_left(self) -> FloatArray:
        """The number of rounds each client could pay for, E_i / cost_i, (n_clients,), as a new array."""
        return self.energy / self.cost

    def most_rounds_left(self, count: int, reserve: float = 0.0) -> Clients:
        """Return the `count` clients with the most rounds left that can pay and keep `reserve` times their cost.

        Ties are broken at random, as among the longest queues, which these are where costs are equal. Sorted.
        """
        least = self.least(reserve)
        if not isinstance(least, np.ndarray):
            return longest_queues(self.energy, count, least, self.seed, self.round)
        richest = self.largest(self.rounds_left, count)
        return richest[self.energy[richest] >= least[richest]]

    def least(self, reserve: float) -> int | IntArray:
        """Return the minimum level to pay and keep `reserve` times the cost: one number, or (n_clients,)."""
        least = self.cost + np.ceil(np.multiply(self.cost, reserve) * (1 - _ROUNDING))
        return least.astype(np.int64) if isinstance(self.cost, np.ndarray) else int(least)

    def largest(self, keys: FloatArray | IntArray, count: int) -> Clients:
        """Return the `count` clients with the largest keys, (n_clients,); ties at random.

        It ignores whether they can pay. Sorted.
        """
        return largest_keys(keys, count, self.seed, self.round)

    def ahead(self, rounds: int) -> FloatArray:
        """Return the expected gain of the batteries in this round and the next ones, (rounds, n_clients), read-only.

        It is the harvest's forecast (`expected`) or mean rate, after charging losses and standby.
        """
        rounds = whole_number("rounds", rounds, low=1)
        if self.expectation is not None:
            return self.expectation.ahead(self.round, rounds)
        if self.rates is None:
            raise UserError("what will be harvested is not known: view.rates is None")
        return np.broadcast_to(self.rates, (rounds, self.energy.size))

    def sample(self, count: int) -> Clients:
        """Return `count` clients drawn uniformly without replacement, whether or not they can pay; sorted."""
        level = np.zeros(self.energy.size, np.int32)  # equal queues, so that only the tie-break decides
        return longest_queues(level, count, 0, self.seed, self.round)

    def able(self, clients: IntArray | None = None) -> Clients:
        """Return those of these clients (of all, if none are given) that can pay."""
        if clients is None:
            everyone: Clients = (self.energy >= self.cost).nonzero()[0].astype(np.int32)
            return everyone
        if isinstance(self.cost, np.ndarray) and clients.size > TILE and clients.dtype == np.int32:
            from ehfl.scheduling import kernels

            able: Clients = kernels.able(frozen(clients), frozen(self.energy), frozen(self.cost))
            return able
        cost = self.cost[clients] if isinstance(self.cost, np.ndarray) else self.cost
        return clients[self.energy[clients] >= cost].astype(np.int32, copy=False)

    def first(self, clients: IntArray, keys: FloatArray | IntArray, count: int) -> Clients:
        """Return the `count` of these clients with the smallest keys, ties broken at random; sorted."""
        # A separate stream: otherwise a scheduler that samples candidates first would reuse the same draw.
        ties = generator(self.seed, Purpose.TIES, round_=self.round)
        words = ties.permutation(self.energy.size)[clients]
        order = np.lexsort((words, keys))[:count]
        return np.sort(clients[order]).astype(np.int32)

    def width(self, name: str, value: int | Auto) -> int:
        """Return a scheduler's number of clients per round: as given, or the target."""
        width = clients_wanted(value, self.target)
        if width > self.energy.size:
            raise InvalidValue(name, f"in [1, {self.energy.size}] (the clients)", width)
        return width

    def generator(self) -> np.random.Generator:
        """Return a generator of the schedule stream for this round: equal views, equal draws."""
        return generator(self.seed, Purpose.SCHEDULE, round_=self.round)

    def _past(self) -> Past:
        return Past(self.energy.size) if self.past is None else self.past


def clients_wanted(given: int | Auto, target: int) -> int:
    """Return the number of clients per round: as given, or the target."""
    return given if isinstance(given, int) else target


def check_width(name: str, value: int | Auto, low: int = 1) -> None:
    """Raise an error for a number of clients per round that no fleet could have."""
    if not (isinstance(value, str) and value == "auto"):
        whole_number(name, value, low=low)


def longest_queues(energy: Levels, count: int, floor: int, seed: int, round_: int) -> Clients:
    """Return, sorted, the `count` longest queues, then of these the ones that hold at least `floor`.

    Among equal queues the smaller word of the schedule stream goes first (and, should two words agree, the smaller
    client), which makes every subset of the tied clients equally likely and needs no state.
    """
    count = whole_number("count", count, low=0)
    if count == 0:
        return np.empty(0, np.int32)
    if energy.size <= TILE:
        able = (energy >= floor).nonzero()[0].astype(np.int32)  # np.flatnonzero takes twice as long for few clients
        return able if able.size <= count else largest_keys(energy, count, seed, round_)
    from ehfl.scheduling import kernels

    chosen: Clients = kernels.longest(frozen(energy), count, int(floor), stream_of(seed, Purpose.SCHEDULE, round_))
    return chosen


def longest_plain(energy: Levels, count: int, floor: int, words: NDArray[np.uint32]) -> Clients:
    """Define the selection in three lines of NumPy.

    >>> longest_plain(np.array([1, 2, 1, 0]), 2, floor=1, words=np.array([9, 9, 3, 0])).tolist()
    [1, 2]
    """
    order = np.lexsort((words, -energy))[:count]
    chosen: Clients = order[energy[order] >= floor].astype(np.int32)
    chosen.sort()
    return chosen


def largest_keys(keys: FloatArray | IntArray, count: int, seed: int, round_: int) -> Clients:
    """Return, sorted, the clients with the `count` largest keys; ties are broken as among queues.

    No words are drawn without ties, which is the rule in joules.

    >>> largest_keys(np.array([0.5, 2.0, 0.7, 0.7]), 3, seed=0, round_=0).tolist()
    [1, 2, 3]
    """
    if count == 0 or count >= keys.size:
        return np.arange(min(count, keys.size), dtype=np.int32)
    level = np.partition(keys, -count)[-count]
    chosen, tied = keys > level, (keys == level).nonzero()[0]
    wanted = count - np.count_nonzero(chosen)  # of those at the level
    if wanted < tied.size:
        words = word_row(seed, Purpose.SCHEDULE, round_, keys.size)[tied]
        last = np.partition(words, wanted - 1)[wanted - 1]  # nearly always the word of one client
        under, at = tied[words < last], tied[words == last]
        tied = np.concatenate((under, at[: wanted - under.size]))
    chosen[tied] = True
    largest: Clients = chosen.nonzero()[0].astype(np.int32)
    return largest
