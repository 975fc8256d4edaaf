"""Changes to a spec by dotted key: overrides of the command line, and what an arm changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from pydantic import BaseModel

from ehfl.energy import Fleet
from ehfl.experiment.spec.build import describe_fleet
from ehfl.experiment.spec.models import SECTIONS, FleetSpec, Setting
from ehfl.experiment.spec.values import lies_within
from ehfl.registry import Here, literal
from ehfl.runs import Facts
from ehfl.validation import InvalidValue, SpecError, shown

_STRINGS = ("name", "code", "fleet.unit", "learning.data")  # keys whose value is a string, whatever it looks like
# keys without their section, in arms and as keyword arguments
SHORT = {name: f"learning.{name}" for name in ("aggregation", "partition", "step_size", "task")}
SHORT["harvest"] = "fleet.harvest"
OPTIONAL = (
    "learning.clip",
    "learning.data",
    "learning.local",
    "learning.local_epochs",
    "flower.norm_limit",
    "checkpoint_every",
)  # keys that "none" takes away again


def change(facts: Facts, changes: Mapping[str, Any]) -> None:
    """Set dotted keys; what cannot stand together is refused."""
    if "fleet.rate" in changes and "fleet.harvest" in changes:
        raise SpecError("fleet.rate", f"must be left out where fleet.harvest is given, got {changes['fleet.rate']}")
    for key, value in changes.items():
        put(facts, key, value)


def put(facts: Facts, key: str, value: Any) -> None:
    """Set a dotted key; a harvest and its short form, the rate, replace each other."""
    *sections, last = key.split(".")
    # Otherwise `--rate 0.3` on a spec with a harvest would be refused, since a fleet has one of the two.
    if sections[:1] == ["fleet"] and isinstance(facts.get("fleet"), dict):
        facts["fleet"].pop({"rate": "harvest", "harvest": "rate"}.get([*sections, last][1], ""), None)
    for place, section in enumerate(sections):
        inner = facts.get(section)
        if inner is None:  # a parameter of a thing that the spec leaves at its default
            name = _default_name(sections[: place + 1])
            inner = facts[section] = {} if name is None else {"name": name}
        elif isinstance(inner, str):  # a name, to which a parameter is added
            inner = facts[section] = {"name": inner}
        if not isinstance(inner, dict):
            raise SpecError(key, f"must be a key of a section, and {section} is not a section")
        facts = inner
    # TOML has no null: "none" removes an optional key; for other keys it is a string like any other.
    if value is None or (value == "none" and key in OPTIONAL):
        facts.pop(last, None)
    else:
        facts[last] = value


def _default_name(path: Sequence[str]) -> str | None:
    """Return the default scheduler, harvest, task, ... by name; None for a section."""
    if list(path) == ["fleet", "harvest"]:
        return str(FleetSpec().harvest_table()["name"])
    *sections, last = path
    model: type[BaseModel] = SECTIONS[sections[0]] if sections and sections[0] in SECTIONS else Setting
    field = model.model_fields.get(last)
    default = None if field is None else field.get_default(call_default_factory=True)
    return str(default["name"]) if isinstance(default, dict) else None


def parsed_overrides(overrides: Any) -> dict[str, Any]:
    """Return the values of overrides by key, from strings like "rounds=20" or a mapping."""
    by_key = isinstance(overrides, Mapping)
    given = [overrides] if isinstance(overrides, str) else overrides
    if not isinstance(given, Iterable) or not all(isinstance(one, str) for one in given):
        raise InvalidValue("overrides", "texts such as rounds=20, or values by key", repr(overrides))
    return collected(overrides.items() if by_key else map(_parsed_override, given))


def collected(changes: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return changes by key; refuse one that would undo an earlier one."""
    found: dict[str, Any] = {}
    for key, value in changes:
        undone = [other for other in found if lies_within(other, key)]
        if undone:
            fault = "given once" if key in undone else f"given before {undone[0]}, which it would undo"
            raise SpecError(key, f"must be {fault}, got {shown(value)}")
        found[key] = _from_here(value)
    return found


def by_keyword(overrides: Mapping[str, Any]) -> Facts:
    """Return changes by dotted key, given as keyword arguments.

    >>> by_keyword({"rounds": 20, "fleet": {"capacity": 3}, "task": "digits"})
    {'rounds': 20, 'fleet.capacity': 3, 'learning.task': 'digits'}
    """
    return collected(pair for name, given in overrides.items() for pair in by_key(name, given))


def by_key(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return changes by dotted key: a table changes only the named keys of its section, a Fleet the whole section."""
    name = SHORT.get(name, name)
    if isinstance(value, Fleet):
        return [(name, describe_fleet(value))]
    if name in SECTIONS and isinstance(value, Mapping):
        return [(f"{name}.{key}", inner) for key, inner in value.items()]
    return [(name, value)]


def plain_copy(given: Any) -> Any:
    """Copy tables and lists, with NumPy's numbers and paths as plain ones; instances are shared, not copied."""
    if isinstance(given, np.generic | np.ndarray):
        return given.tolist()
    if isinstance(given, PurePath):
        return str(given)
    if isinstance(given, Mapping):
        return {key: plain_copy(value) for key, value in given.items()}
    return [plain_copy(value) for value in given] if isinstance(given, list | tuple) else given


def _from_here(value: Any) -> Any:
    """Mark strings as not read from a file, so that paths start from the current folder."""
    if isinstance(value, PurePath):
        return Here(value)
    if isinstance(value, Mapping):
        return {name: _from_here(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_from_here, value))
    return Here(value) if isinstance(value, str) else value


def _parsed_override(override: str) -> tuple[str, Any]:
    """Return key and value of key=value; the value is TOML, or a bare word."""
    key, equals, text = override.partition("=")
    names = key.strip().split(".")
    if not equals or not all(names):
        raise SpecError("override", f"must be KEY=VALUE such as learning.local_steps=1, got {shown(override)}")
    value = literal(text)
    as_written = key.strip() in _STRINGS and not isinstance(value, str)  # name=2024 is a name
    return key.strip(), text.strip() if as_written else value
