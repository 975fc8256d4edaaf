"""Validators of a spec's values: each returns the value in its stored form, or raises what is allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from ehfl.energy import HARVESTS, per_client_parameters
from ehfl.experiment.spec.costing import ENERGIES, LOSSES, is_costing, read_costing
from ehfl.files import read_numbers
from ehfl.quantities import is_quantity, quantity
from ehfl.registry import Here, Registry, Table, lies_there
from ehfl.theory import STEP_SIZES, step_size_of, step_size_table
from ehfl.validation import InvalidValue, SpecError, is_number, number_in, short, whole_number

MOST_SEEDS = 10_000
MOST_ROUNDS = 10_000_000
# keys of the fleet that need a round's length, and those that take one value for all or one per client
PHYSICAL = ("quantum", *LOSSES, "arrival")
PER_CLIENT = ("rate", *ENERGIES, *LOSSES)


def per_client(value: Any, info: ValidationInfo) -> Any:
    """Return a number, a tuple with one per client, or an even spread {low, high}; a string names a file."""
    if info.field_name == "cost" and is_costing(value):
        return read_costing(value, "fleet.cost")
    return _read_per_client(value, f"fleet.{info.field_name}", folder_of(info, value))


def count_clients(fleet: Mapping[str, Any], info: ValidationInfo) -> int:
    """Return the number of clients in a recorded harvest, else in the longest list or file of values, else 0."""
    given = {f"fleet.{name}": fleet.get(name) for name in PER_CLIENT if not is_costing(fleet.get(name))}
    table = read_harvest(fleet.get("harvest"), info)
    if table is not None:  # a record has a column for each client, and a list of its parameters an entry
        own = per_client_parameters(table, "fleet.harvest")
        # Any value will do: this harvest is constructed only to read its number of clients.
        first = {name: table[name]["low"] for name in own if isinstance(table.get(name), Mapping)}
        if recorded := int(getattr(HARVESTS.make(table | first, "fleet.harvest"), "n_clients", 0)):
            return recorded
        given |= {f"fleet.harvest.{name}": table.get(name) for name in own}
    lists = (
        _read_per_client(value, key, folder_of(info, value))
        for key, value in given.items()
        if isinstance(value, list | tuple | str)
    )
    return max((len(one) for one in lists if isinstance(one, tuple)), default=0)


def check_joules(fleet: Mapping[str, Any]) -> None:
    """Refuse joules unless rounds have a length, and another unit if they have.

    `fleet` has values as written, since 5 Wh become a plain number once read.
    """
    if fleet.get("round_length") is not None:
        if fleet.get("unit", "units") != "units":
            allowed = "left out where fleet.round_length is given: energy is in joules"
            raise InvalidValue("fleet.unit", allowed, fleet["unit"])
        return
    for name in PHYSICAL:
        if fleet.get(name) is not None:
            raise InvalidValue(f"fleet.{name}", "left out unless fleet.round_length is given", short(repr(fleet[name])))
    for name in ENERGIES:
        given = _written_values(fleet.get(name))
        if is_costing(fleet.get(name)) or any(is_quantity(value) or _is_percentage(value) for value in given):
            allowed = "a number of units, unless fleet.round_length is given"
            raise InvalidValue(f"fleet.{name}", allowed, short(repr(fleet[name])))


def _written_values(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_percentage(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\s*\d+(\.\d*)?\s*%\s*", value) is not None


def amount(unit: str) -> Callable[[Any, ValidationInfo], Any]:
    """Return a validator of optional joules or seconds: a number or a string such as "5 Wh"; quantum: or auto."""

    def read(value: Any, info: ValidationInfo) -> Any:
        auto = info.field_name == "quantum" and value == "auto"
        return value if value is None or auto else quantity(f"fleet.{info.field_name}", value, unit)

    return read


def _read_per_client(value: Any, key: str, folder: Path) -> Any:
    if value == "inf":
        return math.inf
    if value is None or is_number(value) or (key == "fleet.initial" and _is_percentage(value)):
        return value
    if any(map(is_quantity, _written_values(value))):
        return _in_si(value, key)
    if isinstance(value, list | tuple) and value and all(is_number(one) or one == "inf" for one in value):
        return tuple(math.inf if one == "inf" else one for one in value)
    if isinstance(value, Mapping) and value.keys() == {"low", "high"} and all(map(_is_finite, value.values())):
        return {"low": value["low"], "high": value["high"]}
    allowed = "a number, a list or a file with one per client, or { low = 0.1, high = 0.9 }"
    if isinstance(value, str) and value:
        if not lies_there(folder / value):  # a misspelt number, more likely than a missing file
            raise InvalidValue(key, allowed, f"{value} (there is no such file)")
        return tuple(read_numbers(key, folder / value, flat=True).tolist())
    raise InvalidValue(key, allowed, short(repr(value)))


def _in_si(value: Any, key: str) -> Any:
    """Return amounts with units as numbers of joules or watts."""
    unit = "W" if key.endswith((".standby", ".watts")) else "J"
    if isinstance(value, Mapping):
        return {name: quantity(f"{key}.{name}", one, unit) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return tuple(quantity(key, one, unit) for one in value)
    return quantity(key, value, unit)


def folder_of(info: ValidationInfo, value: Any = None) -> Path:
    """Return the folder that relative paths start from: that of the spec's file, if the value was read from it."""
    return Path() if isinstance(value, Here) else Path((info.context or {}).get("folder", "."))


def read_data(value: Any, info: ValidationInfo) -> str | None:
    """Return the folder of a task's data; a relative path in a file starts from the file's folder."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value if isinstance(value, Here) or not value else str(folder_of(info) / value)


def read_harvest(value: Any, info: ValidationInfo) -> Table | None:
    """Return a harvest as a table, with its per-client parameters read as such."""
    if value is None:
        return None
    table = HARVESTS.table(value, "fleet.harvest", folder_of(info))
    for name in per_client_parameters(table, "fleet.harvest"):
        if name in table:
            given = table[name]
            table[name] = _read_per_client(given, f"fleet.harvest.{name}", folder_of(info, given))
    return HARVESTS.spelled_out(table, "fleet.harvest")


def made_by(registry: Registry[Any], key: str) -> Callable[[Any, ValidationInfo], Table]:
    """Return a validator that reads a thing of a registry as a table with all parameters."""

    def read(value: Any, info: ValidationInfo) -> Table:
        table = registry.table(value, key, folder_of(info))
        registry.make(table, key)  # only for the checks of its class
        return registry.spelled_out(table, key)

    return read


def read_step_size(value: Any, info: ValidationInfo | None = None) -> Table:
    """Return a rule as a table with all its parameters, from its name, a number (constant) or a table.

    >>> read_step_size(0.1)
    {'name': 'constant', 'value': 0.1}
    """
    table = step_size_table(value, "learning.step_size")
    if info is not None:
        table = STEP_SIZES.table(table, "learning.step_size", folder_of(info))
    step_size_of(table, "learning.step_size")  # only for the checks of its class
    return STEP_SIZES.spelled_out(table, "learning.step_size")


def read_task(value: Any, info: ValidationInfo) -> Table:
    """Return a task as a table; parameters are checked when it is loaded."""
    return _name_alone(value) or _learning().TASKS.table(value, "learning.task", folder_of(info))


def read_aggregation(value: Any, info: ValidationInfo) -> Table:
    """Return an aggregation as a table; parameters are checked when it is constructed."""
    return _name_alone(value) or _learning().AGGREGATIONS.table(value, "learning.aggregation", folder_of(info))


def read_local(value: Any) -> Table | None:
    """Return a local optimiser as a table, None for plain SGD."""
    from ehfl.learning.engine.local_sgd import read_optimiser  # imports torch: only where an optimiser is given

    return None if value in (None, "sgd") else read_optimiser(value, "learning.local")


def _name_alone(value: Any) -> Table | None:
    """Return a plain name as a table, without importing torch; None for anything else."""
    plain = isinstance(value, str) and re.fullmatch(r"[\w-]+", value)
    return {"name": value.lower().replace("_", "-")} if plain else None


def _learning() -> Any:
    from ehfl import learning  # imports torch: only for user classes, and for things with parameters

    return learning


def whole(least: int = 1, most: int | None = None) -> Callable[[Any], int]:
    """Return a validator of whole numbers; its errors get their key from the model."""
    return lambda value: whole_number("", value, low=least, high=most)


def number(interval: str) -> Callable[[Any], float]:
    """Return a validator of numbers in an interval, such as "[0, 1e30]"."""
    return lambda value: number_in("", value, interval)


def auto_or_whole(value: Any) -> Any:
    """Return a number of clients, or "auto"."""
    if value == "auto" or (_is_whole(value) and value > 0):  # the upper limit is checked with the fleet
        return value
    raise ValueError("must be auto or a whole number >= 1")


def auto_or_number(value: Any) -> Any:
    """Return a metric's value, or "auto"."""
    if value == "auto" or _is_finite(value):
        return value
    raise ValueError("must be auto or a finite number")


def lies_within(key: str, *sections: str) -> bool:
    """Return whether a dotted key is one of these sections or lies in one.

    >>> lies_within("fleet.harvest.rate", "fleet.harvest"), lies_within("fleet.rated", "fleet.rate")
    (True, False)
    """
    return any(f"{key}.".startswith(f"{section}.") for section in sections)


def plain_name(value: Any) -> str:
    """Return a name that is valid for a folder on every system."""
    if not isinstance(value, str):
        raise ValueError('must be a string, such as "2024"')
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", value):
        return value
    raise ValueError("must be at most 80 letters, digits, dots, dashes and underscores, a letter or digit first")


def plain_label(value: Any, key: str, fault: str = "must be") -> str:
    """Return an arm's label, without characters that terminals, figures or pages interpret."""
    if isinstance(value, str) and 0 < len(value) <= 80 and value.isprintable() and not set(value) & set("$[]\\"):
        return value
    allowed = "at most 80 printable characters without $, [, ] and \\"
    raise SpecError(key, f"{fault} {allowed}, got {short(repr(value), 120)}")


def listed_seeds(value: Any) -> tuple[int, ...]:
    """Return the seeds, from their number or a list.

    >>> listed_seeds(3), listed_seeds([7, 1])
    ((0, 1, 2), (7, 1))
    """
    if _is_whole(value) and 0 < value <= MOST_SEEDS:
        return tuple(range(value))
    listed = isinstance(value, list | tuple) and value and all(_is_whole(seed) and seed < 2**64 for seed in value)
    if listed and len(set(value)) == len(value):
        return tuple(value)
    raise ValueError(f"must be how many (1 to {MOST_SEEDS:,}) or a list of different whole numbers in [0, 2^64 - 1]")


def _is_finite(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
