"""`longest_queues` for large fleets, and checks on what schedulers return; `view.longest_plain` defines it plainly.

`longest` finds the level at which ties must be broken, marks all clients above it, marks those at
it whose word is small enough, and lists the marked. Loops over clients go tile by tile and have no branches: random
choices would defeat branch prediction, and without them the compiler vectorises.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ehfl.compiled import fill_upper, kernel, lower_half, parallel_kernel
from ehfl.randomness import TILE

_HALVES = 2**16  # values of a word's upper half
_PROBES = 7  # levels counted in one pass over the fleet, after a wrong first guess
_SAMPLE = 1024  # clients in the sample for a guess
_LOW32 = np.uint64(2**32 - 1)
_SHIFT = np.uint64(32)
_GATHER = np.uint64(0x0102040810204080)  # moves the lowest bits of eight bytes into the highest byte, in order


@parallel_kernel
def ascend(clients):
    """Return whether each client is larger than the one before."""
    before = clients[:-1]
    after = clients[1:]
    descents = 0
    for tile in prange((after.size + TILE - 1) // TILE):
        left = before[tile * TILE : (tile + 1) * TILE]
        right = after[tile * TILE : (tile + 1) * TILE]
        found = np.int32(0)
        for i in range(left.size):
            found = np.int32(found + np.int32(right[i] <= left[i]))
        descents += found
    return descents == 0


@kernel
def survey_tile(part, levels, counts):
    """Write how many of the tile's clients hold at least each of `levels`, and last the highest level held."""
    for k in range(levels.size):
        level = np.int32(levels[k])
        found = np.int32(0)
        for i in range(part.size):
            found = np.int32(found + np.int32(part[i] >= level))
        counts[k] = found
    top = part[0]
    for i in range(part.size):
        top = max(top, part[i])
    counts[levels.size] = top


@parallel_kernel
def survey(energy, levels):
    """Return how many clients hold at least each of `levels`, and last the highest level held."""
    n_tiles = (energy.size + TILE - 1) // TILE
    by_tile = np.empty((n_tiles, levels.size + 1), np.int64)
    for tile in prange(n_tiles):
        survey_tile(energy[tile * TILE : (tile + 1) * TILE], levels, by_tile[tile])
    total = np.zeros(levels.size + 1, np.int64)
    for tile in range(n_tiles):
        for k in range(levels.size):
            total[k] += by_tile[tile, k]
        total[levels.size] = max(total[levels.size], by_tile[tile, levels.size])
    return total


@parallel_kernel
def mark_at_least(energy, level, marks, counts):
    """Mark the clients that hold at least the level, and count them per tile."""
    for tile in prange(counts.size):
        part = energy[tile * TILE : (tile + 1) * TILE]
        mark = marks[tile * TILE : (tile + 1) * TILE]
        least = np.int32(level)
        found = np.int32(0)
        for lane in range(part.size):
            yes = part[lane] >= least
            mark[lane] = yes
            found = np.int32(found + np.int32(yes))
        counts[tile] = found


@parallel_kernel
def mark_longest(energy, level, window, stream, marks, counts, in_doubt, doubtful):
    """Mark clients above the level or, at it, with an upper half below the window; those inside it are in doubt.

    Writes per tile the number of marked clients, the number in doubt, and in a row of `doubtful` the latter as upper
    half * 2^32 + client. A row that would overflow keeps its first entries; the count shows the overflow.
    """
    for tile in prange(counts.size):
        uppers = np.empty(TILE, np.uint16)
        fill_upper(uppers, np.int64(tile), stream)
        part = energy[tile * TILE : (tile + 1) * TILE]
        mark = marks[tile * TILE : (tile + 1) * TILE]
        doubt = np.zeros(TILE, np.uint8)
        tied, first, last = np.int32(level), np.uint16(window[0]), np.uint16(window[1] - 1)
        found = np.int32(0)
        unsure = np.int32(0)
        for lane in range(part.size):
            under = (part[lane] == tied) & (uppers[lane] <= last)
            near = under & (uppers[lane] >= first)
            yes = (part[lane] > tied) | under
            mark[lane] = yes
            doubt[lane] = near
            found = np.int32(found + np.int32(yes))
            unsure = np.int32(unsure + np.int32(near))
        counts[tile] = found
        in_doubt[tile] = unsure
        d = 0
        eights = doubt.view(np.uint64)  # few are in doubt: test eight at a time
        for eight in range(eights.size if unsure > 0 else 0):
            if eights[eight] != 0:
                for lane in range(8 * eight, 8 * eight + 8):
                    if doubt[lane] != 0 and d < doubtful.shape[1]:
                        doubtful[tile, d] = np.uint64(uppers[lane]) << _SHIFT | np.uint64(tile * TILE + lane)
                        d += 1


@parallel_kernel
def list_marked(marks, counts):
    """Return the marked clients in order; `counts` holds how many each tile has."""
    ends = np.cumsum(counts)
    out = np.empty(ends[-1], np.int32)
    for tile in prange(counts.size):
        mark = marks[tile * TILE : (tile + 1) * TILE]
        own = np.empty(TILE + 1, np.int32)  # one more: it is written before it is counted
        n = np.uint64(0)  # unsigned: no look for negative indices
        for lane in range(mark.size):
            own[n] = tile * TILE + lane
            n += np.uint64(mark[lane])
        out[ends[tile] - counts[tile] : ends[tile]] = own[:n]
    return out


@kernel
def unmark(client, marks, counts):
    """Unmark a client."""
    marks[client] = 0
    counts[client // TILE] -= 1


@kernel
def unmark_largest(keys, surplus, window, stream, marks, counts):
    """Unmark the `surplus` clients with the largest words; keys hold upper half * 2^32 + client, in any order."""
    low, high = window
    of_half = np.zeros(high - low, np.int64)
    for key in keys:
        of_half[np.int64(key >> _SHIFT) - low] += 1
    last = high - 1  # the upper half that the last one to go has
    while of_half[last - low] < surplus:
        surplus -= of_half[last - low]
        last -= 1
    undecided = np.empty(of_half[last - low], np.uint64)  # lower half * 2^32 + client
    n = 0
    for key in keys:
        client = np.int64(key & _LOW32)
        if np.int64(key >> _SHIFT) > last:
            unmark(client, marks, counts)
        elif np.int64(key >> _SHIFT) == last:
            undecided[n] = np.uint64(lower_half(client, stream)) << _SHIFT | np.uint64(client)
            n += 1
    for _ in range(surplus):  # few: a 65536th of those tied
        largest = 0
        for i in range(n):
            largest = i if undecided[i] > undecided[largest] else largest
        unmark(np.int64(undecided[largest] & _LOW32), marks, counts)
        undecided[largest] = 0


@kernel
def break_ties(energy, level, count, window, stream):
    """Return `count` clients: those above the level, then those at it by smallest words; none on a bad guess.

    One pass marks the words below the window of upper halves and those inside it; of the few inside, the
    largest are unmarked again. A guess is bad if the last selected word is not inside the window.
    """
    n_tiles = (energy.size + TILE - 1) // TILE
    marks = np.empty(energy.size, np.uint8)
    counts = np.empty(n_tiles, np.int64)
    in_doubt = np.empty(n_tiles, np.int64)
    expected = TILE * (window[1] - window[0]) / _HALVES
    doubtful = np.empty((n_tiles, min(TILE, int(expected + 8 * np.sqrt(expected)) + 8)), np.uint64)
    mark_longest(energy, level, window, stream, marks, counts, in_doubt, doubtful)
    surplus, unsure, fullest = -count, 0, 0
    for tile in range(n_tiles):
        surplus += counts[tile]
        unsure += in_doubt[tile]
        fullest = max(fullest, in_doubt[tile])
    if fullest > doubtful.shape[1] or surplus < 0 or surplus > unsure:
        return np.empty(0, np.int32)
    keys = np.empty(unsure, np.uint64)
    at = 0
    for tile in range(n_tiles):
        for d in range(in_doubt[tile]):
            keys[at] = doubtful[tile, d]
            at += 1
    unmark_largest(keys, surplus, window, stream, marks, counts)
    return list_marked(marks, counts)


@kernel
def highest_reached(levels, count, low, high):
    """Return the highest level in [low, high) that at least `count` of these reach, how many do, how many are above."""
    reached, above = np.int64(levels.size), np.int64(0)
    while high - low > 1:
        middle = (low + high) // 2
        least = np.int32(middle)
        found = np.int32(0)  # 32 bits: eight at a time
        for i in range(levels.size):
            found = np.int32(found + np.int32(levels[i] >= least))
        if found >= count:
            low, reached = middle, np.int64(found)
        else:
            high, above = middle, np.int64(found)
    return low, reached, above


@kernel
def guess_levels(energy, count):
    """Return guesses of the level at which ties are broken: below it, at it, next to it, and above it.

    They are quantiles of a sample of 1024 clients from 64 places of the fleet; one in ten thousand fleets in random
    order has its level outside the first and the last.
    """
    sample = np.empty(_SAMPLE, np.int32)
    high = np.int64(1)
    for i in range(_SAMPLE):
        sample[i] = energy[(i // 16) * (energy.size // (_SAMPLE // 16)) + i % 16]
        high = max(high, np.int64(sample[i]) + 1)
    share = min(1.0, count / energy.size)
    middle = int(share * _SAMPLE)
    margin = int(4 * np.sqrt(_SAMPLE * share * (1 - share))) + 2
    levels = np.empty(4, np.int64)
    levels[0] = highest_reached(sample, min(middle + margin, _SAMPLE), np.int64(0), high)[0]
    levels[1] = highest_reached(sample, max(middle, 1), np.int64(0), high)[0]
    levels[2] = levels[1] + 1
    levels[3] = highest_reached(sample, max(middle - margin, 1), np.int64(0), high)[0] + 1
    return levels


@parallel_kernel
def joined(found, counts):
    """Return the first `counts[tile]` numbers of each tile of `found`, in order."""
    ends = np.cumsum(counts)
    out = np.empty(ends[-1], np.int32)
    for tile in prange(counts.size):
        out[ends[tile] - counts[tile] : ends[tile]] = found[tile * TILE : tile * TILE + counts[tile]]
    return out


@parallel_kernel
def levels_within(energy, low, high):
    """Return all levels in [low, high), in any order."""
    n_tiles = (energy.size + TILE - 1) // TILE
    found = np.empty(n_tiles * TILE, np.int32)
    counts = np.empty(n_tiles, np.int64)
    first, last = np.int32(low), np.int32(high - 1)
    for tile in prange(n_tiles):
        part = energy[tile * TILE : (tile + 1) * TILE]
        own = np.empty(TILE + 1, np.int32)  # one more: it is written before it is counted
        n = np.uint64(0)  # unsigned: no look for negative indices
        for lane in range(part.size):
            level = part[lane]
            own[n] = level
            n += np.uint64((level >= first) & (level <= last))
        found[tile * TILE : tile * TILE + n] = own[:n]
        counts[tile] = n
    return joined(found, counts)


@kernel
def tie_level(energy, count, floor):
    """Return (level, n above it, n at it) for the highest level >= floor that at least `count` clients reach.

    If fewer than `count` reach the floor, return the floor, and count all clients that reach it as at it. Levels are
    counted at a few probes; when few clients lie between two of them, the search continues among these.
    """
    probes = np.empty(5, np.int64)
    probes[0] = floor
    probes[1:] = np.maximum(guess_levels(energy, count), floor)
    reach = survey(energy, probes)
    if reach[0] <= count:
        return floor, 0, reach[0]
    low, n_low = floor, reach[0]  # reached by at least `count`
    high, n_high = reach[probes.size] + 1, 0  # reached by fewer
    while True:
        for k in range(probes.size):
            if reach[k] >= count and probes[k] >= low:
                low, n_low = probes[k], reach[k]
            elif reach[k] < count and probes[k] < high:
                high, n_high = probes[k], reach[k]
        if high - low <= 1:
            return low, n_high, n_low - n_high
        if n_low - n_high <= energy.size // 8:
            between = levels_within(energy, low, high)
            level, reached, above = highest_reached(between, count - n_high, low, high)
            return level, n_high + above, reached - above
        step = max(1, (high - low) // (_PROBES + 1))
        probes = np.empty(min(_PROBES, high - low - 1), np.int64)
        for k in range(probes.size):
            probes[k] = low + step * (k + 1)
        reach = survey(energy, probes)


@kernel
def longest(energy, count, floor, stream):
    """Return the result of `longest_plain`, without a sort."""
    level, n_above, n_tied = tie_level(energy, count, floor)
    wanted = count - n_above  # of those at the level
    if wanted >= n_tied:
        marks = np.empty(energy.size, np.uint8)
        counts = np.empty((energy.size + TILE - 1) // TILE, np.int64)
        mark_at_least(energy, level, marks, counts)
        return list_marked(marks, counts)
    share = wanted / n_tied  # the last word to get in is near this share of the range: within 4 sigma
    margin = (4 * np.sqrt(n_tied * share * (1 - share)) + 4) / n_tied
    window = max(0, int((share - margin) * _HALVES)), min(_HALVES, int((share + margin) * _HALVES) + 1)
    while True:
        chosen = break_ties(energy, level, count, window, stream)
        if chosen.size > 0:
            return chosen
        window = 0, _HALVES


@parallel_kernel
def able(clients, energy, costs):
    """Return those of these clients that can pay for a round, in their order."""
    n_parts = (clients.size + TILE - 1) // TILE
    found = np.empty(clients.size, np.int32)
    counts = np.zeros(n_parts, np.int64)
    for part in prange(n_parts):
        some = clients[part * TILE : (part + 1) * TILE]
        own = np.empty(TILE + 1, np.int32)  # one more: it is written before it is counted
        n = np.uint64(0)  # unsigned: no look for negative indices
        for i in range(some.size):
            client = np.uint32(some[i])
            own[n] = some[i]
            n += np.uint64(energy[client] >= costs[client])
        found[part * TILE : part * TILE + n] = own[:n]
        counts[part] = n
    return joined(found, counts)


@parallel_kernel
def pack(clients, bits):
    """Set the bits of these ascending clients, one per client, and clear all others."""
    for tile in prange((bits.size * 8 + TILE - 1) // TILE):
        flags = np.zeros(TILE, np.uint8)
        begin = np.int64(tile * TILE)
        first, last = np.searchsorted(clients, begin), np.searchsorted(clients, begin + TILE)
        for i in range(first, last):
            flags[np.uint32(clients[i] - begin)] = 1  # bytes first: setting bits directly would serialise the loop
        eights = flags.view(np.uint64)
        part = bits[tile * TILE // 8 : (tile + 1) * TILE // 8]
        for i in range(part.size):
            part[i] = np.uint8(eights[i] * _GATHER >> np.uint64(56))
