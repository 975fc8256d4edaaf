"""A fleet: how many clients, what they harvest, what they can keep, what a round costs them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.energy.battery import MAX_LEVEL, Levels
from ehfl.energy.harvest import Harvest
from ehfl.randomness import MAX_CLIENTS
from ehfl.validation import InvalidValue, whole_number


@dataclass(frozen=True, eq=False)
class Fleet:
    """Clients that live on harvested energy (paper, section 2).

    >>> from ehfl.energy import Bernoulli
    >>> Fleet(clients=10, harvest=Bernoulli(rate=0.5)).sustainable
    5
    """

    clients: int
    harvest: Harvest
    capacity: float = math.inf  # E_max [units], a whole number or infinite
    initial: ArrayLike = 0  # E_i(0) [units], one number or one per client
    cost: int = 1  # what a participant spends in a round [units]

    def __post_init__(self) -> None:
        object.__setattr__(self, "clients", whole_number("clients", self.clients, low=1, high=MAX_CLIENTS))
        object.__setattr__(self, "cost", whole_number("cost", self.cost, low=1, high=MAX_LEVEL))
        _check_capacity(self.capacity)
        _check_initial(self.initial, self.clients, self.capacity)
        object.__setattr__(self, "initial", np.array(self.initial))  # a copy: the caller's may change
        _check_harvest(self.harvest, self.clients)

    @property
    def sustainable(self) -> int:
        """How many clients a round the harvest can pay for: floor(sum of mean rates / cost), at least 1."""
        total = float(np.asarray(self.harvest.mean_rates(self.clients)).sum()) / self.cost
        whole = math.floor(total * (1 + 1e-12))  # 100 clients at 0.29 are 29, whatever the last bit says
        return min(max(whole, 1), self.clients)

    @property
    def total_initial(self) -> int:
        """Sum of E_i(0) over the clients [units]."""
        levels = np.asarray(self.initial, dtype=np.int64)
        return int(levels.sum()) if levels.ndim else int(levels) * self.clients

    def start(self) -> Levels:
        """Return E_i(0), shape (n_clients,), as an array of its own."""
        return np.array(np.broadcast_to(np.asarray(self.initial), (self.clients,)), dtype=np.int32)


def _check_harvest(harvest: Harvest, n_clients: int) -> None:
    if isinstance(harvest, type) or not hasattr(harvest, "mean_rates"):
        raise InvalidValue("harvest", "a harvest process such as Bernoulli(rate=0.5)", repr(harvest))
    rates = np.asarray(harvest.mean_rates(n_clients), dtype=np.float64)  # refuses another number of clients itself
    if rates.shape != (n_clients,) or not (np.isfinite(rates).all() and (rates >= 0).all()):
        raise InvalidValue("harvest", f"one whose mean_rates are {n_clients} finite numbers >= 0", repr(harvest))


def _check_capacity(capacity: float) -> None:
    allowed = f"inf or a whole number in [0, {MAX_LEVEL}]"
    if not isinstance(capacity, int | float | np.integer | np.floating) or isinstance(capacity, bool):
        raise InvalidValue("capacity", allowed, repr(capacity))
    whole = math.isfinite(capacity) and capacity == int(capacity) and 0 <= capacity <= MAX_LEVEL
    if not whole and capacity != math.inf:
        raise InvalidValue("capacity", allowed, capacity)


def _check_initial(initial: ArrayLike, n_clients: int, capacity: float) -> None:
    try:
        levels = np.asarray(initial)
    except ValueError:  # rows of different lengths
        raise InvalidValue("initial", f"one number or one per client ({n_clients})", repr(initial)) from None
    if levels.dtype.kind not in "iu":
        raise InvalidValue("initial", "whole numbers of units", repr(initial))
    if levels.shape not in ((), (n_clients,)):
        raise InvalidValue("initial", f"one number or one per client ({n_clients})", f"an array of {levels.shape}")
    top = min(capacity, MAX_LEVEL)
    if levels.min() < 0 or levels.max() > top:
        given = levels.min() if levels.min() < 0 else levels.max()
        bound = f"the capacity {capacity:g}" if capacity < MAX_LEVEL else f"{MAX_LEVEL}"
        raise InvalidValue("initial", f"at least 0 and at most {bound}", given)
