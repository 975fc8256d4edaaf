"""A fleet: how many clients, what they harvest, what they can keep, what a round costs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, IntArray, Levels, first_of, per_client
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.harvest import HARVESTS, Harvest, rates_of
from ehfl.energy.power import is_power
from ehfl.energy.step_costs import StepCosts, step_costs_of
from ehfl.energy.storage import Storage, storage_of
from ehfl.randomness import MAX_CLIENTS
from ehfl.validation import InvalidValue, is_label, whole_number


@dataclass(frozen=True, eq=False)
class Fleet:
    """Clients that live on harvested energy (paper, section 2).

    Capacity, initial level, cost and losses are one number for all clients or one per client. Energy is a whole number
    of what `unit` names: the paper's units, or a quantum such as a millijoule. `fleet_in_joules` makes one from joules.

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
    efficiency: ArrayLike = 1.0  # share of a harvest that reaches the battery
    leak: ArrayLike = 0.0  # share of the level that a battery loses in a round
    drain: ArrayLike = 0.0  # what it loses in a round besides, while there is any; need not be whole
    quantum: float | None = None  # what a unit is [J], where that is known
    round_length: float | None = None  # [s], where that is known
    steps: int | None = None  # K, the local steps of a turn that `cost` pays for, where turns may have fewer
    step_cost: ArrayLike | None = None  # what one of them costs: a turn of k steps costs cost - (K - k) step_cost
    rates: FloatArray = field(init=False, repr=False)  # mean harvest, (n_clients,) [units a round]
    costs: Levels = field(init=False, repr=False)  # shape (1,) for all alike, else (n_clients,); so are the next ones
    ceilings: Levels = field(init=False, repr=False)  # the capacity as a level
    endless: NDArray[np.bool_] = field(init=False, repr=False)  # whose capacity is infinite
    storage: Storage | None = field(init=False, repr=False)  # what is lost, None where nothing is
    step_costs: StepCosts | None = field(init=False, repr=False)  # None where turns are whole

    def __post_init__(self) -> None:
        clients = whole_number("clients", self.clients, low=1, high=MAX_CLIENTS)
        harvest = HARVESTS.make(self.harvest)
        if is_power(harvest):
            allowed = "one that counts in units; with one in watts a fleet is made by fleet_in_joules"
            raise InvalidValue("harvest", allowed, repr(harvest))
        capacities = _capacities(self.capacity, clients)
        costs = _whole_levels("cost", self.cost, clients, low=1)
        initial = _whole_levels("initial", self.initial, clients, low=0)
        _check_initial(initial, capacities)
        if not is_label(self.unit, most=20):
            raise InvalidValue("unit", "1 to 20 printable characters", repr(self.unit))
        storage = storage_of(clients, self.efficiency, self.leak, self.drain)
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
            "storage": None if storage.lossless else storage,
            "step_costs": step_costs_of(clients, self.steps, self.step_cost, costs),
        }
        for name, value in facts.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @cached_property  # of ten million clients it takes as long as a round
    def sustainable(self) -> int:
        """How many clients a round the harvest can pay for: floor of the sum of min(rate / cost, 1), at least 1.

        A client takes part once in a round, however much it harvests, and never if its battery cannot hold the cost. Of
        a harvest counts what is stored and not drained; what leaks depends on the level, so it is left out.
        """
        able = self.ceilings >= self.costs
        if self.storage is not None:
            left = np.maximum(self.rates * self.storage.efficiency - self.storage.drain, 0)
            total = float((np.minimum(left / self.costs, 1) * able).sum())
        elif self.costs.size == 1 and able.all():
            cost = int(self.costs[0])
            alike = self.clients if self.rates.strides == (0,) else 1  # with one rate
            rates = self.rates[:: max(alike, 1)]
            total = float((rates if rates.max() <= cost else np.minimum(rates, cost)).sum()) * alike / cost
        else:
            total = float((np.minimum(self.rates / self.costs, 1) * able).sum())
        whole = math.floor(total * (1 + 1e-12))  # 100 clients at 0.29 are 29, whatever the last bit says
        return min(max(whole, 1), self.clients)

    def cost_of(self, client: int, steps: int | None = None) -> int:
        """Return what a round costs one client: a whole turn, or one of so many local steps."""
        if steps is not None and self.step_costs is not None:
            return int(self.step_costs.prices(np.array([client]), np.array([steps]))[0])
        return int(self.costs[client if self.costs.size > 1 else 0])

    def ceiling_of(self, client: int) -> int:
        """Return the level at which one client's battery is full."""
        return int(self.ceilings[client if self.ceilings.size > 1 else 0])

    def amount(self, quanta: int, *, named: bool = True) -> str:
        """Return so many quanta as messages have them: in joules where they have a size, else in units, `named` or not.

        >>> from ehfl.energy import Bernoulli
        >>> Fleet(clients=2, harvest=Bernoulli(rate=0.5), unit="mJ").amount(3)
        '3 mJ'
        """
        if self.quantum is not None:
            return f"{quanta * self.quantum:.6g} J"
        return f"{quanta} {self.unit}" if named else f"{quanta}"

    def start(self) -> Levels:
        """Return E_i(0), shape (n_clients,), as an array of its own."""
        return np.array(np.broadcast_to(np.asarray(self.initial), (self.clients,)), dtype=np.int32)


def _whole_levels(name: str, given: ArrayLike, n_clients: int, low: int) -> Levels:
    values = per_client(name, given, n_clients)
    allowed = f"whole numbers in [{low}, {MAX_LEVEL}]" if np.ndim(given) else f"a whole number in [{low}, {MAX_LEVEL}]"
    if values.dtype.kind not in "iu":
        raise InvalidValue(name, allowed, repr(given))
    outside = (values < low) | (values > MAX_LEVEL)
    if outside.any():
        raise InvalidValue(name, allowed, first_of(values, outside))
    return values.astype(np.int32)


def _capacities(given: ArrayLike, n_clients: int) -> FloatArray:
    allowed = f"inf or a whole number in [0, {MAX_LEVEL}]"
    values = per_client("capacity", given, n_clients)
    if values.dtype.kind not in "iuf":
        raise InvalidValue("capacity", allowed, repr(given))
    numbers = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        outside = ~((numbers == math.inf) | ((numbers % 1 == 0) & (numbers >= 0) & (numbers <= MAX_LEVEL)))
    if outside.any():
        raise InvalidValue("capacity", allowed, first_of(values, outside))
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
        raise InvalidValue("initial", f"at most the capacity {top:g}", first_of(shown, outside))


def _plain(values: FloatArray | IntArray) -> ArrayLike:
    """Return a plain number where there is one for all; whole capacities as such."""
    if values.size > 1:
        return values
    number = values[0].item()
    return int(number) if math.isfinite(number) else number
