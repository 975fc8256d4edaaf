"""fleet_in_joules(): a fleet of real devices, in joules, watts and seconds, as whole quanta of energy."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, first_of, per_client
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.fleet import Fleet
from ehfl.energy.harvest import HARVESTS, Harvest
from ehfl.energy.power import InQuanta, Portions, PowerHarvest, is_power
from ehfl.quantities import as_energy
from ehfl.randomness import MAX_CLIENTS
from ehfl.validation import InvalidValue, number_in, whole_number

MONTH = 30 * 86_400  # that self-discharge is given for [s]
FINEST = 1000  # quanta that the cheapest round has at least, if the quantum may be chosen
_OFF = 1e-3  # by which share a cost may be off for being a whole number of quanta
_NAMES = {1e-6: "µJ", 1e-3: "mJ", 1.0: "J", 1e3: "kJ"}


def fleet_in_joules(
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
    standby: ArrayLike = 0.0,
    arrival: float | None = None,
    steps: int | None = None,
    step_cost: ArrayLike | None = None,
) -> Fleet:
    """Return the fleet whose batteries hold `capacity` and whose rounds take `round_length` seconds and `cost` joules.

    Each is one number or one per client:

    - capacity, initial, cost [J]: what a battery holds, what it holds at first, what a participant spends in a round;
    - efficiency: the share of a harvest that reaches the battery;
    - self_discharge: the share of its charge that a battery loses in a month of 30 days;
    - reserve: the share of the capacity that lies below the cut-off, where a device switches off;
    - standby [W]: what a device draws while it has energy, whether it takes part or not.

    Levels count what can be drawn, so a battery is empty at its cut-off: E = charge - reserve * capacity. It loses
    1 - (1 - self_discharge)^(round_length / month) of its whole charge in a round, and nothing below the cut-off.
    Where turns may have fewer local steps than `steps`, a step less saves `step_cost` [J], rounded down to quanta.
    `quantum` [J] is what energy is counted in; "auto" is the largest of 1, 2, 5 times a power of ten of which the
    cheapest round has 1,000. A harvest in units needs `arrival` [J], what a unit brings.

    >>> from ehfl.energy import Bernoulli
    >>> fleet = fleet_in_joules(3, Bernoulli(0.5), capacity=18_000, cost=12, round_length=3600, arrival=20, reserve=0.1)
    >>> fleet.unit, fleet.cost, fleet.capacity
    ('10 mJ', 1200, 1620000)
    """
    clients = whole_number("clients", clients, low=1, high=MAX_CLIENTS)
    seconds = number_in("round_length", round_length, "[1e-3, 31536000]")
    capacities = _amounts("capacity", capacity, clients, infinite=True)
    costs = _amounts("cost", cost, clients, low=1e-12)
    starts = _amounts("initial", initial, clients)
    below = _shares("reserve", reserve, clients) * np.where(np.isinf(capacities), 0, capacities)
    _check_payable(costs, capacities - below)
    _check_start(starts, capacities)
    size = _quantum(quantum, costs, capacities - below)
    gone = 1 - (1 - _shares("self_discharge", self_discharge, clients)) ** (seconds / MONTH)
    idle = _amounts("standby", standby, clients) * seconds
    return Fleet(
        clients=clients,
        harvest=_counted(harvest, size, seconds, arrival),
        capacity=_one_or_all(np.floor((capacities - below) / size + 1e-9)),
        initial=_one_or_all(np.floor(np.maximum(starts - below, 0) / size + 1e-9), whole=True),
        cost=_one_or_all(np.rint(costs / size), whole=True),
        unit=unit_name(size),
        efficiency=efficiency,
        leak=_one_or_all(gone),
        drain=_one_or_all((gone * below + idle) / size),
        quantum=size,
        round_length=seconds,
        steps=steps,
        step_cost=None if step_cost is None else _steps(step_cost, clients, size),
    )


def _steps(step_cost: ArrayLike, clients: int, size: float) -> Any:
    return _one_or_all(np.floor(_amounts("step_cost", step_cost, clients) / size + 1e-9), whole=True)


def unit_name(quantum: float) -> str:
    """Return what a quantum is called.

    >>> unit_name(1e-3), unit_name(0.02), unit_name(5e-7)
    ('mJ', '20 mJ', '0.5 µJ')
    """
    size = max((one for one in _NAMES if quantum >= one * (1 - 1e-9)), default=1e-6)
    number = f"{quantum / size:.6g}"
    return _NAMES[size] if number == "1" else f"{number} {_NAMES[size]}"


def _counted(harvest: Any, quantum: float, seconds: float, arrival: float | None) -> Harvest:
    """Return a harvest as whole quanta."""
    made = HARVESTS.make(harvest)
    if is_power(made):
        if arrival is not None:
            raise InvalidValue("arrival", "left out where a harvest is in watts", arrival)
        return InQuanta(made, quantum, seconds)
    if arrival is None:
        raise InvalidValue(
            "arrival", "given, what a unit of the harvest brings [J], where it counts in units", "nothing"
        )
    joules = number_in("arrival", arrival, "[1e-12, 1e12]")
    quanta = round(joules / quantum)
    if quanta < 1 or abs(quanta * quantum / joules - 1) > _OFF:
        raise InvalidValue("quantum", f"one of which arrival ({as_energy(joules)}) is a whole number", quantum)
    return made if quanta == 1 else Portions(made, quanta)


def _quantum(given: float | Literal["auto"], costs: FloatArray, usable: FloatArray) -> float:
    """Return the size of a quantum [J]; one with which costs or batteries cannot be counted is refused."""
    cheapest, largest = float(costs.min()), float(np.max(usable[np.isfinite(usable)], initial=0.0))
    least = largest / MAX_LEVEL
    limits = f"at least {least:.3g} J, so that the largest battery ({as_energy(largest)}) can be counted"
    if given == "auto":
        size = _round_number(cheapest / FINEST)
        if size < least:
            why = f"{limits}, and at most a {FINEST}th of the cheapest round ({as_energy(cheapest)})"
            raise InvalidValue("quantum", f"given: none is {why}", "auto")
        return size
    size = number_in("quantum", given, "[1e-12, 1e12]")
    if size < least:
        raise InvalidValue("quantum", limits, f"{size:g}")
    off = np.abs(np.rint(costs / size) * size / costs - 1) > _OFF
    if off.any():
        finer = _round_number(cheapest / FINEST)
        raise InvalidValue("quantum", f"one of which a round's cost ({as_energy(float(costs[off][0]))}) is a whole "
                           f"number to 0.1 %, such as {finer:g}", f"{size:g}")  # fmt: skip
    return size


def _round_number(most: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is at most so large.

    >>> _round_number(0.012), _round_number(0.005), _round_number(3.0)
    (0.01, 0.005, 2.0)
    """
    exponent = math.floor(math.log10(most))
    sizes = [float(f"{digit}e{power}") for power in (exponent - 1, exponent, exponent + 1) for digit in (1, 2, 5)]
    return max(size for size in sizes if size <= most * (1 + 1e-9))


def _amounts(name: str, given: ArrayLike, n_clients: int, low: float = 0.0, infinite: bool = False) -> FloatArray:
    values = per_client(name, given, n_clients)
    allowed = f"at least {low:g}" + (" or inf" if infinite else " and finite")
    if values.dtype.kind not in "iuf":
        raise InvalidValue(name, f"one number or one per client, {allowed}", repr(given))
    numbers: FloatArray = values.astype(np.float64)
    fits = (numbers >= low) & (np.isfinite(numbers) | infinite)
    if not fits.all():
        raise InvalidValue(name, allowed, first_of(numbers, ~fits))
    return numbers


def _shares(name: str, given: ArrayLike, n_clients: int) -> FloatArray:
    numbers = _amounts(name, given, n_clients)
    if (numbers >= 1).any():
        raise InvalidValue(name, "in [0, 1)", first_of(numbers, numbers >= 1))
    return numbers


def _check_payable(costs: FloatArray, usable: FloatArray) -> None:
    """Refuse a client whose battery can never hold what a round costs it."""
    short = usable < costs * (1 - 1e-9)
    if short.any():
        client = int(np.argmax(short))
        cost, holds = (as_energy(float(np.broadcast_to(one, short.shape)[client])) for one in (costs, usable))
        whose, battery = (f"client {client}", "its battery") if short.size > 1 else ("clients", "a battery")
        why = f"{whose} can never take part: a round costs {cost}, {battery} holds {holds}"
        raise InvalidValue("capacity", "at least what a round costs, above the reserve", why)


def _check_start(starts: FloatArray, capacities: FloatArray) -> None:
    above = starts > capacities * (1 + 1e-9)
    if above.any():
        raise InvalidValue("initial", "at most the capacity", first_of(np.broadcast_to(starts, above.shape), above))


def _one_or_all(numbers: FloatArray, *, whole: bool = False) -> Any:
    """Return a plain number where there is one for all."""
    found = numbers.astype(np.int64) if whole else numbers
    return found[0].item() if found.size == 1 else found
