"""The interface of a harvest, in units or in watts, and its registry; conversion of power to integer quanta."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, IntArray, PerClient
from ehfl.energy.battery import MAX_LEVEL, Rounded, offsets
from ehfl.registry import Registry
from ehfl.validation import InvalidValue, UserError, described

_LARGEST = sys.float_info.max
_LIMITS = {"units": ("iu", MAX_LEVEL), "part_units": ("iu", MAX_LEVEL),
           "expected": ("iuf", _LARGEST), "watts": ("iuf", _LARGEST)}  # fmt: skip  # kinds, highest


class Harvest(Protocol):
    """Energy that reaches each client in each round: a pure function of (seed, client, round).

    Implement both methods with NumPy. Draw random numbers from `ehfl.randomness.words`, never from a generator with
    state, so that every scheduler gets the same harvest and any part of it can be computed separately:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from ehfl.randomness import Purpose, words
    >>> @dataclass(frozen=True)
    ... class Daylight:
    ...     '''Half the chance at dawn and dusk, none at night; 24 rounds a day.'''
    ...     def units(self, seed, rounds, clients):
    ...         sun = np.clip(np.sin((np.asarray(rounds) % 24 - 6) / 12 * np.pi), 0, 1)
    ...         return (words(seed, Purpose.HARVEST, rounds, clients) < sun[:, None] * 2.0**32).astype(np.uint8)
    ...     def mean_rates(self, n_clients):
    ...         return np.full(n_clients, 1 / np.pi)
    >>> Daylight().units(seed=0, rounds=range(24), clients=range(100)).sum(axis=1)[[0, 12]].tolist()
    [0, 100]

    A class may declare `per_client`, a tuple of the parameters that are one value for all clients or one per client:
    specs accept a number, a list, a file or { low, high } for them, as for bernoulli's rate. An optional third method,
    `expected(rounds, clients)`, is the forecast: like `units` but in floats; the default is the mean rate.
    """

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return A_i(t), shape (len(rounds), len(clients)): integers >= 0 in the fleet's unit."""
        ...

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return E[A_i(t)] of clients 0..n_clients-1, shape (n_clients,) [units per round]."""
        ...


class PowerHarvest(Protocol):
    """Power that reaches each client while a round lasts: a pure function of (seed, client, round).

    Round t is the time from t * round_length to (t + 1) * round_length seconds after the start of its weather. An
    optional third method, `expected(rounds, clients, round_length)`, is the forecast, like `watts`.
    """

    def watts(self, seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the mean power during each round [W], shape (len(rounds), len(clients)), >= 0."""
        ...

    def mean_watts(self, n_clients: int) -> FloatArray:
        """Return the long-run mean power [W], shape (n_clients,)."""
        ...


def is_power(harvest: object) -> TypeGuard[PowerHarvest]:
    """Return whether a harvest is in watts instead of units."""
    return hasattr(harvest, "watts") and hasattr(harvest, "mean_watts") and not hasattr(harvest, "units")


Watts = Callable[[int, range, range, float], FloatArray]  # the method `watts` of a `PowerHarvest`


class RatedWatts:
    """The parameter `watts` of a dataclass that also has the contract's method `watts`; a descriptor-typed field.

    `Sun(watts=2).rated` is the parameter and `Sun(watts=2).watts(...)` the method (`rounds_power`).
    dataclasses.replace reads parameters as attributes, so it passes the old instance's method to the new one; the
    descriptor replaces it by the old instance's parameter.
    """

    def __init__(self, most: float, default: float | None = None) -> None:
        self._interval, self._default = f"[0, {most:g}]", default

    def __get__(self, harvest: Any, kind: type | None = None) -> Watts:
        if harvest is not None:
            return harvest.rounds_power  # type: ignore[no-any-return]
        if self._default is None:  # so dataclasses ask the class for a default
            raise AttributeError("watts")
        return self._default  # type: ignore[return-value]

    def __set__(self, harvest: Any, given: ArrayLike | Watts) -> None:
        old = getattr(given, "__self__", None)
        rated = old.rated if old is not None else PerClient.of("watts", given, self._interval)  # type: ignore[arg-type]
        # A registry reads the original arguments from `parameters` to write specs.
        parameters = old.parameters if old is not None else {"watts": given}
        object.__setattr__(harvest, "rated", rated)
        object.__setattr__(harvest, "parameters", parameters)


@dataclass(frozen=True, eq=False, slots=True)
class InQuanta:
    """Power as integer quanta of energy: floor(P * length / quantum + u) in each part, u from `battery.offsets`.

    The total rounding error stays at a few quanta over all rounds.
    """

    power: PowerHarvest
    quantum: float  # [J]
    round_length: float  # [s]
    parts: int = 1  # equal parts of a round, in each of which batteries are settled

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the quanta that reach each client in each round: the sums of its parts."""
        if self.parts == 1:
            return self.part_units(seed, rounds, clients)
        sums = np.empty((len(rounds), len(clients)), np.int64)
        for row, t in zip(sums, rounds, strict=True):
            row[:] = self.part_units(seed, range(t * self.parts, (t + 1) * self.parts), clients).sum(axis=0)
        return sums

    def part_units(self, seed: int, parts: range, clients: range) -> IntArray:
        """Return the quanta that reach each client in each part, counted from part 0 of round 0 on."""
        length = self.round_length / self.parts
        found = np.asarray(self.power.watts(seed, parts, clients, length))
        if fault := fault_of("watts", found, parts, clients):
            raise UserError(f"{self.power!r}: {fault}")
        amounts = found.astype(np.float64) * (length / self.quantum)
        if amounts.max(initial=0) > MAX_LEVEL:
            least = float(amounts.max()) / MAX_LEVEL * self.quantum
            allowed = f"at least {least:.3g} J, or a harvest is more than can be counted"
            raise InvalidValue("quantum", allowed, self.quantum)
        amounts += offsets(Rounded.HARVEST, parts, clients)
        return amounts.astype(np.int32)  # truncation rounds down, as amounts are >= 0

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the mean quanta a round."""
        return np.asarray(self.power.mean_watts(n_clients)) * (self.round_length / self.quantum)

    def expected(self, rounds: range, clients: range) -> FloatArray:
        """Return the quanta that a forecaster expects."""
        watts = expected_of(self.power, self.power.mean_watts, rounds, clients, self.round_length)
        return watts * (self.round_length / self.quantum)

    def __repr__(self) -> str:
        return f"{described(self.power)}, {self.round_length:g} s a round"


@dataclass(frozen=True, eq=False, slots=True)
class Portions:
    """A harvest in units of `quanta` quanta each, which come in evenly over the parts of a round."""

    harvest: Harvest
    quanta: int
    parts: int = 1

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the quanta that reach each client in each round."""
        units = np.asarray(self.harvest.units(seed, rounds, clients))
        if units.dtype.kind == "f" or (units.size and int(units.max()) * self.quanta > MAX_LEVEL):
            raise UserError(f"{described(self.harvest)}: units must be integers of at most {MAX_LEVEL // self.quanta}")
        return units.astype(np.int32) * np.int32(self.quanta)

    def part_units(self, seed: int, parts: range, clients: range) -> IntArray:
        """Return the quanta that reach each client in each part, counted from part 0 of round 0 on."""
        first = parts.start // self.parts
        rounds = range(first, -(-parts.stop // self.parts))
        until = self.units(seed, rounds, clients).astype(np.int64)[:, None] * np.arange(self.parts + 1)[:, None]
        each = np.diff(until // self.parts, axis=1).reshape(-1, len(clients))
        return each[parts.start - first * self.parts :][: len(parts)]

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the mean quanta a round."""
        return np.asarray(self.harvest.mean_rates(n_clients)) * self.quanta

    def expected(self, rounds: range, clients: range) -> FloatArray:
        """Return the quanta that a forecaster expects."""
        return expected_of(self.harvest, self.harvest.mean_rates, rounds, clients) * self.quanta

    def __repr__(self) -> str:
        return described(self.harvest)


def expected_of(
    harvest: object, means: Callable[[int], FloatArray], rounds: range, clients: range, *round_length: float
) -> FloatArray:
    """Return the result of a harvest's method `expected`, or the long-run means, (len(rounds), len(clients))."""
    known = getattr(harvest, "expected", None)
    if callable(known):
        return np.asarray(known(rounds, clients, *round_length))
    mean = np.asarray(means(clients.stop))[clients.start : clients.stop : clients.step]
    return np.broadcast_to(mean, (len(rounds), len(clients)))


def fault_of(what: str, found: NDArray[Any], rounds: range, clients: range) -> str:
    """Return the fault of the "units", "expected" or "watts" that a harvest returned, "" if they are valid."""
    kinds, highest = _LIMITS[what]
    if found.shape != (len(rounds), len(clients)):
        return f"{what} must have shape {(len(rounds), len(clients))}, got {found.shape}"
    if found.dtype.kind not in kinds:
        wanted = "whole numbers (.astype(np.uint8))" if kinds == "iu" else "numbers"
        return f"{what} must be {wanted}, got {found.dtype}"
    # Two passes are fast for a large fleet; find the client only on an error. NaN fails both comparisons.
    if found.dtype == np.uint8 or (found.min(initial=0) >= 0 and found.max(initial=0) <= highest):
        return ""
    t, client = np.argwhere(~((found >= 0) & (found <= highest)))[0]
    allowed = "finite and at least 0" if kinds != "iu" else f"in [0, {highest}]"
    return f"{what} must be {allowed}, got {found[t, client]} for client {clients[client]} in round {rounds[t]}"


def rates_of(harvest: Harvest, n_clients: int) -> FloatArray:
    """Return the mean rates of a harvest; raise an error if they are invalid."""
    given = np.asarray(harvest.mean_rates(n_clients))  # raises an error for another number of clients
    allowed = f"{n_clients} finite numbers >= 0"
    if given.dtype.kind not in "iuf":
        raise InvalidValue("harvest.mean_rates", allowed, f"an array of {given.dtype}")
    if given.shape != (n_clients,):
        raise InvalidValue("harvest.mean_rates", allowed, f"shape {given.shape}")
    checked = given[:1] if given.strides == (0,) else given  # a broadcast number is checked once, not per client
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any():
        client = int(wrong.argmax())
        raise InvalidValue("harvest.mean_rates", allowed, f"{given[client]} for client {client}")
    rates: FloatArray = given.astype(np.float64, copy=False)
    return rates.view()


def per_client_parameters(given: object, key: str = "") -> tuple[str, ...]:
    """Return the parameters of a harvest, named as in a spec, that may be one value per client.

    >>> per_client_parameters("bernoulli:0.5")
    ('rate',)
    """
    return HARVESTS.names_declared(given, "per_client", key)


HARVESTS: Registry[Harvest] = Registry(
    "harvest",
    {
        "bernoulli": "ehfl.energy.harvests.bernoulli:Bernoulli",
        "replay": "ehfl.energy.harvests.recorded:Replay",
        "markov": "ehfl.energy.harvests.markov:Markov",
        "poisson": "ehfl.energy.harvests.arrivals:Poisson",
        "compound": "ehfl.energy.harvests.arrivals:Compound",
        "periodic": "ehfl.energy.harvests.recorded:Periodic",
        "trace": "ehfl.energy.traces.trace:Trace",
        "sun": "ehfl.energy.weather.sun:Sun",
        "wind": "ehfl.energy.weather.wind:Wind",
    },
    methods=("units", "mean_rates"),
    or_methods=("watts", "mean_watts"),  # of a PowerHarvest, which a fleet in joules converts to quanta
)
