"""A setting's fleet with one thing changed: its batteries, panels, number of clients or length of rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy import Fleet
from ehfl.energy.battery import MAX_LEVEL
from ehfl.experiment import building
from ehfl.experiment.spec import Setting, Spec
from ehfl.planning import Want
from ehfl.quantities import as_energy, as_power, as_time
from ehfl.validation import InvalidValue

_PANEL = "watts"  # how harvests call the size of what they harvest with
_WIDE = 1e4  # by which factor panels may be smaller, and values of single clients smaller or larger
# Where a search ends: a panel of which this part of the mean power pays for a turn, a fleet whose mean harvest pays for
# this many times what is wanted (for one client in 99.99 % of rounds, nine are needed where harvests are independent).
_DIM, _AMPLE = 0.01, 10
_FEWEST_ROUNDS, _MOST_ROUNDS = 100, 200_000  # that the played time is divided into, where their length is searched


@dataclass(frozen=True, slots=True)
class Free:
    """What may be changed about a setting's fleet, and within which limits.

    Where clients have values of their own, all are multiplied by the same factor, which is the value then.
    """

    name: str  # "battery"
    setting: Setting
    now: float  # its value as the setting has it
    low: float
    high: float
    shown: Callable[[float], str]
    change: Callable[[float], Mapping[str, Any]]  # what a value changes in the fleet's table
    whole: bool = False

    def fleet(self, value: float) -> Fleet:
        """Return the fleet with that value."""
        return building.fleet_in(table_of(self.setting) | dict(self.change(value)))


@dataclass(frozen=True, eq=False, slots=True)
class _Means:
    """What a fleet's clients can expect of a round, (n_clients,) each, in the fleet's unit."""

    fleet: Fleet
    stored: FloatArray  # mean harvest that reaches the battery
    drain: FloatArray
    cost: FloatArray

    @staticmethod
    def of(fleet: Fleet) -> _Means:
        storage = fleet.storage
        efficiency, drain = (1.0, 0.0) if storage is None else (storage.efficiency, storage.drain)
        every = (fleet.rates * efficiency, drain, fleet.costs.astype(np.float64))
        return _Means(fleet, *(np.broadcast_to(one, (fleet.clients,)) for one in every))

    @property
    def net(self) -> FloatArray:
        """What is left for turns; without the drain where it takes all from all clients."""
        left = np.maximum(self.stored - self.drain, 0)
        return left if left.any() else self.stored


def table_of(setting: Setting) -> dict[str, Any]:
    """Return all that a fleet is made from, as `fleet_in` takes it."""
    fleet = setting.fleet
    spelled_out = {name: value for name, value in fleet if value is not None}
    return spelled_out | {"harvest": fleet.harvest_table()} | building.turn_of(setting)


def free(setting: Setting, name: str, want: Want, rounds: int) -> Free:
    """Return what can be varied under that name, and between which limits `want` is searched in these rounds."""
    if name not in FREE:
        raise InvalidValue("free", f"one of {', '.join(FREE)}", name)
    return FREE[name](setting, _Means.of(building.fleet_of(setting)), want, rounds)


def with_changes(spec: Spec, changes: Mapping[str, Any]) -> Spec:
    """Return the spec with these changes in the fleet of every arm."""

    def changed(setting: Setting) -> Setting:
        return setting.model_copy(update={"fleet": setting.fleet.model_copy(update=dict(changes))})

    arms = tuple(replace(arm, setting=changed(arm.setting)) for arm in spec.arms)
    return replace(spec, base=changed(spec.base), arms=arms)


def smallest_battery(spec: Spec) -> tuple[float, str]:
    """Return the smallest battery that holds a turn of each client, and how it is written."""
    battery = free(spec.base, "battery", Want(1, 1.0), 1)
    return battery.low, battery.shown(battery.low)


def _battery(setting: Setting, means: _Means, want: Want, rounds: int) -> Free:
    """From one turn of the dearest client to the harvest of all rounds, or what all rounds take if that is less."""
    fleet, reserve = means.fleet, _reserves(setting)
    size, whole = fleet.quantum or 1.0, fleet.quantum is None
    given, cost = (building.spread(table_of(setting)[name], fleet.clients) for name in ("capacity", "cost"))
    if np.ndim(given):
        factors = np.asarray(given, dtype=np.float64)
        least = _round_up(float((fleet.costs / fleet.ceilings).max()))
        return Free("battery", setting, 1.0, least, _WIDE, _times, lambda f: _charged(setting, list(f * factors)))
    turn = np.maximum(np.asarray(cost, dtype=np.float64), means.cost * size)  # whole quanta may be less, or more
    low = _round_up(float((turn / (1 - reserve)).max()), whole)
    enough = np.minimum(fleet.start() + means.stored * rounds, (means.cost + means.drain) * rounds)
    if not _is_given(setting.fleet.quantum):  # else it is chosen anew for what it cannot count
        enough = np.minimum(enough, MAX_LEVEL)
    present = [float(given)] if np.isfinite(given) else []
    high = max([low, *present, _round_down(float((enough / (1 - reserve)).max()) * size, whole)])
    return Free("battery", setting, float(given), low, high, _in_units(fleet, as_energy),
                lambda value: _charged(setting, value), whole)  # fmt: skip


def _charged(setting: Setting, capacity: Any) -> dict[str, Any]:
    """Return another capacity, no more energy at first than it holds, and a quantum that can count it."""
    changes: dict[str, Any] = {"capacity": capacity}
    initial, quantum = setting.fleet.initial, setting.fleet.quantum
    if _is_given(quantum) and np.max(capacity) / quantum > MAX_LEVEL:
        changes["quantum"] = "auto"
    if not isinstance(initial, str):  # a percentage stays one
        start = np.minimum(building.spread(initial, setting.fleet.clients), capacity)
        changes["initial"] = start.tolist() if start.ndim else start.item()
    return changes


def _is_given(quantum: Any) -> bool:
    return isinstance(quantum, int | float)


def _panel(setting: Setting, means: _Means, want: Want, rounds: int) -> Free:
    """Up to the panel that pays for a turn of each client, and its standby, by 1 % of its mean power."""
    harvest = setting.fleet.harvest_table()
    if _PANEL not in harvest:
        raise InvalidValue("free", f"something else than panel: {harvest['name']} has none", "panel")
    given = building.spread(harvest[_PANEL], setting.fleet.clients)
    needed, stored = means.cost + means.drain, means.stored
    most = max(float(np.divide(needed, _DIM * stored, out=np.ones_like(stored), where=stored > 0).max()), 1.0)
    if np.ndim(given):
        own = np.asarray(given, dtype=np.float64)
        return Free(
            "panel", setting, 1.0, 1 / _WIDE, most, _times, lambda f: {"harvest": harvest | {_PANEL: list(f * own)}}
        )
    return Free("panel", setting, float(given), float(given) / _WIDE, float(given) * most, as_power,
                lambda value: {"harvest": harvest | {_PANEL: value}})  # fmt: skip


def _clients(setting: Setting, means: _Means, want: Want, rounds: int) -> Free:
    """From as many as are wanted to as many as would harvest ten times what is wanted."""
    now = setting.fleet.clients
    changed = Free("clients", setting, now, want.clients, now, lambda n: f"{n:,.0f} clients",
                   lambda n: {"clients": int(n)}, whole=True)  # fmt: skip
    try:
        changed.fleet(now + 1)
    except InvalidValue as error:
        why = f"something else than clients: another number needs other values ({error})"
        raise InvalidValue("free", why, "clients") from error
    paid = float(np.minimum(means.net / means.cost, 1).mean())  # share of rounds that a client can pay for
    ample = _AMPLE * want.clients / paid if paid else 0.0
    return replace(changed, high=max(now, want.clients, math.ceil(ample)))


def _round(setting: Setting, means: _Means, want: Want, rounds: int) -> Free:
    """From rounds whose mean harvest pays for half of what is wanted to a hundredth of the time that is played."""
    now = setting.fleet.round_length
    if now is None:
        raise InvalidValue("free", "something else than round: rounds have no length (fleet.round_length)", "round")
    wanted = want.clients * want.share * float(means.cost.min())  # a round
    paid = now * wanted / total if (total := float(means.net.sum())) else now
    low = min(max(paid / 2, now * rounds / _MOST_ROUNDS), now)
    return Free("round", setting, now, low, max(now * rounds / _FEWEST_ROUNDS, now), as_time,
                lambda value: {"round_length": value})  # fmt: skip


FREE: dict[str, Callable[[Setting, _Means, Want, int], Free]] = {
    "battery": _battery,
    "panel": _panel,
    "clients": _clients,
    "round": _round,
}


def _times(factor: float) -> str:
    return f"{factor:.3g} times as large"


def _in_units(fleet: Fleet, joules: Callable[[float], str]) -> Callable[[float], str]:
    if fleet.quantum is not None:
        return joules
    one = "unit" if fleet.unit == "units" else fleet.unit
    return lambda value: f"{value:,.6g} {one if value == 1 else fleet.unit}"


def _reserves(setting: Setting) -> FloatArray:
    """Return the share of each battery below the cut-off, (n_clients,)."""
    given = building.spread(setting.fleet.reserve or 0.0, setting.fleet.clients)
    return np.broadcast_to(np.asarray(given, dtype=np.float64), (setting.fleet.clients,))


def _round_up(value: float, whole: bool = False) -> float:
    """Return an integer, or a number of four digits, that is at least as large.

    >>> _round_up(14.66668), _round_up(14.66), _round_up(2.5, whole=True)
    (14.67, 14.66, 3)
    """
    return math.ceil(value - 1e-9) if whole else _to_four_digits(value, math.ceil)


def _round_down(value: float, whole: bool) -> float:
    return math.floor(value + 1e-9) if whole else _to_four_digits(value, math.floor)


def _to_four_digits(value: float, towards: Callable[[float], int]) -> float:
    exponent = math.floor(math.log10(value)) - 3
    digits = value / 10.0**exponent
    near = round(digits)  # 0.1 + 0.2 is to stay 0.3
    return float(f"{near if abs(digits - near) < 1e-6 else towards(digits)}e{exponent}")
