"""How much each client is heard in a plain mean of the participants, from who took part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ehfl.arrays import FloatArray

if TYPE_CHECKING:
    from ehfl.scheduling.participation import Participation

_BLOCK = 2**22  # turns that are counted at once, so that a large fleet's need no arrays as long as all of them


def chi_square_of(weights: FloatArray) -> float:
    """Return N sum_i (q_i - 1/N)^2; 0 where nobody weighs anything.

    >>> chi_square_of(np.array([0.25, 0.5, 0.25]))
    0.125
    """
    return float(weights.size * np.square(weights - 1 / weights.size).sum()) if weights.any() else 0.0


def heard_shares(played: Participation) -> FloatArray:
    """Return the sum over all rounds of 1{i in S} / |S|, shape (n_clients,)."""
    total = np.zeros(played.n_clients)
    counts = played.counts
    for begin, end in _blocks(played):
        n_t = counts[begin:end]
        shares = np.repeat(1 / np.maximum(n_t, 1), n_t)
        turns = played.indices[played.offsets[begin] : played.offsets[end]]
        total += np.bincount(turns, shares, minlength=played.n_clients)
    return total


def _blocks(played: Participation) -> Iterator[tuple[int, int]]:
    """Yield stretches of rounds, each with few turns, or with a single round."""
    begin = 0
    while begin < played.rounds:
        end = int(np.searchsorted(played.offsets, played.offsets[begin] + _BLOCK, side="right")) - 1
        end = max(end, begin + 1)
        yield begin, end
        begin = end
