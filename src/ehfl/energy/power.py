"""Harvests in watts, and any harvest as whole quanta of joules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.harvest import Harvest
from ehfl.energy.rounding import Rounded, offsets
from ehfl.validation import InvalidValue, UserError


class PowerHarvest(Protocol):
    """Power that reaches each client while a round lasts: a pure function of (seed, client, round).

    Round t is the time from t * round_length to (t + 1) * round_length seconds after the start of its weather. What a
    forecaster knows beforehand may be told by a third method, `expected(rounds, clients, round_length)`, like `watts`.
    """

    def watts(self, seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the mean power during each round [W], shape (len(rounds), len(clients)), none negative."""
        ...

    def mean_watts(self, n_clients: int) -> FloatArray:
        """Return the mean power over a long time [W], shape (n_clients,)."""
        ...


def is_power(harvest: object) -> TypeGuard[PowerHarvest]:
    """Return whether a harvest says what comes in watts, rather than in units."""
    return hasattr(harvest, "watts") and hasattr(harvest, "mean_watts") and not hasattr(harvest, "units")


@dataclass(frozen=True, eq=False, slots=True)
class InQuanta:
    """Power as whole quanta of energy: floor(P * round_length / quantum + u), u of `rounding.offsets`.

    So no energy is lost or made by rounding, beyond a few quanta over all rounds.
    """

    power: PowerHarvest
    quantum: float  # [J]
    round_length: float  # [s]

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the quanta that reach each client in each round."""
        watts = _checked(self.power, self.power.watts(seed, rounds, clients, self.round_length), rounds, clients)
        amounts = watts * (self.round_length / self.quantum)
        if amounts.size and amounts.max() > MAX_LEVEL:
            raise self._too_fine(float(amounts.max()))
        amounts += offsets(Rounded.HARVEST, rounds, clients)
        return amounts.astype(np.int32)  # towards zero, which is down

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the mean quanta a round."""
        return np.asarray(self.power.mean_watts(n_clients)) * (self.round_length / self.quantum)

    def expected(self, rounds: range, clients: range) -> FloatArray:
        """Return the quanta that a forecaster expects."""
        ahead = getattr(self.power, "expected", None)
        if ahead is None:
            means = self.mean_rates(clients.stop)[clients.start : clients.stop : clients.step]
            return np.broadcast_to(means, (len(rounds), len(clients)))
        return np.asarray(ahead(rounds, clients, self.round_length)) * (self.round_length / self.quantum)

    def _too_fine(self, most: float) -> InvalidValue:
        least = most / MAX_LEVEL * self.quantum
        return InvalidValue(
            "quantum", f"at least {least:.3g} J, or a harvest is more than can be counted", self.quantum
        )

    def __repr__(self) -> str:
        return f"{self.power!r}, {self.round_length:g} s a round"


@dataclass(frozen=True, eq=False, slots=True)
class Portions:
    """A harvest in units, of which each is so many quanta."""

    harvest: Harvest
    quanta: int  # that a unit brings

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the quanta that reach each client in each round."""
        units = np.asarray(self.harvest.units(seed, rounds, clients))
        if units.dtype.kind == "f" or (units.size and int(units.max()) * self.quanta > MAX_LEVEL):
            raise UserError(f"{self.harvest!r}: units must be whole numbers of at most {MAX_LEVEL // self.quanta}")
        return units.astype(np.int32) * np.int32(self.quanta)

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the mean quanta a round."""
        return np.asarray(self.harvest.mean_rates(n_clients)) * self.quanta

    def expected(self, rounds: range, clients: range) -> FloatArray:
        """Return the quanta that a forecaster expects."""
        ahead = getattr(self.harvest, "expected", None)
        if ahead is None:
            means = self.mean_rates(clients.stop)[clients.start : clients.stop : clients.step]
            return np.broadcast_to(means, (len(rounds), len(clients)))
        return np.asarray(ahead(rounds, clients)) * self.quanta

    def __repr__(self) -> str:
        return repr(self.harvest)


def _checked(power: PowerHarvest, given: object, rounds: range, clients: range) -> FloatArray:
    """Return powers as they must be, in an array that may be changed."""
    watts = np.array(given, dtype=np.float64)
    if watts.shape != (len(rounds), len(clients)):
        shape = f"shape {(len(rounds), len(clients))}, got {watts.shape}"
        raise UserError(f"{power!r}: watts must have {shape}")
    if watts.size and not (watts.min() >= 0 and watts.max() < np.inf):  # NaN is neither
        wrong = np.argwhere(~((watts >= 0) & (watts < np.inf)))[0]
        where = f"round {rounds[wrong[0]]}, client {clients[wrong[1]]}"
        raise UserError(f"{power!r}: watts must be finite and at least 0, got {watts[tuple(wrong)]:g} in {where}")
    return watts
