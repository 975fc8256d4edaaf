"""How values of a spec may be written: each function returns the one form they are kept in, or says what is allowed."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any

from ehfl.partition import make_partitioner
from ehfl.theory import STEP_SIZES, make_step_size
from ehfl.validation import InvalidValue, closest

MOST_SEEDS = 10_000
ORDERS = ("random", "by-label")


def read_rate(value: Any) -> float | tuple[float, ...] | dict[str, float]:
    """Return a rate, one per client, or the ends of an even spread.

    >>> read_rate({"low": 0.1, "high": 0.9})
    {'low': 0.1, 'high': 0.9}
    """
    if _is_number(value):
        return float(value)
    if isinstance(value, list | tuple) and value and all(_is_number(rate) for rate in value):
        return tuple(float(rate) for rate in value)
    if isinstance(value, dict) and value.keys() == {"low", "high"} and all(_is_number(end) for end in value.values()):
        return {"low": float(value["low"]), "high": float(value["high"])}
    raise ValueError("must be a number, a list with one per client or { low = 0.1, high = 0.9 }")


def read_step_size(value: Any) -> dict[str, Any]:
    """Return a rule with all its options, from its name, a number (constant) or a table of rule and options.

    >>> read_step_size(0.1)
    {'rule': 'constant', 'value': 0.1}
    >>> read_step_size({"rule": "nominal", "initial": 0.3})
    {'rule': 'nominal', 'initial': 0.3, 'decay': 0.99, 'every': 10, 'window': 10}
    """
    if _is_number(value):
        value = {"rule": "constant", "value": value}
    if isinstance(value, str):
        value = {"rule": value}
    if not isinstance(value, dict) or not isinstance(value.get("rule"), str):
        raise ValueError(f"must be a number, a rule ({', '.join(STEP_SIZES)}) or {{ rule = ..., its options }}")
    rule, options = value["rule"].strip().lower().replace("_", "-"), {k: v for k, v in value.items() if k != "rule"}
    if rule not in STEP_SIZES:
        raise ValueError(f"must be a number or one of {', '.join(STEP_SIZES)}{closest(rule, STEP_SIZES)}")
    known = {name: p.default for name, p in inspect.signature(STEP_SIZES[rule]).parameters.items() if name != "counts"}
    for name, option in options.items():
        if name not in known:
            raise ValueError(f"must have options of the rule {rule} ({', '.join(known)}){closest(name, known)}")
        if not _is_number(option):
            raise ValueError(f"must have numbers as options ({name} is {option!r})")
    resolved = known | options
    _checked(make_step_size(rule, **resolved), [1])
    return {"rule": rule, **resolved}


def own_step_size(value: Any) -> dict[str, Any] | None:
    """Return an arm's own rule, None if it has none."""
    return None if value is None else read_step_size(value)


def check_partition(value: Any) -> str:
    """Return how data are dealt out: "iid", "dirichlet:ALPHA" or "shards:N".

    >>> check_partition("dirichlet:0.3")
    'dirichlet:0.3'
    """
    try:
        make_partitioner(value if isinstance(value, str) else "")
    except InvalidValue as error:
        raise ValueError(f"must be {error.allowed}") from error
    return str(value)


def check_order(value: Any) -> str:
    """Return in which order the shares of data go to the clients."""
    if value in ORDERS:
        return str(value)
    raise ValueError(f"must be one of {', '.join(ORDERS)}{closest(str(value), ORDERS)}")


def auto_or_whole(value: Any) -> Any:
    """Return a number of clients, or "auto"."""
    if value == "auto" or (_is_whole(value) and value > 0):
        return value
    raise ValueError("must be auto or a whole number >= 1")


def auto_or_number(value: Any) -> Any:
    """Return a metric's value, or "auto"."""
    if value == "auto" or (_is_number(value) and math.isfinite(value)):
        return value
    raise ValueError("must be auto or a finite number")


def folder_name(value: Any) -> str:
    """Return a name that serves as a folder's."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", value):
        return value
    raise ValueError("must be at most 80 letters, digits, dots, dashes and underscores, a letter or digit first")


def plain_label(value: Any) -> str:
    """Return an arm's label: it is shown in terminals, figures and pages, some of which have signs of their own."""
    if isinstance(value, str) and 0 < len(value) <= 80 and value.isprintable() and not set(value) & set("$[]\\"):
        return value
    raise ValueError("must be at most 80 printable characters without $, [, ] and \\")


def whole_or_infinite(value: Any) -> Any:
    """Return a capacity as a float; "inf" may be written as a word."""
    return math.inf if value == "inf" else value


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


def some_arms(value: Any) -> Any:
    """Return the arms as they are, if there is any."""
    if isinstance(value, list | tuple) and value:
        return value
    raise ValueError("must be a list of schedulers, at least one")


def named_arm(value: Any) -> Any:
    """Return an arm as a table, from a scheduler's name or a table; its label is the name unless told."""
    if isinstance(value, str):
        value = {"policy": value}
    if isinstance(value, dict) and "label" not in value and "policy" in value:
        value = value | {"label": str(value["policy"])}
    if not isinstance(value, dict):
        raise ValueError('must be a scheduler\'s name or { policy = "myopic", label = ..., step_size = ... }')
    return value


def _checked(call: Any, *given: Any) -> None:
    try:
        call(*given)
    except InvalidValue as error:
        raise ValueError(f"must have {error.name} {error.allowed} (not {error.given})") from error


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
