"""Parameters of harvests that are one number for all clients or one for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, real_numbers
from ehfl.validation import InvalidValue


def numbers_per_client(name: str, given: ArrayLike, low: float, high: float) -> FloatArray:
    """Return what was given as an array of shape () or (n_clients,) that cannot be written to, if it is in the range.

    >>> numbers_per_client("rate", [0.5, 2], 0, 1)
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: rate must be in [0, 1], got 2 for client 1
    """
    allowed = f"in [{low:g}, {high:g}]"
    numbers = real_numbers(name, given, f"a number or a list of numbers {allowed}")
    if numbers.ndim > 1 or numbers.size == 0:
        raise InvalidValue(name, "one number or a list of one per client", f"an array of shape {numbers.shape}")
    refuse_where(~((numbers >= low) & (numbers <= high)), name, allowed, numbers)  # NaN is outside too
    numbers.flags.writeable = False
    return numbers


def refuse_where(outside: np.ndarray, name: str, allowed: str, numbers: FloatArray) -> None:
    """Refuse the first number that is outside, and say whose it is where there is one for each client."""
    if outside.any():
        client = int(np.argmax(outside))
        whose = f" for client {client}" if outside.ndim else ""
        number = np.broadcast_to(numbers, outside.shape).flat[client]
        raise InvalidValue(name, allowed, f"{number:g}{whose}")


def of_clients(numbers: FloatArray, clients: range) -> FloatArray:
    """Return the numbers of some clients; one number stays one for all of them."""
    return numbers if numbers.ndim == 0 else numbers[clients.start : clients.stop : clients.step]


def same_clients(**parameters: FloatArray) -> None:
    """Refuse parameters that are lists of different numbers of clients.

    >>> same_clients(stay_on=np.array([0.5, 0.6]), stay_off=np.array([0.1, 0.2, 0.3]))
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: stay_off must be one number or one per client (2, as stay_on has), got a list of 3
    """
    lists = {name: numbers.size for name, numbers in parameters.items() if numbers.ndim}
    for name, size in lists.items():
        first, clients = next(iter(lists.items()))
        if size != clients:
            allowed = f"one number or one per client ({clients}, as {first} has)"
            raise InvalidValue(name, allowed, f"a list of {size}")


def for_fleet(name: str, numbers: FloatArray, n_clients: int) -> FloatArray:
    """Return the numbers of clients 0..n_clients-1, shape (n_clients,); refuse lists of another number of clients."""
    if numbers.shape not in ((), (n_clients,)):
        raise InvalidValue(name, f"one number or one per client ({n_clients})", f"a list of {numbers.size}")
    return np.broadcast_to(numbers, (n_clients,))


def shown(**parameters: FloatArray) -> str:
    """Return parameters in short, for a repr.

    >>> shown(rate=np.array([0.1, 0.5]))
    'rate=0.1..0.5, 2 clients'
    """
    parts = [f"{name}={n:g}" if n.ndim == 0 else f"{name}={n.min():g}..{n.max():g}" for name, n in parameters.items()]
    sizes = [f"{n.size} clients" for n in parameters.values() if n.ndim]
    return ", ".join(parts + sizes[:1])
