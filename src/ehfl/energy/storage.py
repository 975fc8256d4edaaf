"""What a battery loses: in charging, by itself, and to a device that only stands by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, IntArray, Levels, first_of, per_client
from ehfl.energy.rounding import Rounded, offsets
from ehfl.validation import InvalidValue


@dataclass(frozen=True, eq=False, slots=True)
class Storage:
    """Losses of each client's battery, one number for all or one per client.

    After the participants have paid, a battery with E above its cut-off leaks min(E, leak E + drain); then it is
    charged with efficiency A out of what is harvested. All in whole quanta: amounts are rounded as `rounding` has it.
    """

    efficiency: FloatArray  # share of a harvest that is stored, in (0, 1]; shape (1,) or (n_clients,), as the others
    leak: FloatArray  # share of the level that is lost a round, in [0, 1)
    drain: FloatArray  # what is lost a round besides, while there is any [quanta]

    @property
    def lossless(self) -> bool:
        """Whether nothing is ever lost, as in the paper."""
        return bool((self.efficiency == 1).all() and (self.leak == 0).all() and (self.drain == 0).all())

    def of(self, clients: range) -> Storage:
        """Return the losses of some of the clients."""
        parts = (self.efficiency, self.leak, self.drain)
        own = (part[clients.start : clients.stop] if part.size > 1 else part for part in parts)
        return Storage(*own)

    def leaked(self, level: Levels | IntArray, round_: int, clients: range) -> IntArray:
        """Return what leaks out of these levels, (n_clients,) [quanta]."""
        amounts = level * self.leak + self.drain + offsets(Rounded.LEAK, range(round_, round_ + 1), clients)[0]
        out: IntArray = np.minimum(amounts.astype(np.int64), level)
        return out

    def charged(self, units: IntArray, round_: int, clients: range) -> IntArray:
        """Return what is stored of a harvest as far as there is room, (n_clients,) [quanta]."""
        amounts = units * self.efficiency + offsets(Rounded.CHARGE, range(round_, round_ + 1), clients)[0]
        into: IntArray = np.minimum(amounts.astype(np.int64), units)
        return into


def storage_of(n_clients: int, efficiency: ArrayLike, leak: ArrayLike, drain: ArrayLike) -> Storage:
    """Return losses whose values are as they must be."""
    return Storage(
        _within("efficiency", efficiency, n_clients, "in (0, 1]", lambda x: (x > 0) & (x <= 1)),
        _within("leak", leak, n_clients, "in [0, 1)", lambda x: (x >= 0) & (x < 1)),
        _within("drain", drain, n_clients, "in [0, 1e9]", lambda x: (x >= 0) & (x <= 1e9)),
    )


def _within(name: str, given: ArrayLike, n_clients: int, allowed: str, fits: Any) -> FloatArray:
    values: NDArray[Any] = per_client(name, given, n_clients)
    if values.dtype.kind not in "iuf":
        raise InvalidValue(name, f"one number {allowed}, or one per client", repr(given))
    numbers = values.astype(np.float64)
    outside = ~fits(numbers)  # NaN is outside too
    if outside.any():
        raise InvalidValue(name, allowed, first_of(numbers, outside))
    numbers.flags.writeable = False
    return numbers
