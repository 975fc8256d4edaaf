"""The energy queue of eq. (2): E(t+1) = min(E(t) - cost * 1{takes part} + A(t), E_max)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ehfl.energy.harvest import IntArray
from ehfl.randomness import TILE, frozen
from ehfl.validation import UserError

MAX_LEVEL = 2**30 - 1  # levels are int32, 4 bytes a client; sums and differences of two of them still fit

Levels = NDArray[np.int32]


class LevelOverflow(UserError, OverflowError):
    """An infinite battery holds more than can be counted."""


class Settled(NamedTuple):
    """What a round did to the batteries, over all clients."""

    harvested: int  # [units]
    wasted: int  # [units] that found a full battery
    unable: int  # the last client that could not pay, or -1; the levels are then of no use
    held: int = 0  # [units] that it had


def settle(energy: Levels, clients: IntArray, cost: int, units: IntArray, capacity: float) -> Settled:
    """Let these clients (ascending) pay and everyone harvest, in place.

    >>> energy = np.array([2, 0, 4], dtype=np.int32)
    >>> settle(energy, clients=np.array([0]), cost=1, units=np.array([1, 1, 3]), capacity=5)
    Settled(harvested=5, wasted=2, unable=-1, held=0)
    >>> energy.tolist()
    [2, 1, 5]
    """
    ceiling = MAX_LEVEL if math.isinf(capacity) else int(capacity)
    if energy.size > TILE and units.dtype == np.uint8:
        from ehfl.energy import kernels

        payers = frozen(clients.astype(np.int32, copy=False))
        settled = Settled(*(int(n) for n in kernels.settle(energy, payers, int(cost), frozen(units), ceiling)))
    else:
        settled = _settle_plain(energy, clients, cost, units, ceiling)
    if settled.unable < 0 and settled.wasted and math.isinf(capacity):
        raise LevelOverflow(f"a battery passed {MAX_LEVEL} units: give a capacity, or count in larger units")
    return settled


def _settle_plain(energy: Levels, clients: IntArray, cost: int, units: IntArray, ceiling: int) -> Settled:
    left = energy.astype(np.int64)
    left[clients] -= cost
    unable = int(clients[left[clients] < 0].max(initial=-1))
    level = left + units
    kept = np.minimum(level, ceiling)
    energy[:] = kept
    held = int(left[unable]) + cost if unable >= 0 else 0
    return Settled(int(units.sum()), int((level - kept).sum()), unable, held)
