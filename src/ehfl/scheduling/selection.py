"""The longest queues of a fleet, ties broken at random: a plain definition and a compiled version."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import Clients, FloatArray, IntArray, Levels
from ehfl.randomness import TILE, Purpose, frozen, stream_of, word_row
from ehfl.validation import whole_number


def longest_queues(energy: Levels, count: int, floor: int, seed: int, round_: int) -> Clients:
    """Return, sorted, the `count` longest queues, then of these the ones that hold at least `floor`.

    Among equal queues the smaller word of the schedule stream goes first (and, should two words agree, the smaller
    client), which makes every subset of the tied clients equally likely and needs no state.
    """
    count = whole_number("count", count, low=0)
    if count == 0:
        return np.empty(0, np.int32)
    if energy.size <= TILE:
        able = (energy >= floor).nonzero()[0].astype(np.int32)  # np.flatnonzero takes twice as long for few clients
        return able if able.size <= count else largest_keys(energy, count, seed, round_)
    from ehfl.scheduling import kernels

    chosen: Clients = kernels.longest(frozen(energy), count, int(floor), stream_of(seed, Purpose.SCHEDULE, round_))
    return chosen


def longest_plain(energy: Levels, count: int, floor: int, words: NDArray[np.uint32]) -> Clients:
    """Define the selection in three lines of NumPy.

    >>> longest_plain(np.array([1, 2, 1, 0]), 2, floor=1, words=np.array([9, 9, 3, 0])).tolist()
    [1, 2]
    """
    order = np.lexsort((words, -energy))[:count]
    chosen: Clients = order[energy[order] >= floor].astype(np.int32)
    chosen.sort()
    return chosen


def largest_keys(keys: FloatArray | IntArray, count: int, seed: int, round_: int) -> Clients:
    """Return, sorted, the clients with the `count` largest keys; ties are broken as among queues.

    No words are drawn without ties, which is the rule in joules.

    >>> largest_keys(np.array([0.5, 2.0, 0.7, 0.7]), 3, seed=0, round_=0).tolist()
    [1, 2, 3]
    """
    if count == 0 or count >= keys.size:
        return np.arange(min(count, keys.size), dtype=np.int32)
    level = np.partition(keys, -count)[-count]
    chosen, tied = keys > level, (keys == level).nonzero()[0]
    wanted = count - np.count_nonzero(chosen)  # of those at the level
    if wanted < tied.size:
        words = word_row(seed, Purpose.SCHEDULE, round_, keys.size)[tied]
        last = np.partition(words, wanted - 1)[wanted - 1]  # nearly always the word of one client
        under, at = tied[words < last], tied[words == last]
        tied = np.concatenate((under, at[: wanted - under.size]))
    chosen[tied] = True
    largest: Clients = chosen.nonzero()[0].astype(np.int32)
    return largest
