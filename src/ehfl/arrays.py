"""The array types that rooms share, and arrays of numbers from what users give: `real_numbers`, `PerClient`.

Axis order is time, client, rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.validation import InvalidValue, lies_in

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


@dataclass(frozen=True, eq=False, slots=True)
class PerClient:
    """One number for all clients, or one for each, checked; what harvests, fleets and batteries are described with.

    >>> rate = PerClient.of("rate", [0.1, 0.5, 0.9], "[0, 1]")
    >>> rate.part(range(1, 3)).tolist(), rate.of_fleet(3).tolist(), rate
    ([0.5, 0.9], [0.1, 0.5, 0.9], rate=0.1..0.9, 3 clients)
    >>> PerClient.of("rate", [0.5, 2], "[0, 1]")
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: rate must be in [0, 1], got 2 for client 1
    """

    name: str
    numbers: NDArray[Any]  # (1,) or (n_clients,), read-only: int32 where they must be whole, else float64
    each: bool  # whether there is one for each client; a list of one is, too

    @classmethod
    def of(
        cls,
        name: str,
        given: ArrayLike,
        interval: str,  # as `number_in` takes it
        *,
        whole: bool = False,
        or_inf: bool = False,
        clients: int | None = None,  # how many there are, where that is known
    ) -> PerClient:
        """Return what was given, if it is one number or a list of one per client, each in the interval."""
        allowed = f"{'inf or ' if or_inf else ''}{'a whole number ' if whole else ''}in {interval}"
        try:
            values = np.array(given)  # a copy, since the caller's may change
        except ValueError:  # rows of different lengths
            raise InvalidValue(name, "one number or a list of one per client", repr(given)) from None
        if values.ndim > 1 or values.size == 0:
            raise InvalidValue(name, "one number or a list of one per client", f"an array of shape {values.shape}")
        if values.dtype.kind not in ("iu" if whole and not or_inf else "iuf"):
            raise InvalidValue(name, allowed, repr(given))
        found = cls(name, np.atleast_1d(values), each=values.ndim == 1)
        fits = lies_in(found.numbers, interval)
        if whole and found.numbers.dtype.kind == "f":
            fits &= np.floor(found.numbers) == found.numbers
        if or_inf:
            fits |= found.numbers == np.inf
        found.refuse(~fits, allowed)
        numbers = found.numbers.astype(np.int32 if whole and not or_inf else np.float64)
        numbers.flags.writeable = False
        found = cls(name, numbers, found.each)
        if clients is not None:
            found.of_fleet(clients)
        return found

    def part(self, clients: range) -> NDArray[Any]:
        """Return the numbers of some clients; one number for all stays one, (1,)."""
        return self.numbers[clients.start : clients.stop : clients.step] if self.each else self.numbers

    def of_fleet(self, n_clients: int) -> NDArray[Any]:
        """Return the numbers of clients 0..n_clients-1, (n_clients,); refuse a list of another number of clients."""
        if self.each and self.numbers.size != n_clients:
            raise InvalidValue(
                self.name, f"one number or one per client ({n_clients})", f"a list of {self.numbers.size}"
            )
        return np.broadcast_to(self.numbers, (n_clients,))

    def plain(self) -> Any:
        """Return a plain number where there is one for all, else the array; whole capacities as such."""
        if self.numbers.size > 1:
            return self.numbers
        number = self.numbers[0].item()
        return int(number) if float(number).is_integer() else number

    def refuse(self, outside: BoolArray, allowed: str) -> None:
        """Refuse the first number that is outside, (1,) or (n_clients,), and say whose it is where that matters."""
        if outside.any():
            client = int(np.argmax(outside))
            number = self.numbers[client if self.numbers.size > 1 else 0].item()
            whose = f" for client {client}" if self.each or outside.size > 1 else ""
            raise InvalidValue(
                self.name, allowed, f"{number:g}{whose}" if isinstance(number, float) else f"{number}{whose}"
            )

    def __repr__(self) -> str:
        return describe(self)


def refuse_unequal(*parameters: PerClient) -> None:
    """Refuse parameters that are lists for different numbers of clients.

    >>> on, off = (PerClient.of(name, [0.5] * n, "[0, 1]") for name, n in (("stay_on", 2), ("stay_off", 3)))
    >>> refuse_unequal(on, off)
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: stay_off must be one number or one per client (2, as stay_on has), got a list of 3
    """
    first, *others = [one for one in parameters if one.each] or parameters
    for one in others:
        if one.numbers.size != first.numbers.size:
            allowed = f"one number or one per client ({first.numbers.size}, as {first.name} has)"
            raise InvalidValue(one.name, allowed, f"a list of {one.numbers.size}")


def describe(*parameters: PerClient) -> str:
    """Return parameters in short, for a repr."""
    shown = [
        f"{one.name}={one.numbers.min():g}..{one.numbers.max():g}" if one.each else f"{one.name}={one.numbers[0]:g}"
        for one in parameters
    ]
    sizes = [f"{one.numbers.size} clients" for one in parameters if one.each]
    return ", ".join(shown + sizes[:1])


def spread(value: Any, n_clients: int) -> Any:
    """Return one number, or one per client; the ends of a spread become evenly spaced numbers.

    >>> spread({"low": 0.1, "high": 0.3}, 3).tolist()
    [0.1, 0.2, 0.3]
    """
    if isinstance(value, Mapping) and value.keys() == {"low", "high"}:
        return np.linspace(value["low"], value["high"], n_clients)
    return list(value) if isinstance(value, tuple) else value
