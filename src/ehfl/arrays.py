"""The array types that rooms share, so that each is spelled once, and arrays of numbers from what users give.

Axis order is time, client, rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.validation import InvalidValue

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
Levels = NDArray[np.int32]  # E_i(t), (n_clients,): battery levels in whole quanta of energy
Clients = NDArray[np.int32]  # client numbers


def real_numbers(name: str, given: object, allowed: str) -> FloatArray:
    """Return what was given as an array of floats of its own; what holds anything but real numbers is refused.

    >>> real_numbers("etas", [1, 0.5], "one step size a round").tolist()
    [1.0, 0.5]
    >>> real_numbers("etas", ["a"], "one step size a round")
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: etas must be one step size a round, got an array of <U1 and shape (1,)
    """
    try:
        found = np.asarray(given)
    except ValueError:  # rows of different lengths
        raise InvalidValue(name, allowed, repr(given)) from None
    if found.dtype.kind not in "iuf":
        kind = f"an array of {found.dtype} and shape {found.shape}"
        raise InvalidValue(name, allowed, kind if found.ndim else repr(given))
    return found.astype(np.float64)
