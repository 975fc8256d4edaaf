"""Compiled versions, for large fleets, of `randomness.words`, `Bernoulli.units` and the battery.

The plain NumPy forms define the values.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ehfl.compiled import fill_lower, fill_upper, kernel, lower_half, parallel_kernel
from ehfl.randomness import TILE

# Copied from `battery`, which kernels must not import: their cache key is the hash of a few files.
_CLIENT_STEP = np.int64(0x91E10DA5)
_HALF = np.uint32(16)
_PART = 1 / 65536


@parallel_kernel
def words(out, start, stream):
    """Write `randomness.words` of one round; clients start .. start + len(out), start on a tile."""
    for tile in prange((out.size + TILE - 1) // TILE):
        uppers = np.empty(TILE, np.uint16)
        lowers = np.empty(TILE, np.uint16)
        fill_upper(uppers, np.int64(start // TILE + tile), stream)
        fill_lower(lowers, np.int64(start // TILE + tile), stream)
        part = out[tile * TILE : (tile + 1) * TILE]
        for lane in range(part.size):
            part[lane] = np.uint32(uppers[lane]) << np.uint32(16) | np.uint32(lowers[lane])


@parallel_kernel
def bernoulli(out, rates, start, stream):
    """Write 1 where a client's word lies below rate * 2^32; clients start .. start + len(out), start on a tile.

    `rates` holds one rate, or one for each client in `out`. The upper half of a word settles it unless it equals that
    of the threshold; a tile in which this happens (one in 16) is recomputed.
    """
    for tile in prange((out.size + TILE - 1) // TILE):
        uppers = np.empty(TILE, np.uint16)
        fill_upper(uppers, np.int64(start // TILE + tile), stream)
        part = out[tile * TILE : (tile + 1) * TILE]
        own = rates[tile * TILE : (tile + 1) * TILE] if rates.size > 1 else rates
        unsure = np.int32(0)
        if own.size == 1:
            threshold = np.int32(own[0] * 65536)
            last = np.uint16(max(threshold - 1, 0))  # 16 bits: sixteen at a time
            for lane in range(part.size):
                part[lane] = uppers[lane] <= last
                unsure = np.int32(unsure + np.int32(uppers[lane] == np.uint16(threshold)))
            if threshold == 0:
                part[:] = 0
        else:
            for lane in range(part.size):
                threshold = np.int32(own[lane] * 65536)
                part[lane] = np.int32(uppers[lane]) < threshold
                unsure = np.int32(unsure + np.int32(np.int32(uppers[lane]) == threshold))
        for lane in range(part.size if unsure > 0 else 0):
            rate = own[lane if own.size > 1 else 0]
            if uppers[lane] == np.uint16(np.int32(rate * 65536)):
                lower = lower_half(np.int64(start + tile * TILE + lane), stream)
                part[lane] = uppers[lane] * 65536.0 + lower < rate * 4294967296.0


@kernel
def first_at_least(clients, client):
    """Return the position of the first of these ascending clients that is not below `client`."""
    low, high = 0, clients.size
    while low < high:
        middle = (low + high) // 2
        if clients[middle] < client:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def pay_tile(energy, clients, costs, tile, unable, held):
    """Let those of these ascending clients that are in a tile pay, and return what they pay together.

    `unable` receives the last client that could not pay, and `held` its level.
    """
    first = first_at_least(clients, np.int64(tile * TILE))
    last = first_at_least(clients, np.int64((tile + 1) * TILE))
    paid = 0
    for i in range(first, last):
        client = np.uint32(clients[i])  # unsigned, which avoids a check for negative indices
        price = costs[client] if costs.size > 1 else costs[0]
        if energy[client] < price:
            unable[tile] = client
            held[tile] = energy[client]
        energy[client] = np.int32(energy[client] - price)
        paid += price
    return paid


@kernel
def fill_tile(part, more, tops):
    """Add units to the levels of a tile up to its ceilings, one or one each; return (units, stored units)."""
    gained = 0
    kept = 0
    if tops.size == 1:  # a separate loop, which the compiler vectorises
        top = tops[0]
        for lane in range(part.size):
            unit = np.int32(more[lane])
            keep = min(unit, np.int32(top - part[lane]))
            part[lane] = np.int32(part[lane] + keep)
            gained += unit
            kept += keep
    else:
        for lane in range(part.size):
            unit = np.int32(more[lane])
            keep = min(unit, np.int32(tops[lane] - part[lane]))
            part[lane] = np.int32(part[lane] + keep)
            gained += unit
            kept += keep
    return gained, kept


@kernel
def leak_tile(part, leaks, drains, offset):
    """Let the levels of a tile leak, and return the loss; `offset` is that of its first client, in 2^-32."""
    gone = 0
    alike = leaks.size == 1 and drains.size == 1
    for lane in range(part.size if alike else 0):  # a separate loop, which the compiler vectorises
        own = np.uint32(offset + lane * _CLIENT_STEP)
        level = part[lane]
        out = min(np.int32(level * leaks[0] + drains[0] + np.int32(own >> _HALF) * _PART), level)
        part[lane] = np.int32(level - out)
        gone += out
    for lane in range(0 if alike else part.size):
        own = np.uint32(offset + lane * _CLIENT_STEP)
        level = part[lane]
        leak = leaks[lane] if leaks.size > 1 else leaks[0]
        drain = drains[lane] if drains.size > 1 else drains[0]
        out = min(np.int32(level * leak + drain + np.int32(own >> _HALF) * _PART), level)
        part[lane] = np.int32(level - out)
        gone += out
    return gone


@kernel
def charge_tile(more, efficiencies, offset, into):
    """Write the charge that reaches the batteries of a tile, and return the harvest; `offset` as in `leak_tile`."""
    gained = 0
    for lane in range(more.size):
        own = np.uint32(offset + lane * _CLIENT_STEP)
        unit = np.int32(more[lane])
        efficiency = efficiencies[lane] if efficiencies.size > 1 else efficiencies[0]
        into[lane] = min(np.int32(unit * efficiency + np.int32(own >> _HALF) * _PART), unit)
        gained += unit
    return gained


@parallel_kernel
def settle(energy, clients, costs, units, ceilings, losses, phases, start):
    """Let these clients pay, let batteries leak, then charge them up to the ceiling, in place; clients ascend.

    `losses` are (efficiency, leak, drain), each one number or one for each client in `energy`, whose first is client
    `start`; `phases` are the offsets of leaks and charges of client 0. Returns (harvested, wasted, lost, paid, unable,
    held).
    """
    efficiencies, leaks, drains = losses
    harvested = 0
    charged = 0
    leaked = 0
    stored = 0
    paid = 0
    loses = efficiencies.size > 1 or efficiencies[0] < 1
    leaky = leaks.size > 1 or drains.size > 1 or leaks[0] > 0 or drains[0] > 0
    n_tiles = (energy.size + TILE - 1) // TILE
    unable = np.full(n_tiles, -1)  # per tile, because numba drops a max reduction after a condition
    held = np.zeros(n_tiles, np.int64)
    for tile in prange(n_tiles):
        paid += pay_tile(energy, clients, costs, tile, unable, held)
        here = slice(tile * TILE, (tile + 1) * TILE)
        part, more, tops = energy[here], units[here], ceilings[here] if ceilings.size > 1 else ceilings
        own = (start + tile * TILE) * _CLIENT_STEP  # modulo 2^32, see `leak_tile`
        if leaky:
            leaked += leak_tile(part, leaks[here] if leaks.size > 1 else leaks,
                                drains[here] if drains.size > 1 else drains, own + phases[0])  # fmt: skip
        if loses:
            into = np.empty(part.size, np.int32)
            harvested += charge_tile(
                more, efficiencies[here] if efficiencies.size > 1 else efficiencies, own + phases[1], into
            )
            taken, kept = fill_tile(part, into, tops)
        else:
            taken, kept = fill_tile(part, more, tops)
            harvested += taken
        charged += taken
        stored += kept
    last_unable = np.argmax(unable)
    lost = harvested - charged + leaked
    return harvested, charged - stored, lost, paid, unable[last_unable], held[last_unable]
