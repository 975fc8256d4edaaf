"""How values of a spec may be written: each function returns the one form they are kept in, or says what is allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from ehfl.energy import HARVESTS, per_client_parameters
from ehfl.experiment.costing import ENERGIES, is_costing, read_costing
from ehfl.files import read_numbers
from ehfl.partition import PARTITIONS
from ehfl.quantities import is_quantity, quantity
from ehfl.registry import Here, Registry, Table, lies_there
from ehfl.scheduling import SCHEDULERS
from ehfl.theory import STEP_SIZES, step_size_of, step_size_table
from ehfl.validation import InvalidValue, closest, short, whole_number

MOST_SEEDS = 10_000
MOST_ROUNDS = 10_000_000
_DAY = 86_400  # seconds
ORDERS = ("random", "by-label")


PHYSICAL = ("quantum", "efficiency", "self_discharge", "reserve", "standby", "arrival")  # that need a round's length
# keys of the fleet that take one value for all or one per client
PER_CLIENT = ("rate", *ENERGIES, "efficiency", "self_discharge", "reserve", "standby")


def per_client(value: Any, info: ValidationInfo) -> Any:
    """Return a number, one per client, or the ends of an even spread; a text names a file with one per client."""
    if info.field_name == "cost" and is_costing(value):
        return read_costing(value, "fleet.cost")
    return _read_per_client(value, f"fleet.{info.field_name}", folder_of(info, value))


def count_clients(fleet: Mapping[str, Any], info: ValidationInfo) -> int:
    """Return how many clients a record is of, else how many values the longest list or file with one per client has.

    0 where there is neither.
    """
    given = {f"fleet.{name}": fleet.get(name) for name in PER_CLIENT if not is_costing(fleet.get(name))}
    table = read_harvest(fleet.get("harvest"), info)
    if table is not None:
        own = per_client_parameters(table, "fleet.harvest")
        # Whichever value the first client gets: the harvest is made to be asked for its clients alone.
        first = {name: table[name]["low"] for name in own if isinstance(table.get(name), Mapping)}
        if recorded := int(getattr(HARVESTS.make(table | first, "fleet.harvest"), "n_clients", 0)):
            return recorded
        given |= {f"fleet.harvest.{name}": table.get(name) for name in own}
    lists = (
        _read_per_client(value, key, folder_of(info, value)) for key, value in given.items() if _may_be_list(value)
    )
    return max((len(one) for one in lists if isinstance(one, tuple)), default=0)


def check_joules(fleet: Mapping[str, Any]) -> None:
    """Refuse what only a fleet of real devices can have where rounds have no length, and other units where they have.

    It looks at values as they were written: once they are read, 5 Wh are a number as any other.
    """
    if fleet.get("round_length") is not None:
        if fleet.get("unit", "units") != "units":
            raise InvalidValue(
                "fleet.unit", "left out where fleet.round_length is given: energy is in joules", fleet["unit"]
            )
        return
    for name in PHYSICAL:
        if fleet.get(name) is not None:
            raise InvalidValue(f"fleet.{name}", "left out unless fleet.round_length is given", short(repr(fleet[name])))
    for name in ENERGIES:
        if is_costing(fleet.get(name)) or any(map(_has_unit, _written_values(fleet.get(name)))):
            allowed = "a number of units, unless fleet.round_length is given"
            raise InvalidValue(f"fleet.{name}", allowed, short(repr(fleet[name])))


def _written_values(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else [value]


def _has_unit(value: Any) -> bool:
    return is_quantity(value) or _is_percentage(value)


def _is_percentage(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\s*\d+(\.\d*)?\s*%\s*", value) is not None


def length_of_rounds(value: Any) -> float | None:
    """Return how long a round takes [s], from a number or a text such as "1 h"."""
    return None if value is None else quantity("fleet.round_length", value, "s")


def joules(value: Any) -> float | None:
    """Return an amount of energy [J], from a number or a text such as "5 Wh"."""
    return None if value is None else quantity("fleet.arrival", value, "J")


def auto_or_joules(value: Any) -> Any:
    """Return the size of a quantum [J], or "auto"."""
    return value if value is None or value == "auto" else quantity("fleet.quantum", value, "J")


def _may_be_list(value: Any) -> bool:
    return isinstance(value, list | tuple | str)


def _read_per_client(value: Any, key: str, folder: Path) -> Any:
    if value == "inf":
        return math.inf
    if value is None or _is_number(value) or (key == "fleet.initial" and _is_percentage(value)):
        return value
    if _holds_quantities(value):
        return _in_si(value, key)
    if isinstance(value, list | tuple) and value and all(_is_number(one) or one == "inf" for one in value):
        return tuple(math.inf if one == "inf" else one for one in value)
    if isinstance(value, Mapping) and value.keys() == {"low", "high"} and all(map(_is_finite, value.values())):
        return {"low": value["low"], "high": value["high"]}
    allowed = "a number, a list or a file with one per client, or { low = 0.1, high = 0.9 }"
    if isinstance(value, str) and value and not lies_there(folder / value):  # a word for a number, rather than a file
        raise InvalidValue(key, allowed, f"{value} (there is no such file)")
    if isinstance(value, str) and value:
        return tuple(read_numbers(key, folder / value, flat=True).tolist())
    raise InvalidValue(key, allowed, short(repr(value)))


def _holds_quantities(value: Any) -> bool:
    return any(map(is_quantity, _written_values(value)))


def _in_si(value: Any, key: str) -> Any:
    """Return amounts with units as numbers of joules or watts."""
    unit = "W" if key.endswith((".standby", ".watts")) else "J"
    if isinstance(value, Mapping):
        return {name: quantity(f"{key}.{name}", one, unit) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return tuple(quantity(key, one, unit) for one in value)
    return quantity(key, value, unit)


def folder_of(info: ValidationInfo, value: Any = None) -> Path:
    """Return the folder that relative paths of a spec start from: its file's, for what was read from that."""
    return Path() if isinstance(value, Here) else Path((info.context or {}).get("folder", "."))


def read_data(value: Any, info: ValidationInfo) -> str | None:
    """Return where a task's data lie; a relative path in a file starts from there."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value if isinstance(value, Here) or not value else str(folder_of(info) / value)


def read_harvest(value: Any, info: ValidationInfo) -> Table | None:
    """Return a harvest as a table; what it declares as per client may be written in every form of such a value."""
    if value is None:
        return None
    table = HARVESTS.table(value, "fleet.harvest", folder_of(info))
    for name in per_client_parameters(table, "fleet.harvest"):
        if name in table:
            given = table[name]
            table[name] = _read_per_client(given, f"fleet.harvest.{name}", folder_of(info, given))
    return HARVESTS.spelled_out(table, "fleet.harvest")


def read_scheduler(value: Any, info: ValidationInfo) -> Table:
    """Return a scheduler as a table, every parameter spelled out."""
    return _made(SCHEDULERS, value, "scheduler", folder_of(info))


def read_partition(value: Any, info: ValidationInfo) -> Table:
    """Return how data are dealt out as a table, every parameter spelled out."""
    return _made(PARTITIONS, value, "learning.partition", folder_of(info))


def read_step_size(value: Any, info: ValidationInfo | None = None) -> Table:
    """Return a rule as a table with all its parameters, from its name, a number (constant) or a table.

    >>> read_step_size(0.1)
    {'name': 'constant', 'value': 0.1}
    """
    table = step_size_table(value, "learning.step_size")
    if info is not None:
        table = STEP_SIZES.table(table, "learning.step_size", folder_of(info))
    step_size_of(table, "learning.step_size")  # made and thrown away: its class checks its own parameters
    return STEP_SIZES.spelled_out(table, "learning.step_size")


def _made(registry: Registry[Any], value: Any, key: str, folder: Path) -> Table:
    table = registry.table(value, key, folder)
    registry.make(table, key)  # made and thrown away, for the checks of its class
    return registry.spelled_out(table, key)


def read_task(value: Any, info: ValidationInfo) -> Table:
    """Return a task as a table; what it is made of is checked when it is loaded."""
    return _name_alone(value) or _learning().TASKS.table(value, "learning.task", folder_of(info))


def read_aggregation(value: Any, info: ValidationInfo) -> Table:
    """Return an aggregation as a table; what it is made of is checked when it is made."""
    return _name_alone(value) or _learning().AGGREGATIONS.table(value, "learning.aggregation", folder_of(info))


def _name_alone(value: Any) -> Table | None:
    """Return a plain name as a table, which can be done without torch; None for what asks for more."""
    plain = isinstance(value, str) and re.fullmatch(r"[\w-]+", value)
    return {"name": value.lower().replace("_", "-")} if plain else None


def _learning() -> Any:
    from ehfl import learning  # torch: only where a task or an aggregation has parameters, or is the user's own

    return learning


def check_order(value: Any) -> str:
    """Return in which order the shares of data go to the clients."""
    if value in ORDERS:
        return str(value)
    raise ValueError(f"must be one of {', '.join(ORDERS)}{closest(str(value), ORDERS)}")


def whole(value: Any, most: int | None = None, least: int = 1) -> int:
    """Return a whole number from 1 on."""
    try:
        return whole_number("", value, low=least, high=most)
    except InvalidValue as error:
        raise ValueError(f"must be {error.allowed}") from None


def whole_from_zero(value: Any) -> int:
    """Return a whole number from 0 on."""
    return whole(value, least=0)


def seconds(value: Any, least: float = 0.0) -> float:
    """Return a time of at most a day [s]."""
    if _is_number(value) and least <= value <= _DAY:
        return float(value)
    raise ValueError(f"must be a number of seconds in [{least:g}, {_DAY}]")


def time_to_answer(value: Any) -> float:
    """Return a time that a device may answer in [s]."""
    return seconds(value, least=1.0)


def number_of_rounds(value: Any) -> int:
    """Return a number of rounds."""
    return whole(value, MOST_ROUNDS)


def positive(value: Any) -> float:
    """Return a number above 0 that float32 can hold."""
    if _is_number(value) and 1e-30 <= value <= 1e30:
        return float(value)
    raise ValueError("must be a number in [1e-30, 1e30]")


def not_negative(value: Any) -> float:
    """Return a number from 0 on that float32 can hold."""
    if _is_number(value) and 0 <= value <= 1e30:
        return float(value)
    raise ValueError("must be a number in [0, 1e30]")


def auto_or_whole(value: Any) -> Any:
    """Return a number of clients, or "auto"."""
    if value == "auto" or (_is_whole(value) and value > 0):  # what the clients allow is checked with the fleet
        return value
    raise ValueError("must be auto or a whole number >= 1")


def auto_or_number(value: Any) -> Any:
    """Return a metric's value, or "auto"."""
    if value == "auto" or _is_finite(value):
        return value
    raise ValueError("must be auto or a finite number")


def folder_name(value: Any) -> str:
    """Return a name that serves as a folder's."""
    # No blanks, no slashes, no leading dot: it must be the same folder on every system.
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", value):
        return value
    if not isinstance(value, str):
        raise ValueError('must be a string, such as "2024"')
    raise ValueError("must be at most 80 letters, digits, dots, dashes and underscores, a letter or digit first")


def plain_label(value: Any, key: str) -> str:
    """Return an arm's label: it is shown in terminals, figures and pages, some of which have signs of their own."""
    if isinstance(value, str) and 0 < len(value) <= 80 and value.isprintable() and not set(value) & set("$[]\\"):
        return value
    raise InvalidValue(key, "at most 80 printable characters without $, [, ] and \\", repr(value))


def listed_seeds(value: Any) -> tuple[int, ...]:
    """Return the seeds, from how many there are or a list of them.

    >>> listed_seeds(3), listed_seeds([7, 1])
    ((0, 1, 2), (7, 1))
    """
    if _is_whole(value) and 0 < value <= MOST_SEEDS:
        return tuple(range(value))
    if isinstance(value, list | tuple) and value and all(_is_whole(seed) and seed < 2**64 for seed in value):
        different = len(set(value)) == len(value)
        if different:
            return tuple(value)
    raise ValueError(f"must be how many (1 to {MOST_SEEDS:,}) or a list of different whole numbers in [0, 2^64 - 1]")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    try:
        return _is_number(value) and math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold, which TOML has no bounds for
        return False


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
