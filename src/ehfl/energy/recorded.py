"""Units that were recorded, or planned: from lists, arrays and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import IntArray
from ehfl.energy.battery import MAX_LEVEL
from ehfl.files import read_numbers
from ehfl.validation import InvalidValue


def recorded_units(name: str, given: ArrayLike | Path, axes: tuple[str, ...]) -> IntArray:
    """Return whole numbers >= 0, an array of its own with these axes; a text or a path names a file of them.

    >>> recorded_units("pattern", [0, 2, 1], axes=("period",)).tolist()
    [0, 2, 1]
    """
    if isinstance(given, str | os.PathLike):
        found: NDArray[Any] = _whole(name, read_numbers(name, Path(given), flat=len(axes) == 1))
    else:
        try:
            found = np.array(given)
        except ValueError:
            raise InvalidValue(name, "rows of equal length, one a round", "rows that differ") from None
    if found.ndim != len(axes) or found.size == 0:
        shape = ", ".join(axes) + ("," if len(axes) == 1 else "")
        raise InvalidValue(name, f"of shape ({shape})", f"shape {found.shape}")
    if found.dtype.kind not in "iu":
        raise InvalidValue(name, "whole numbers", f"an array of {found.dtype}")
    if found.min() < 0:
        raise InvalidValue(name, "at least 0", found.min())
    found.flags.writeable = False
    return found


def _whole(name: str, numbers: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as such: a text file does not tell 1.0 from 1."""
    if numbers.dtype.kind == "f" and np.isfinite(numbers).all() and (numbers % 1 == 0).all():
        if np.abs(numbers).max(initial=0) > MAX_LEVEL:
            raise InvalidValue(name, f"at most {MAX_LEVEL}", f"{numbers.flat[np.abs(numbers).argmax()]:g}")
        return numbers.astype(np.int64)
    return numbers
