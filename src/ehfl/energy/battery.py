"""The energy queue of eq. (2), with losses, in integer quanta.

In the paper E(t+1) = min(E(t) - cost 1{takes part} + A(t), E_max). With losses, the battery leaks before it is
charged:

    left = E - cost 1{takes part};   E' = min(left - leaked(left) + charged(A), E_max)

Energy that does not fit in the battery is wasted; leaks and charging losses are lost. `offsets` round fractional
amounts without bias over the rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, IntArray, Levels, PerClient
from ehfl.randomness import TILE, frozen

MAX_LEVEL = 2**30 - 1  # levels are int32, 4 bytes a client; sums and differences of two of them still fit
_COMPILED = (np.dtype(np.uint8), np.dtype(np.int32))  # units that kernels are compiled for

# 2^32 times the fraction of the golden ratio, and of another irrational number, so that clients are out of phase.
ROUND_STEP, CLIENT_STEP = 0x9E3779B9, 0x91E10DA5


class Settled(NamedTuple):
    """The energy balance of a round, over all clients, in the fleet's unit."""

    harvested: int
    wasted: int  # energy that did not fit in the batteries
    unable: int  # the last client that could not pay, or -1; unless it is -1 the other fields are undefined
    held: int = 0  # that client's level
    lost: int = 0  # charging losses, leaks and standby
    paid: int = 0  # by the participants

    @classmethod
    def sum(cls, parts: Sequence[Settled]) -> Settled:
        """Return the balance of a round from those of its parts, in each of which all could pay."""
        if len(parts) == 1:
            return parts[0]
        harvested, wasted, _, _, lost, paid = (sum(amounts) for amounts in zip(*parts, strict=True))
        return cls(harvested, wasted, -1, 0, lost, paid)


class Place(NamedTuple):
    """The round (or part of one) and the clients of an operation, which determine its rounding."""

    round: int
    clients: range


@dataclass(frozen=True, eq=False, slots=True)
class Storage:
    """Losses of each client's battery, one number for all or one per client.

    After the participants have paid, a battery with E above its cut-off leaks min(E, leak E + drain); then it is
    charged with efficiency A out of what is harvested.
    """

    efficiency: FloatArray  # share of a harvest that is stored, in (0, 1]; shape (1,) or (n_clients,), as the others
    leak: FloatArray  # share of the level that is lost in a round, or part of one, in [0, 1)
    drain: FloatArray  # lost in addition, down to an empty battery [quanta]

    @classmethod
    def given(cls, n_clients: int, efficiency: ArrayLike, leak: ArrayLike, drain: ArrayLike) -> Storage:
        """Return losses from the user's values; raise an error for invalid ones."""
        return cls(
            PerClient.of("efficiency", efficiency, "(0, 1]", clients=n_clients).numbers,
            PerClient.of("leak", leak, "[0, 1)", clients=n_clients).numbers,
            PerClient.of("drain", drain, "[0, 1e9]", clients=n_clients).numbers,
        )

    @property
    def lossless(self) -> bool:
        """Whether nothing is ever lost, as in the paper."""
        return bool((self.efficiency == 1).all() and (self.leak == 0).all() and (self.drain == 0).all())

    def of(self, clients: range) -> Storage:
        """Return the losses of some of the clients."""
        return Storage(*(of_clients(part, clients) for part in (self.efficiency, self.leak, self.drain)))

    def leaked(self, level: Levels | IntArray, round_: int, clients: range) -> IntArray:
        """Return the leaks of these levels, (n_clients,) [quanta]."""
        amounts = level * self.leak + self.drain + offsets(Rounded.LEAK, range(round_, round_ + 1), clients)[0]
        out: IntArray = np.minimum(amounts.astype(np.int64), level)
        return out

    def charged(self, units: IntArray, round_: int, clients: range) -> IntArray:
        """Return a harvest after charging losses, before the limit of the capacity, (n_clients,) [quanta]."""
        amounts = units * self.efficiency + offsets(Rounded.CHARGE, range(round_, round_ + 1), clients)[0]
        into: IntArray = np.minimum(amounts.astype(np.int64), units)
        return into


LOSSLESS = Storage(np.ones(1), np.zeros(1), np.zeros(1))
_ANYWHERE = Place(0, range(0))  # for batteries without losses, which need no rounding


def of_clients(numbers: NDArray[Any], clients: range) -> NDArray[Any]:
    """Return the numbers of some clients from (1,) or (n_clients,); one number for all stays one."""
    return numbers[clients.start : clients.stop] if numbers.size > 1 else numbers


def settle(
    energy: Levels,
    clients: IntArray,
    cost: Levels,
    units: IntArray,
    ceiling: Levels,
    storage: Storage = LOSSLESS,
    at: Place = _ANYWHERE,
) -> Settled:
    """Let these clients (ascending) pay, batteries lose energy and all clients harvest, in place.

    `cost` and `ceiling` (the capacity) are arrays of shape (1,) or (n_clients,).

    >>> energy, one, five = (np.array(levels, dtype=np.int32) for levels in ([2, 0, 4], [1], [5]))
    >>> settle(energy, clients=np.array([0]), cost=one, units=np.array([1, 1, 3]), ceiling=five)
    Settled(harvested=5, wasted=2, unable=-1, held=0, lost=0, paid=1)
    >>> energy.tolist()
    [2, 1, 5]
    """
    if energy.size <= TILE or units.dtype not in _COMPILED:
        return settle_plain(energy, clients, cost, units, ceiling, storage, at)
    from ehfl.energy import kernels

    harvested, wasted, lost, paid, unable, held = kernels.settle(
        energy,
        frozen(clients.astype(np.int32, copy=False)),
        frozen(cost),
        frozen(units),
        frozen(ceiling),
        tuple(frozen(part) for part in (storage.efficiency, storage.leak, storage.drain)),
        (phase(Rounded.LEAK, at.round), phase(Rounded.CHARGE, at.round)),
        at.clients.start,
    )
    if unable >= 0:
        return Settled(0, 0, int(unable), int(held))
    return Settled(int(harvested), int(wasted), -1, lost=int(lost), paid=int(paid))


def settle_plain(
    energy: Levels,
    clients: IntArray,
    cost: Levels,
    units: IntArray,
    ceiling: Levels,
    storage: Storage = LOSSLESS,
    at: Place = _ANYWHERE,
) -> Settled:
    """Define `settle` in NumPy."""
    prices = cost[clients] if cost.size > 1 else cost
    level: IntArray = energy.astype(np.int64)
    level[clients] -= prices
    if level.min(initial=0) < 0:
        unable = int(clients[energy[clients] < prices].max())
        return Settled(0, 0, unable, int(energy[unable]))
    lost, charged = 0, units
    if storage is not LOSSLESS:
        leaked = storage.leaked(level, at.round, at.clients)
        charged = storage.charged(units.astype(np.int64), at.round, at.clients)
        level -= leaked
        lost = int(leaked.sum()) + int(units.sum()) - int(charged.sum())
    level += charged
    kept = np.minimum(level, ceiling)
    energy[:] = kept
    paid = int(prices.sum(dtype=np.int64)) if cost.size > 1 else int(cost[0]) * clients.size
    return Settled(int(units.sum()), int((level - kept).sum()), unable=-1, lost=lost, paid=paid)


class Rounded(IntEnum):
    """The kinds of rounded amounts, with separate phases because a round rounds several amounts of a client."""

    HARVEST = 0
    CHARGE = 0x55555555
    LEAK = 0xAAAAAAAA


def offsets(what: Rounded, rounds: range, clients: range) -> FloatArray:
    """Return offsets in [0, 1), added to amounts before rounding down, shape (len(rounds), len(clients)).

    u_i(t) = frac(phase + i b + t g) with the golden ratio g: a Weyl sequence. Over the rounds it fills [0, 1) so evenly
    that floor(x + u) of a constant x misses the sum by some log(T) quanta after T rounds, where a plain floor misses by
    T/2 (L. Kuipers and H. Niederreiter, "Uniform distribution of sequences", 1974, chapter 2). It is a deterministic
    function of client and round, because rounding must not depend on the seed. 16 bits make adding it to a level exact.

    >>> amounts = 0.3 + offsets(Rounded.HARVEST, range(1000), range(2))
    >>> np.floor(amounts).sum(axis=0).tolist()
    [301.0, 300.0]
    """
    steps = np.array([phase(what, t) for t in rounds], dtype=np.uint32)[:, None]
    own = np.arange(clients.start, clients.stop, clients.step, dtype=np.uint32) * np.uint32(CLIENT_STEP)
    parts = (steps + own) >> np.uint32(16)  # uint32 arithmetic wraps modulo 2^32
    return parts.astype(np.float64) * 2.0**-16


def phase(what: Rounded, round_: int) -> int:
    """Return the offset of client 0 in a round, in parts of 2^32."""
    return (int(what) + round_ * ROUND_STEP) % 2**32
