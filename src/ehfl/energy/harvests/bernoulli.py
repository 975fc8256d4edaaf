"""The paper's harvest, one unit with probability rate; and the random words from which harvests are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, PerClient, describe
from ehfl.randomness import TILE, Purpose, frozen, stream_of, words

_WORDS = 2.0**32
_BLOCK = 2**19  # words that are worked on at a time: larger arrays would be fetched from memory again and again


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """A_i(t) = 1 with probability rate (lambda_i), else 0 (paper, section 2).

    `rate` is one number for all clients or one per client, each in [0, 1]; it is met to within 2^-32.

    >>> Bernoulli(rate=[0.0, 1.0]).units(seed=0, rounds=range(3), clients=range(2)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """

    per_client: ClassVar[tuple[str, ...]] = ("rate",)
    rate: ArrayLike
    _rates: PerClient = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rates", PerClient.of("rate", self.rate, "[0, 1]"))

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.uint8]:
        """Return 0 or 1 for each round and client, shape (len(rounds), len(clients))."""
        rates = self._rates.part(clients)
        if not _is_compiled(clients):
            return (words(seed, Purpose.HARVEST, rounds, clients) < rates * _WORDS).astype(np.uint8)
        from ehfl.energy import kernels

        out = np.empty((len(rounds), len(clients)), np.uint8)
        for row, round_ in zip(out, rounds, strict=True):
            kernels.bernoulli(row, frozen(rates), clients.start, stream_of(seed, Purpose.HARVEST, round_))
        return out

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the rates, shape (n_clients,)."""
        return self._rates.of_fleet(n_clients)

    def __repr__(self) -> str:
        return f"Bernoulli({describe(self._rates)})"


def harvest_words(seed: int, rounds: range, clients: range) -> NDArray[np.uint32]:
    """Return `randomness.words` of the harvest, one of 32 bits per round and client, (len(rounds), len(clients)).

    >>> harvest_words(0, range(2), range(3)).tolist() == words(0, Purpose.HARVEST, range(2), range(3)).tolist()
    True
    """
    if not _is_compiled(clients):
        return words(seed, Purpose.HARVEST, rounds, clients)
    from ehfl.energy import kernels

    out = np.empty((len(rounds), len(clients)), np.uint32)
    for row, round_ in zip(out, rounds, strict=True):
        kernels.words(row, clients.start, stream_of(seed, Purpose.HARVEST, round_))
    return out


def blocks(n_rows: int, n_clients: int) -> Iterator[slice]:
    """Return consecutive slices of rows, each with about `_BLOCK` numbers."""
    depth = max(1, _BLOCK // max(1, n_clients))
    return (slice(first, min(first + depth, n_rows)) for first in range(0, n_rows, depth))


def _is_compiled(clients: range) -> bool:
    """Return whether kernels compute these clients: more than one tile, starting at the first client of a tile."""
    return len(clients) > TILE and clients.start % TILE == 0 and clients.step == 1
