"""A fleet with one thing changed: its batteries, panels, number of clients or length of rounds.

A fleet is varied as a table of plain values, as in specs, and rebuilt from each table, because the quantum of a fleet
in joules depends on its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray, spread
from ehfl.energy import Fleet
from ehfl.energy.battery import MAX_LEVEL
from ehfl.planning.budget import Budget, budget_of
from ehfl.planning.want import Want
from ehfl.quantities import as_energies, as_power, as_time
from ehfl.validation import InvalidValue

_PANEL = "watts"  # the harvests' parameter for the panel's size
_WIDE = 1e4  # largest factor by which panels shrink, and per-client values shrink or grow
# Where a search ends: a panel of which this part of the mean power pays for a turn, a fleet whose mean harvest pays for
# this many times what is wanted (for one client in 99.99 % of rounds, nine are needed where harvests are independent).
_DIM, _AMPLE = 0.01, 10
_FEWEST_ROUNDS, _MOST_ROUNDS = 100, 200_000  # that the played time is divided into, where their length is searched


Table = Mapping[str, Any]
Build = Callable[[dict[str, Any]], Fleet]


@dataclass(frozen=True, slots=True)
class Free:
    """A property of a fleet that a search may change, and its limits.

    If the property is given per client, the value is a common factor.
    """

    name: str  # "battery"
    table: Table  # of the unchanged fleet
    now: float  # the current value
    low: float
    high: float
    shown: Callable[[float], str]
    change: Callable[[float], Mapping[str, Any]]  # from a value to the changes of the fleet's table
    whole: bool = False

    def varied(self, value: float) -> dict[str, Any]:
        """Return the fleet's table with that value."""
        return {**self.table, **self.change(value)}


def free_of(table: Table, build: Build, name: str, want: Want, rounds: int) -> Free:
    """Return the property of that name, and the limits of the search for `want` in these rounds.

    `table` has every value of the fleet explicitly, `build` makes a fleet from such a table.
    """
    if name not in FREE:
        raise InvalidValue("free", f"one of {', '.join(FREE)}", name)
    fleet = build(dict(table))
    found = FREE[name](table, fleet, budget_of(fleet, rounds=0), want, rounds)
    if name == "clients":
        _check_growth(found, build)
    return found


def variable(table: Table, build: Build, want: Want, rounds: int) -> list[Free]:
    """Return the variable properties of a fleet, except the round length, which redefines the rounds."""
    values = (*table.values(), *table["harvest"].values())
    lists = any(isinstance(value, tuple | list) for value in values)  # with a value for each of these clients
    found = []
    for name in FREE:
        try:
            one = free_of(table, build, name, want, rounds)
        except InvalidValue:
            continue
        if name != "round" and np.isfinite(one.now) and not (name == "clients" and lists):
            found.append(one)
    return found


def _battery(table: Table, fleet: Fleet, means: Budget, want: Want, rounds: int) -> Free:
    """Limits: one turn of the most expensive client, and the smaller of the harvest and the cost of all rounds."""
    usable = _usable(table)
    size, whole = fleet.quantum or 1.0, fleet.quantum is None
    given, cost = (spread(table[name], fleet.clients) for name in ("capacity", "cost"))
    if np.ndim(given):
        factors = np.asarray(given, dtype=np.float64)
        least = _round_up(float((fleet.costs / fleet.ceilings).max()))
        return Free("battery", table, 1.0, least, _WIDE, _times, lambda f: _charged(table, list(f * factors)))
    turn = np.maximum(np.asarray(cost, dtype=np.float64), means.cost * size)  # rounding to quanta may change the cost
    low = _round_up(float((turn / usable).max()), whole)
    enough = np.minimum(fleet.start() + means.harvest * rounds, (means.cost + means.drain) * rounds)
    if not _is_given(table.get("quantum")):  # "auto" selects a new quantum if needed
        enough = np.minimum(enough, MAX_LEVEL)
    present = [float(given)] if np.isfinite(given) else []
    high = max([low, *present, _round_down(float((enough / usable).max()) * size, whole)])
    beside = float(given) if np.isfinite(given) else low  # the larger one has the unit: values stand in one column
    shown = _in_units(fleet, lambda joules: as_energies(joules, beside)[0])
    return Free("battery", table, float(given), low, high, shown, lambda value: _charged(table, value), whole)


def _charged(table: Table, capacity: Any) -> dict[str, Any]:
    """Return the changes for another capacity: it limits the initial level, and may need another quantum."""
    changes: dict[str, Any] = {"capacity": capacity}
    initial, quantum = table["initial"], table.get("quantum")
    if _is_given(quantum) and np.max(capacity) / quantum > MAX_LEVEL:
        changes["quantum"] = "auto"
    if not isinstance(initial, str):  # a percentage stays one
        start = np.minimum(spread(initial, table["clients"]), capacity)
        changes["initial"] = start.tolist() if start.ndim else start.item()
    return changes


def _is_given(quantum: Any) -> bool:
    return isinstance(quantum, int | float)


def _panel(table: Table, fleet: Fleet, means: Budget, want: Want, rounds: int) -> Free:
    """Upper limit: the panel of which 1 % of the mean power pays for a turn of each client, and its standby."""
    harvest = table["harvest"]
    if _PANEL not in harvest:
        raise InvalidValue("free", f"something else than panel: {harvest['name']} has none", "panel")
    given = spread(harvest[_PANEL], table["clients"])
    needed, stored = means.cost + means.drain, means.harvest
    most = max(float(np.divide(needed, _DIM * stored, out=np.ones_like(stored), where=stored > 0).max()), 1.0)
    if np.ndim(given):
        own = np.asarray(given, dtype=np.float64)
        return Free(
            "panel", table, 1.0, 1 / _WIDE, most, _times, lambda f: {"harvest": harvest | {_PANEL: list(f * own)}}
        )
    shown = _times if harvest["name"] == "trace" else as_power  # a factor of recorded power
    return Free("panel", table, float(given), float(given) / _WIDE, float(given) * most, shown,
                lambda value: {"harvest": harvest | {_PANEL: value}})  # fmt: skip


def _clients(table: Table, fleet: Fleet, means: Budget, want: Want, rounds: int) -> Free:
    """Limits: the required clients, and a fleet that harvests ten times the requirement."""
    now = table["clients"]
    changed = Free("clients", table, now, want.clients, now, lambda n: f"{n:,.0f} clients",
                   lambda n: {"clients": int(n)}, whole=True)  # fmt: skip
    paid = float(np.minimum(_left(means) / means.cost, 1).mean())  # share of rounds that a client can pay for
    ample = _AMPLE * want.clients / paid if paid else 0.0
    return replace(changed, high=max(now, want.clients, math.ceil(ample)))


def _check_growth(changed: Free, build: Build) -> None:
    """Refuse another number of clients where a harvest or a list has values for these alone."""
    try:
        build(changed.varied(changed.now + 1))
    except InvalidValue as error:
        why = f"something else than clients: another number needs other values ({error})"
        raise InvalidValue("free", why, "clients") from error


def _round(table: Table, fleet: Fleet, means: Budget, want: Want, rounds: int) -> Free:
    """From rounds whose mean harvest pays for half of what is wanted to a hundredth of the time that is played.

    None is shorter than a turn, where its time is known.
    """
    now = table.get("round_length")
    if now is None:
        raise InvalidValue("free", "something else than round: rounds have no length (fleet.round_length)", "round")
    wanted = want.clients * want.share * float(means.cost.min())  # a round
    paid = now * wanted / total if (total := float(_left(means).sum())) else now
    low = min(max(paid / 2, now * rounds / _MOST_ROUNDS, table.get("turn_time", 0.0)), now)
    return Free("round", table, now, low, max(now * rounds / _FEWEST_ROUNDS, now), as_time,
                lambda value: {"round_length": value})  # fmt: skip


FREE: dict[str, Callable[[Table, Fleet, Budget, Want, int], Free]] = {
    "battery": _battery,
    "panel": _panel,
    "clients": _clients,
    "round": _round,
}


def _left(means: Budget) -> FloatArray:
    """Return what is left for turns, a round and client; without the drain where it takes all from all clients."""
    left = np.maximum(means.harvest - means.drain, 0)
    return left if left.any() else means.harvest


def _times(factor: float) -> str:
    return f"{factor:.3g} times as large"


def _in_units(fleet: Fleet, joules: Callable[[float], str]) -> Callable[[float], str]:
    if fleet.quantum is not None:
        return joules
    one = "unit" if fleet.unit == "units" else fleet.unit
    return lambda value: f"{value:,.6g} {one if value == 1 else fleet.unit}"


def _usable(table: Table) -> FloatArray:
    """Return the share of each battery's capacity that age has left above the cut-off, (n_clients,)."""
    n_clients = table["clients"]
    reserve, health = (spread(table.get(name) or none, n_clients) for name, none in (("reserve", 0.0), ("health", 1.0)))
    return np.broadcast_to((1 - np.asarray(reserve, np.float64)) * np.asarray(health, np.float64), (n_clients,))


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
