"""The energy queue of eq. (2): E(t+1) = min(E(t) - cost * 1{takes part} + A(t), E_max); with losses, `settle_lossy`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ehfl.arrays import IntArray, Levels
from ehfl.energy.rounding import Rounded, phase
from ehfl.energy.storage import Storage
from ehfl.randomness import TILE, frozen

MAX_LEVEL = 2**30 - 1  # levels are int32, 4 bytes a client; sums and differences of two of them still fit
_COMPILED = (np.dtype(np.uint8), np.dtype(np.int32))  # units that kernels are compiled for


class Settled(NamedTuple):
    """What a round did to the batteries, over all clients, in the fleet's unit."""

    harvested: int
    wasted: int  # what found a full battery
    unable: int  # the last client that could not pay, or -1; then nothing else here means anything
    held: int = 0  # what that client had
    lost: int = 0  # in charging, by leaks and to devices that stand by
    paid: int = 0  # by the participants


class Place(NamedTuple):
    """Which round, and whose levels: what rounding goes by."""

    round: int
    clients: range


def settle(energy: Levels, clients: IntArray, cost: Levels, units: IntArray, ceiling: Levels) -> Settled:
    """Let these clients (ascending) pay and everyone harvest, in place.

    `cost` and `ceiling`, what a battery holds at most, are arrays of one number for all or of one per client.

    >>> energy, one, five = (np.array(levels, dtype=np.int32) for levels in ([2, 0, 4], [1], [5]))
    >>> settle(energy, clients=np.array([0]), cost=one, units=np.array([1, 1, 3]), ceiling=five)
    Settled(harvested=5, wasted=2, unable=-1, held=0, lost=0, paid=1)
    >>> energy.tolist()
    [2, 1, 5]
    """
    if energy.size > TILE and units.dtype in _COMPILED:
        from ehfl.energy import kernels

        payers = frozen(clients.astype(np.int32, copy=False))
        harvested, wasted, paid, unable, held = kernels.settle(
            energy, payers, frozen(cost), frozen(units), frozen(ceiling)
        )
        if unable >= 0:
            return Settled(0, 0, int(unable), int(held))
        return Settled(int(harvested), int(wasted), -1, paid=int(paid))
    return settle_plain(energy, clients, cost, units, ceiling)


def settle_plain(energy: Levels, clients: IntArray, cost: Levels, units: IntArray, ceiling: Levels) -> Settled:
    """Define `settle` in NumPy."""
    level, paid = _after_paying(energy, clients, cost)
    if paid < 0:
        return _unable(energy, clients, cost)
    level += units
    kept = np.minimum(level, ceiling)
    energy[:] = kept
    return Settled(int(units.sum()), int((level - kept).sum()), unable=-1, paid=paid)


def _after_paying(energy: Levels, clients: IntArray, cost: Levels) -> tuple[IntArray, int]:
    """Return levels once these clients have paid, and what they paid; below 0 where one of them cannot."""
    level: IntArray = energy.astype(np.int64)
    prices = np.broadcast_to(cost[clients] if cost.size > 1 else cost, clients.shape)
    level[clients] -= prices
    return level, -1 if level.min(initial=0) < 0 else int(prices.sum(dtype=np.int64))


def _unable(energy: Levels, clients: IntArray, cost: Levels) -> Settled:
    prices = cost[clients] if cost.size > 1 else cost
    unable = int(clients[energy[clients] < prices].max())
    return Settled(0, 0, unable, int(energy[unable]))


def settle_lossy(
    energy: Levels, clients: IntArray, cost: Levels, units: IntArray, ceiling: Levels, storage: Storage, at: Place
) -> Settled:
    """Let these clients pay, then batteries lose what they do and everyone harvest, in place.

    left = E - cost 1{takes part};  E' = min(left - leaked(left) + charged(A), ceiling), see `Storage`. What finds a
    full battery is wasted, what leaked and what charging took is lost.
    """
    if energy.size > TILE and units.dtype in _COMPILED:
        from ehfl.energy import kernels

        payers = frozen(clients.astype(np.int32, copy=False))
        losses = tuple(frozen(part) for part in (storage.efficiency, storage.leak, storage.drain))
        phases = phase(Rounded.LEAK, at.round), phase(Rounded.CHARGE, at.round)
        harvested, wasted, lost, paid, unable, held = kernels.settle_lossy(
            energy,
            payers,
            frozen(cost),
            frozen(units.astype(np.int32, copy=False)),
            frozen(ceiling),
            losses,
            phases,
            at.clients.start,
        )
        if unable >= 0:
            return Settled(0, 0, int(unable), int(held))
        return Settled(int(harvested), int(wasted), -1, lost=int(lost), paid=int(paid))
    return settle_lossy_plain(energy, clients, cost, units, ceiling, storage, at)


def settle_lossy_plain(
    energy: Levels, clients: IntArray, cost: Levels, units: IntArray, ceiling: Levels, storage: Storage, at: Place
) -> Settled:
    """Define `settle_lossy` in NumPy."""
    level, paid = _after_paying(energy, clients, cost)
    if paid < 0:
        return _unable(energy, clients, cost)
    leaked = storage.leaked(level, at.round, at.clients)
    charged = storage.charged(units.astype(np.int64), at.round, at.clients)
    level += charged - leaked
    kept = np.minimum(level, ceiling)
    energy[:] = kept
    harvested = int(units.sum(dtype=np.int64))
    lost = int(leaked.sum()) + harvested - int(charged.sum())
    return Settled(harvested, int((level - kept).sum()), unable=-1, lost=lost, paid=paid)
