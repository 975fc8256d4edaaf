"""The longest queues of a fleet, ties broken at random: one definition, two speeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import Clients, Levels
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
        return longest_plain(energy, count, floor, word_row(seed, Purpose.SCHEDULE, round_, energy.size))
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
