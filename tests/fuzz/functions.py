"""Public functions and classes, called with right and wrong arguments: a result, or one line about what is wrong."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from ehfl.validation import UserError

from .calls import CALLS, named
from .judging import judge_error
from .values import typed, wild

# What these raise besides, as Python's own do: a list for its index, `open` for its path.
ALLOWED: dict[str, tuple[type[Exception], ...]] = {
    "ehfl:Participation.clients": (IndexError, TypeError),
    "ehfl:Participation.load": (OSError,),
    "ehfl:read": (OSError,),
}
# Whose docstrings say where a NaN stands: errors of a single seed, weights where nobody takes part.
UNKNOWN = ("ehfl:chances", "ehfl:observed_chances")


def try_function(chance: Random, _: Path) -> Iterator[str]:
    """Try one call."""
    name, draws = chance.choice(CALLS)
    arguments = {key: draw(chance) for key, draw in draws.items() if chance.random() < 0.9 or key == "self"}
    for key in draws:
        if key != "self" and chance.random() < 0.25:
            arguments[key] = wild(chance)
    if chance.random() < 0.03:
        arguments[typed(chance)] = 1
    yield f"{name}(**{arguments!r})"
    folders = [arguments.pop("folder")] if name == "ehfl:read" and "folder" in arguments else []
    try:
        result = named(name)(*folders, **arguments)
        result = list(result) if hasattr(result, "__next__") else result
    except UserError as error:
        yield from judge_error(error)
    except ALLOWED.get(name, ()):
        return
    except TypeError as error:
        if not re.search(r"unexpected keyword|required (positional|keyword)|missing \d|multiple values", str(error)):
            raise
    else:
        if name not in UNKNOWN and _has_nan(result) and not _has_nan(list(arguments.values())):
            yield f"NaN comes out: {result!r}"


def _has_nan(value: Any) -> bool:
    """Return whether there is a number that is none in a value, or somewhere inside it."""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc" and bool(np.isnan(value).any())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(_has_nan(getattr(value, one.name, None)) for one in dataclasses.fields(value))
    if isinstance(value, dict):
        return any(map(_has_nan, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_nan, value))
