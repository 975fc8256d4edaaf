"""Small fleets with batteries in single units, and the laws of their numbers of participants."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, IntArray, PerClient
from ehfl.machine import check_memory
from ehfl.randomness import MAX_CLIENTS
from ehfl.validation import whole_number

_MAX_LEVEL = 2**30 - 1  # of a simulated battery


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
