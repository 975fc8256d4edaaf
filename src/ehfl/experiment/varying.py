"""A setting's fleet with one thing changed: its batteries, panels, number of clients or length of rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehfl.energy import Fleet
from ehfl.experiment import building
from ehfl.experiment.spec import Setting
from ehfl.quantities import as_energy, as_power, as_time
from ehfl.validation import InvalidValue

_PANEL = "watts"  # how harvests call the size of what they harvest with
_MOST_CLIENTS, _LONGEST = 1_000_000, 30 * 86_400.0  # and the longest round [s]
_WIDE = 1e4  # by which factor batteries and panels may be larger or smaller than they are


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


def table_of(setting: Setting) -> dict[str, Any]:
    """Return all that a fleet is made from, as `fleet_in` takes it."""
    fleet = setting.fleet
    spelled_out = {name: value for name, value in fleet if value is not None}
    return spelled_out | {"harvest": fleet.harvest_table()} | building.turn_of(setting)


def free(setting: Setting, name: str) -> Free:
    """Return what can be varied under that name."""
    if name not in FREE:
        raise InvalidValue("free", f"one of {', '.join(FREE)}", name)
    return FREE[name](setting)


def _battery(setting: Setting) -> Free:
    table, fleet = table_of(setting), building.fleet_of(setting)
    size = fleet.quantum or 1.0
    cheapest = float(np.max(fleet.costs)) * size / (1 - np.max(np.asarray(_numbers(setting.fleet.reserve or 0.0))))
    given = building.spread(table["capacity"], fleet.clients)
    if np.isinf(given).any():
        raise InvalidValue("free", "something else than battery: capacities are infinite", "battery")
    shown = _in_units(fleet, as_energy)
    if np.ndim(given):
        factors = np.asarray(given, dtype=np.float64)
        least = float((fleet.costs / fleet.ceilings).max())
        return Free("battery", setting, 1.0, least, _WIDE, _times, lambda f: _charged(setting, list(f * factors)))
    return Free("battery", setting, float(given), cheapest, max(_WIDE * float(given), cheapest), shown,
                lambda value: _charged(setting, value), whole=fleet.quantum is None)  # fmt: skip


def _charged(setting: Setting, capacity: Any) -> dict[str, Any]:
    """Return another capacity, and no more energy at first than it holds."""
    initial = setting.fleet.initial
    if isinstance(initial, str):  # a percentage
        return {"capacity": capacity}
    start = np.minimum(building.spread(initial, setting.fleet.clients), capacity)
    return {"capacity": capacity, "initial": start.tolist() if start.ndim else start.item()}


def _panel(setting: Setting) -> Free:
    harvest = setting.fleet.harvest_table()
    if _PANEL not in harvest:
        raise InvalidValue("free", f"something else than panel: {harvest['name']} has none", "panel")
    given = building.spread(harvest[_PANEL], setting.fleet.clients)
    if np.ndim(given):
        own = np.asarray(given, dtype=np.float64)
        return Free(
            "panel", setting, 1.0, 1 / _WIDE, _WIDE, _times, lambda f: {"harvest": harvest | {_PANEL: list(f * own)}}
        )
    return Free("panel", setting, float(given), float(given) / _WIDE, float(given) * _WIDE, as_power,
                lambda value: {"harvest": harvest | {_PANEL: value}})  # fmt: skip


def _clients(setting: Setting) -> Free:
    now = setting.fleet.clients
    return Free("clients", setting, now, 1, _MOST_CLIENTS, lambda n: f"{n:,.0f} clients", lambda n: {"clients": int(n)},
                whole=True)  # fmt: skip


def _round(setting: Setting) -> Free:
    now = setting.fleet.round_length
    if now is None:
        raise InvalidValue("free", "something else than round: rounds have no length (fleet.round_length)", "round")
    return Free("round", setting, now, 1.0, _LONGEST, as_time, lambda value: {"round_length": value})


FREE: dict[str, Callable[[Setting], Free]] = {
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


def _numbers(value: Any) -> Any:
    return list(value.values()) if isinstance(value, Mapping) else value
