"""A fleet: the clients' number, harvests, batteries and round costs, in units or in joules."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, IntArray, Levels, PerClient
from ehfl.energy.battery import MAX_LEVEL, Storage, of_clients
from ehfl.energy.contract import HARVESTS, Harvest, InQuanta, Portions, PowerHarvest, is_power, rates_of
from ehfl.quantities import as_energy
from ehfl.randomness import MAX_CLIENTS
from ehfl.validation import InvalidValue, is_label, number_in, whole_number

MONTH = 30 * 86_400  # the period of `self_discharge` [s]
PART = 3600  # longest time over which losses and harvest are settled at once [s]
FINEST = 1000  # minimum quanta of the cheapest round with quantum="auto"
_OFF = 1e-3  # maximum relative rounding error of a cost
_UNITS = {1e-6: "µJ", 1e-3: "mJ", 1.0: "J", 1e3: "kJ"}


@dataclass(frozen=True, eq=False)
class Fleet:
    """Clients that live on harvested energy (paper, section 2).

    Capacity, initial level, cost and losses are one number for all clients or one per client. Energy is an integer in
    `unit`: the paper's units, or a quantum such as a millijoule. `Fleet.in_joules` constructs a fleet from joules.

    >>> from ehfl.energy import Bernoulli
    >>> Fleet(clients=10, harvest=Bernoulli(rate=0.5)).sustainable
    5
    >>> Fleet(clients=2, harvest=Bernoulli(rate=0.5), capacity=[4, 9], cost=[1, 3], unit="mJ").costs.tolist()
    [1, 3]
    """

    clients: int
    harvest: Harvest  # or its name, as in "bernoulli:0.5"
    capacity: ArrayLike = math.inf  # E_max, integers or infinite
    initial: ArrayLike = 0  # E_i(0)
    cost: ArrayLike = 1  # of taking part in a round
    unit: str = "units"  # name of the unit of energy
    efficiency: ArrayLike = 1.0  # share of a harvest that reaches the battery
    leak: ArrayLike = 0.0  # share of the level that a battery loses in a part of a round (see `parts`)
    drain: ArrayLike = 0.0  # lost per part in addition, down to an empty battery; may be fractional
    quantum: float | None = None  # size of a unit [J], if known
    round_length: float | None = None  # [s], if known
    steps: int | None = None  # K, the local steps that `cost` pays for, if turns may have fewer
    step_cost: ArrayLike | None = None  # cost of a step: a turn of k steps costs cost - (K - k) step_cost
    rates: FloatArray = field(init=False, repr=False)  # mean harvest, (n_clients,) [units a round]
    costs: Levels = field(init=False, repr=False)  # shape (1,) for all alike, else (n_clients,); so are the next ones
    ceilings: Levels = field(init=False, repr=False)  # the capacity as a level
    endless: NDArray[np.bool_] = field(init=False, repr=False)  # clients with infinite capacity
    storage: Storage | None = field(init=False, repr=False)  # None without losses
    step_costs: StepCosts | None = field(init=False, repr=False)  # None if all turns have K steps

    def __post_init__(self) -> None:
        n = whole_number("clients", self.clients, low=1, high=MAX_CLIENTS)
        harvest = HARVESTS.make(self.harvest)
        if is_power(harvest):
            allowed = "one that counts in units; with one in watts a fleet is made by Fleet.in_joules"
            raise InvalidValue("harvest", allowed, repr(harvest))
        levels = f"[0, {MAX_LEVEL}]"
        capacity = PerClient.of("capacity", self.capacity, levels, whole=True, or_inf=True, clients=n)
        cost = PerClient.of("cost", self.cost, f"[1, {MAX_LEVEL}]", whole=True, clients=n)
        initial = PerClient.of("initial", self.initial, levels, whole=True, clients=n)
        above = initial.numbers > capacity.numbers
        least = np.broadcast_to(capacity.numbers, above.shape)[np.argmax(above)]
        initial.refuse(above, f"at most the capacity {least:g}")
        if not is_label(self.unit, most=20):
            raise InvalidValue("unit", "1 to 20 printable characters", repr(self.unit))
        storage = Storage.given(n, self.efficiency, self.leak, self.drain)
        facts = {
            "clients": n,
            "capacity": capacity.plain(),
            "initial": initial.plain(),
            "cost": cost.plain(),
            "harvest": harvest,
            "rates": rates_of(harvest, n),
            "costs": cost.numbers,
            "ceilings": _ceilings(capacity.numbers),
            "endless": np.isinf(capacity.numbers),
            "storage": None if storage.lossless else storage,
            "step_costs": StepCosts.given(n, self.steps, self.step_cost, cost.numbers),
        }
        for name, value in facts.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def in_joules(
        cls,
        clients: int,
        harvest: PowerHarvest | Harvest | str,
        *,
        capacity: ArrayLike,
        cost: ArrayLike,
        round_length: float,
        initial: ArrayLike = 0.0,
        quantum: float | Literal["auto"] = "auto",
        efficiency: ArrayLike = 1.0,
        self_discharge: ArrayLike = 0.0,
        reserve: ArrayLike = 0.0,
        health: ArrayLike = 1.0,
        standby: ArrayLike = 0.0,
        arrival: float | None = None,
        steps: int | None = None,
        step_cost: ArrayLike | None = None,
    ) -> Fleet:
        """Return the fleet whose batteries hold `capacity` and whose rounds take `round_length` [s] and `cost` joules.

        Each is one number or one per client:

        - capacity, initial, cost [J]: the battery's capacity, its initial charge, the cost of taking part in a round;
        - efficiency: the share of a harvest that reaches the battery;
        - self_discharge: the share of its charge that a battery loses in a month of 30 days;
        - reserve: the share of the capacity below the cut-off, where a device switches off;
        - health: the share of `capacity` that an aged battery still has; its initial charge is reduced to fit;
        - standby [W]: the draw of a device while it has energy, in every round.

        Levels are usable energy, so a battery is empty at its cut-off: E = charge - reserve * capacity. It loses the
        share 1 - (1 - self_discharge)^(s / month) of its full charge in s seconds, down to the cut-off. With losses
        that depend on the level, a round of more than an hour is settled in equal parts of at most an hour, as if it
        were that many rounds of which only the first has participants.
        If turns may have fewer local steps than `steps`, each omitted step saves `step_cost` [J], rounded down to
        quanta.
        `quantum` [J] is what energy is counted in; "auto" is the largest of 1, 2, 5 times a power of ten of which the
        cheapest round has 1,000. A harvest in units needs `arrival` [J], what a unit brings.

        >>> from ehfl.energy import Bernoulli
        >>> fleet = Fleet.in_joules(
        ...     3, Bernoulli(0.5), capacity=18_000, cost=12, round_length=3600, arrival=20, reserve=0.1
        ... )
        >>> fleet.unit, fleet.cost, fleet.capacity
        ('10 mJ', 1200, 1620000)
        """
        clients = whole_number("clients", clients, low=1, high=MAX_CLIENTS)
        seconds = number_in("round_length", round_length, "[1e-3, 31536000]")

        def each(name: str, given: ArrayLike, interval: str) -> FloatArray:
            return PerClient.of(name, given, interval, clients=clients).numbers

        capacities, costs = each("capacity", capacity, "[0, inf]"), each("cost", cost, "[1e-12, inf)")
        starts = PerClient.of("initial", initial, "[0, inf)", clients=clients)
        starts.refuse(starts.numbers > capacities * (1 + 1e-9), "at most the capacity")
        capacities = capacities * each("health", health, "(0, 1]")
        below = each("reserve", reserve, "[0, 1)") * np.where(np.isinf(capacities), 0, capacities)
        _check_payable(costs, capacities - below)
        size = _quantum(quantum, costs, capacities - below)
        discharge, draw = each("self_discharge", self_discharge, "[0, 1)"), each("standby", standby, "[0, inf)")
        parts = math.ceil(seconds / PART - 1e-9) if discharge.any() or draw.any() else 1
        gone = 1 - (1 - discharge) ** (seconds / parts / MONTH)
        idle = draw * (seconds / parts)
        saved = None if step_cost is None else np.floor(each("step_cost", step_cost, "[0, inf)") / size + 1e-9)
        return cls(
            clients=clients,
            harvest=_counted(harvest, size, seconds, parts, arrival),
            capacity=_one_or_all(np.floor((capacities - below) / size + 1e-9)),
            initial=_one_or_all(
                np.floor(np.maximum(np.minimum(starts.numbers, capacities) - below, 0) / size + 1e-9).astype(np.int64)
            ),
            cost=_one_or_all(np.rint(costs / size).astype(np.int64)),
            unit=unit_name(size),
            efficiency=efficiency,
            leak=_one_or_all(gone),
            drain=_one_or_all((gone * below + idle) / size),
            quantum=size,
            round_length=seconds,
            steps=steps,
            step_cost=None if saved is None else _one_or_all(saved.astype(np.int64)),
        )

    @property
    def parts(self) -> int:
        """The equal parts of a round, of at most an hour, in each of which losses and harvest are settled."""
        return int(getattr(self.harvest, "parts", 1))

    @property
    def drain_a_round(self) -> FloatArray:
        """The drain of a whole round, (1,) or (n_clients,) [units]."""
        return np.zeros(1) if self.storage is None else self.storage.drain * self.parts

    @cached_property  # for ten million clients it takes as long as a round
    def sustainable(self) -> int:
        """The clients per round that the harvest can sustain: floor of the sum of min(rate / cost, 1), at least 1.

        A client takes part at most once per round, and never if its battery cannot hold the cost. `rate` is the harvest
        after charging losses and drain; leaks depend on the level and are left out.
        """
        able = self.ceilings >= self.costs
        if self.storage is not None:
            left = np.maximum(self.rates * self.storage.efficiency - self.drain_a_round, 0)
            total = float((np.minimum(left / self.costs, 1) * able).sum())
        elif self.costs.size == 1 and able.all():
            cost = int(self.costs[0])
            alike = self.clients if self.rates.strides == (0,) else 1  # with one rate
            rates = self.rates[:: max(alike, 1)]
            total = float((rates if rates.max() <= cost else np.minimum(rates, cost)).sum()) * alike / cost
        else:
            total = float((np.minimum(self.rates / self.costs, 1) * able).sum())
        whole = math.floor(total * (1 + 1e-12))  # 100 clients at 0.29 are 29 in spite of rounding
        return min(max(whole, 1), self.clients)

    def cost_of(self, client: int, steps: int | None = None) -> int:
        """Return the cost of a round for one client, with all or `steps` local steps."""
        if steps is not None and self.step_costs is not None:
            return int(self.step_costs.prices(np.array([client]), np.array([steps]))[0])
        return int(self.costs[client if self.costs.size > 1 else 0])

    def ceiling_of(self, client: int) -> int:
        """Return the level at which one client's battery is full."""
        return int(self.ceilings[client if self.ceilings.size > 1 else 0])

    def amount(self, quanta: int, *, named: bool = True) -> str:
        """Return quanta as text for messages: in joules if their size is known, else in units, `named` or not.

        >>> from ehfl.energy import Bernoulli
        >>> Fleet(clients=2, harvest=Bernoulli(rate=0.5), unit="mJ").amount(3)
        '3 mJ'
        """
        if self.quantum is not None:
            return f"{quanta * self.quantum:.6g} J"
        return f"{quanta} {self.unit}" if named else f"{quanta}"

    def start(self) -> Levels:
        """Return E_i(0), shape (n_clients,), as a new array."""
        return np.array(np.broadcast_to(np.asarray(self.initial), (self.clients,)), dtype=np.int32)


@dataclass(frozen=True, eq=False, slots=True)
class StepCosts:
    """A turn of k of its K steps costs cost - (K - k) step; for k = 0, waking, joining and sending remain.

    >>> ten, two = np.array([10], np.int32), np.array([2], np.int32)
    >>> StepCosts(5, whole=ten, step=two).prices(clients=np.array([3, 7]), steps=np.array([5, 1])).tolist()
    [10, 2]
    """

    steps: int  # K, of a full turn
    whole: Levels  # cost of a full turn, shape (1,) or (n_clients,)
    step: Levels  # cost of one step, of the same shape

    @classmethod
    def given(cls, n_clients: int, steps: int | None, step_cost: ArrayLike | None, costs: Levels) -> StepCosts | None:
        """Return the costs of steps, None if not given; raise an error if they do not fit the costs of turns."""
        if steps is None and step_cost is None:
            return None
        if steps is None or step_cost is None:
            missing, there = ("steps", "step_cost") if steps is None else ("step_cost", "steps")
            raise InvalidValue(missing, f"given with {there}", "nothing")
        whole_number("steps", steps, low=1)
        each = PerClient.of("step_cost", step_cost, f"[0, {MAX_LEVEL}]", whole=True, clients=n_clients)
        # A turn of one step must still cost energy, because energy limits how often clients take part.
        each.refuse(
            each.numbers.astype(np.int64) * (steps - 1) >= costs,
            f"such that {steps - 1} of them are less than the cost of a turn of {steps} steps",
        )
        return cls(int(steps), costs, each.numbers)

    def prices(self, clients: IntArray, steps: IntArray) -> IntArray:
        """Return the costs of turns of `steps` steps for these clients, (len(clients),)."""
        whole, step = (one[clients] if one.size > 1 else one for one in (self.whole, self.step))
        prices: IntArray = whole.astype(np.int64) - (self.steps - np.asarray(steps, np.int64)) * step
        return prices

    def of(self, clients: range) -> StepCosts:
        """Return the costs for some of the clients."""
        return StepCosts(self.steps, of_clients(self.whole, clients), of_clients(self.step, clients))


def unit_name(quantum: float) -> str:
    """Return the name of a quantum as a unit.

    >>> unit_name(1e-3), unit_name(0.02), unit_name(5e-7)
    ('mJ', '20 mJ', '0.5 µJ')
    """
    size = max((one for one in _UNITS if quantum >= one * (1 - 1e-9)), default=1e-6)
    number = f"{quantum / size:.6g}"
    return _UNITS[size] if number == "1" else f"{number} {_UNITS[size]}"


def _ceilings(capacities: FloatArray) -> Levels:
    """Return capacities as levels. If all batteries are infinite, MAX_LEVEL stands for infinity.

    If only some are, MAX_LEVEL + 1 stands for infinity, which distinguishes an overflow from a full finite battery.
    """
    highest = np.where(np.isinf(capacities) & (capacities.size > 1), MAX_LEVEL + 1, MAX_LEVEL)
    return np.minimum(capacities, highest).astype(np.int32)


def _one_or_all(numbers: NDArray[Any]) -> Any:
    """Return a scalar if the array has one number for all clients."""
    return numbers[0].item() if numbers.size == 1 else numbers


def _counted(harvest: Any, quantum: float, seconds: float, parts: int, arrival: float | None) -> Harvest:
    made = HARVESTS.make(harvest)
    if is_power(made):
        if arrival is not None:
            raise InvalidValue("arrival", "left out where a harvest is in watts", arrival)
        return InQuanta(made, quantum, seconds, parts)
    if arrival is None:
        allowed = "given, what a unit of the harvest brings [J], where it counts in units"
        raise InvalidValue("arrival", allowed, "nothing")
    joules = number_in("arrival", arrival, "[1e-12, 1e12]")
    quanta = round(joules / quantum)
    if quanta < 1 or abs(quanta * quantum / joules - 1) > _OFF:
        raise InvalidValue("quantum", f"one of which arrival ({as_energy(joules)}) is a whole number", quantum)
    return made if quanta == 1 and parts == 1 else Portions(made, quanta, parts)


def _quantum(given: float | Literal["auto"], costs: FloatArray, usable: FloatArray) -> float:
    """Return the size of a quantum [J]; raise an error if costs or batteries are not representable."""
    cheapest, largest = float(costs.min()), float(np.max(usable[np.isfinite(usable)], initial=0.0))
    least = largest / MAX_LEVEL
    limits = f"at least {least:.3g} J, so that the largest battery ({as_energy(largest)}) can be counted"
    finest = _round_number(cheapest / FINEST)
    if given == "auto":
        if finest < least:
            why = f"{limits}, and at most a {FINEST}th of the cheapest round ({as_energy(cheapest)})"
            raise InvalidValue("quantum", f"given: none is {why}", "auto")
        return finest
    size = number_in("quantum", given, "[1e-12, 1e12]")
    if size < least:
        raise InvalidValue("quantum", limits, f"{size:g}")
    off = np.abs(np.rint(costs / size) * size / costs - 1) > _OFF
    if off.any():
        cost = as_energy(float(costs[off][0]))
        allowed = f"one of which a round's cost ({cost}) is a whole number to 0.1 %, such as {finest:g}"
        raise InvalidValue("quantum", allowed, f"{size:g}")
    return size


def _round_number(most: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is at most `most`.

    >>> _round_number(0.012), _round_number(0.005), _round_number(3.0)
    (0.01, 0.005, 2.0)
    """
    exponent = math.floor(math.log10(most))
    sizes = [float(f"{digit}e{power}") for power in (exponent - 1, exponent, exponent + 1) for digit in (1, 2, 5)]
    return max(size for size in sizes if size <= most * (1 + 1e-9))


def _check_payable(costs: FloatArray, usable: FloatArray) -> None:
    """Raise an error if a client's battery cannot hold the cost of a round."""
    short = usable < costs * (1 - 1e-9)
    if short.any():
        client = int(np.argmax(short))
        cost, holds = (as_energy(float(np.broadcast_to(one, short.shape)[client])) for one in (costs, usable))
        whose, battery = (f"client {client}", "its battery") if short.size > 1 else ("clients", "a battery")
        why = f"{whose} can never take part: a round costs {cost}, {battery} holds {holds}"
        raise InvalidValue("capacity", "at least what a round costs, above the reserve", why)
