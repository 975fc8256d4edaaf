"""A fleet: how many clients, what they harvest, what they can keep, what a round costs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, IntArray, Levels
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.harvest import HARVESTS, Harvest, rates_of
from ehfl.randomness import MAX_CLIENTS
from ehfl.validation import InvalidValue, is_label, whole_number


@dataclass(frozen=True, eq=False)
class Fleet:
    """Clients that live on harvested energy (paper, section 2).

    Capacity, initial level and cost are one number for all clients or one per client. Energy is a whole number of what
    `unit` names: the paper's units, or a quantum such as a millijoule.

    >>> from ehfl.energy import Bernoulli
    >>> Fleet(clients=10, harvest=Bernoulli(rate=0.5)).sustainable
    5
    >>> Fleet(clients=2, harvest=Bernoulli(rate=0.5), capacity=[4, 9], cost=[1, 3], unit="mJ").costs.tolist()
    [1, 3]
    """

    clients: int
    harvest: Harvest  # or its name, as in "bernoulli:0.5"
    capacity: ArrayLike = math.inf  # E_max, whole numbers or infinite
    initial: ArrayLike = 0  # E_i(0)
    cost: ArrayLike = 1  # what a participant spends in a round
    unit: str = "units"  # what energy is counted in
    rates: FloatArray = field(init=False, repr=False)  # mean harvest, (n_clients,) [units a round]
    costs: Levels = field(init=False, repr=False)  # shape (1,) for all alike, else (n_clients,); so are the next ones
    ceilings: Levels = field(init=False, repr=False)  # the capacity as a level
    endless: NDArray[np.bool_] = field(init=False, repr=False)  # whose capacity is infinite

    def __post_init__(self) -> None:
        clients = whole_number("clients", self.clients, low=1, high=MAX_CLIENTS)
        harvest = HARVESTS.make(self.harvest)
        capacities = _capacities(self.capacity, clients)
        costs = _whole_levels("cost", self.cost, clients, low=1)
        initial = _whole_levels("initial", self.initial, clients, low=0)
        _check_initial(initial, capacities)
        if not is_label(self.unit, most=20):
            raise InvalidValue("unit", "1 to 20 printable characters", repr(self.unit))
        facts = {
            "clients": clients,
            "capacity": _plain(capacities),
            "initial": _plain(initial),
            "cost": _plain(costs),
            "harvest": harvest,
            "rates": rates_of(harvest, clients),
            "costs": costs,
            "ceilings": _ceilings(capacities),
            "endless": np.isinf(capacities),
        }
        for name, value in facts.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @cached_property  # of ten million clients it takes as long as a round
    def sustainable(self) -> int:
        """How many clients a round the harvest can pay for: floor of the sum of min(rate / cost, 1), at least 1.

        A client takes part once in a round, however much it harvests, and never if its battery cannot hold the cost.
        """
        able = self.ceilings >= self.costs
        if self.costs.size == 1 and able.all():
            cost = int(self.costs[0])
            alike = self.clients if self.rates.strides == (0,) else 1  # with one rate
            rates = self.rates[:: max(alike, 1)]
            total = float((rates if rates.max() <= cost else np.minimum(rates, cost)).sum()) * alike / cost
        else:
            total = float((np.minimum(self.rates / self.costs, 1) * able).sum())
        whole = math.floor(total * (1 + 1e-12))  # 100 clients at 0.29 are 29, whatever the last bit says
        return min(max(whole, 1), self.clients)

    def cost_of(self, client: int) -> int:
        """Return what a round costs one client."""
        return int(self.costs[client if self.costs.size > 1 else 0])

    def ceiling_of(self, client: int) -> int:
        """Return the level at which one client's battery is full."""
        return int(self.ceilings[client if self.ceilings.size > 1 else 0])

    def start(self) -> Levels:
        """Return E_i(0), shape (n_clients,), as an array of its own."""
        return np.array(np.broadcast_to(np.asarray(self.initial), (self.clients,)), dtype=np.int32)


def _per_client(name: str, given: ArrayLike, n_clients: int) -> NDArray[Any]:
    """Return one number, shape (1,), or one per client, as they were given."""
    allowed = f"one number or one per client ({n_clients})"
    try:
        values = np.array(given)  # a copy: the caller's may change
    except ValueError:  # rows of different lengths
        raise InvalidValue(name, allowed, repr(given)) from None
    if values.shape not in ((), (n_clients,)):
        raise InvalidValue(name, allowed, f"an array of {values.shape}")
    return np.atleast_1d(values)


def _whole_levels(name: str, given: ArrayLike, n_clients: int, low: int) -> Levels:
    values = _per_client(name, given, n_clients)
    allowed = f"whole numbers in [{low}, {MAX_LEVEL}]" if np.ndim(given) else f"a whole number in [{low}, {MAX_LEVEL}]"
    if values.dtype.kind not in "iu":
        raise InvalidValue(name, allowed, repr(given))
    outside = (values < low) | (values > MAX_LEVEL)
    if outside.any():
        raise InvalidValue(name, allowed, _shown(values, outside))
    return values.astype(np.int32)


def _capacities(given: ArrayLike, n_clients: int) -> FloatArray:
    allowed = f"inf or a whole number in [0, {MAX_LEVEL}]"
    values = _per_client("capacity", given, n_clients)
    if values.dtype.kind not in "iuf":
        raise InvalidValue("capacity", allowed, repr(given))
    numbers = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        outside = ~((numbers == math.inf) | ((numbers % 1 == 0) & (numbers >= 0) & (numbers <= MAX_LEVEL)))
    if outside.any():
        raise InvalidValue("capacity", allowed, _shown(values, outside))
    return numbers


def _ceilings(capacities: FloatArray) -> Levels:
    """Return capacities as levels. The highest level stands for infinity where all batteries are infinite.

    Where some are, it is one more than that for those, so that one that passes the highest can be told from a finite
    one that is full.
    """
    highest = np.where(np.isinf(capacities) & (capacities.size > 1), MAX_LEVEL + 1, MAX_LEVEL)
    return np.minimum(capacities, highest).astype(np.int32)


def _check_initial(initial: Levels, capacities: FloatArray) -> None:
    outside = initial > capacities
    if outside.any():
        at = int(np.argmax(outside))
        top = capacities[at if capacities.size > 1 else 0]
        shown = np.broadcast_to(initial, outside.shape)
        raise InvalidValue("initial", f"at most the capacity {top:g}", _shown(shown, outside))


def _shown(values: NDArray[Any], outside: NDArray[np.bool_]) -> str:
    """Return the first value that is outside, and whose it is where there are several."""
    at = int(np.argmax(outside))
    return f"{values[at].item()}" + (f" for client {at}" if values.size > 1 else "")


def _plain(values: FloatArray | IntArray) -> ArrayLike:
    """Return a plain number where there is one for all; whole capacities as such."""
    if values.size > 1:
        return values
    number = values[0].item()
    return int(number) if math.isfinite(number) else number
