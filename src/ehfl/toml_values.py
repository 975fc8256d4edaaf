"""Parameters as a spec holds them, in TOML's types, and back as their class takes them."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from datetime import date, time
from enum import Enum
from pathlib import Path, PurePath
from typing import Any

import numpy as np

HELD = "a number, a string, a date, a path, or a list or table of these"  # what `to_toml` returns, in words


def to_toml(value: Any) -> Any:
    """Return a value in TOML's types: paths as strings, enums by value, tuples and arrays as lists; None stays None.

    Raises TypeError for what a spec cannot hold.

    >>> to_toml({"file": Path("g.csv"), "rates": np.array([0.5, 1.0])})
    {'file': 'g.csv', 'rates': [0.5, 1.0]}
    """
    if isinstance(value, Enum):
        return to_toml(value.value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return to_toml(value.tolist())
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: to_toml(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple) and not any(one is None for one in value):
        return [to_toml(inner) for inner in value]
    if value is None or isinstance(value, str | int | float | date | time):
        return value
    raise TypeError(f"a spec holds {HELD}, not {type(value).__name__}")


def to_parameter(value: Any, hint: Any, default: Any) -> Any:
    """Return a value of a spec in the type that the parameter's annotation or default asks for.

    >>> to_parameter("g.csv", Path | None, None).suffix, to_parameter([1, 2], None, (3,))
    ('.csv', (1, 2))
    """
    if isinstance(value, str) and value and (isinstance(default, Path) or _is_path(hint)):  # an empty string is no path
        return Path(value)
    if isinstance(default, Enum) and not isinstance(value, Enum):
        return type(default)(value)
    if isinstance(value, list) and isinstance(default, tuple):
        return tuple(map(Path, value)) if holds(default, PurePath) else tuple(value)
    if isinstance(value, list) and isinstance(default, np.ndarray):
        return np.array(value, dtype=default.dtype)
    return value


def holds(value: Any, kind: type) -> bool:
    """Return whether a value is of a kind, or a list of such values.

    >>> holds(["a.csv", "b.csv"], str), holds([], str)
    (True, False)
    """
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(one, kind) for one in value)
    return isinstance(value, kind)


def _is_path(hint: Any) -> bool:
    """Return whether a type is Path or Path | None: with a string among its parts, a string is what was asked for."""
    return hint is Path or set(typing.get_args(hint)) == {Path, type(None)}
