"""The words that harvests are drawn from: compiled for large fleets, the same numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ehfl.randomness import TILE, Purpose, stream_of, words

_BLOCK = 2**19  # words that are worked on at a time: larger arrays would be fetched from memory again and again


def harvest_words(seed: int, rounds: range, clients: range) -> NDArray[np.uint32]:
    """Return `randomness.words` of the harvest, one of 32 bits per round and client, (len(rounds), len(clients)).

    >>> harvest_words(0, range(2), range(3)).tolist() == words(0, Purpose.HARVEST, range(2), range(3)).tolist()
    True
    """
    if len(clients) <= TILE or clients.start % TILE != 0 or clients.step != 1:
        return words(seed, Purpose.HARVEST, rounds, clients)
    from ehfl.energy import kernels

    out = np.empty((len(rounds), len(clients)), np.uint32)
    for row, round_ in zip(out, rounds, strict=True):
        kernels.words(row, clients.start, stream_of(seed, Purpose.HARVEST, round_))
    return out


def blocks(n_rows: int, n_clients: int) -> Iterator[slice]:
    """Return slices of rows, in order, each of about as many numbers as are worked on best at a time."""
    depth = max(1, _BLOCK // max(1, n_clients))
    return (slice(first, min(first + depth, n_rows)) for first in range(0, n_rows, depth))
