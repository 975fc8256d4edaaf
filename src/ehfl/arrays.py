"""The array types that rooms share, so that each is spelled once, and arrays of numbers from what users give.

Axis order is time, client, rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.validation import InvalidValue

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
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


def per_client(name: str, given: ArrayLike, n_clients: int) -> NDArray[Any]:
    """Return one number, shape (1,), or one per client, as they were given, in an array of its own."""
    allowed = f"one number or one per client ({n_clients})"
    try:
        values = np.array(given)  # a copy: the caller's may change
    except ValueError:  # rows of different lengths
        raise InvalidValue(name, allowed, repr(given)) from None
    if values.shape not in ((), (n_clients,)):
        raise InvalidValue(name, allowed, f"an array of {values.shape}")
    return np.atleast_1d(values)


def first_of(values: NDArray[Any], outside: NDArray[np.bool_]) -> str:
    """Return the first value that is outside, and whose it is where there are several."""
    at = int(np.argmax(outside))
    return f"{values[at].item()}" + (f" for client {at}" if values.size > 1 else "")
