"""The paper's harvest: one unit with probability rate, independently in each round and client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray
from ehfl.energy.per_client import for_fleet, numbers_per_client, of_clients, shown
from ehfl.randomness import TILE, Purpose, frozen, stream_of, words

_WORDS = 2.0**32


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """A_i(t) = 1 with probability rate (lambda_i), else 0 (paper, section 2).

    `rate` is one number for all clients or one per client, each in [0, 1]; it is met to within 2^-32.

    >>> Bernoulli(rate=[0.0, 1.0]).units(seed=0, rounds=range(3), clients=range(2)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """

    per_client: ClassVar[tuple[str, ...]] = ("rate",)
    rate: ArrayLike
    _rates: FloatArray = field(init=False, repr=False)  # shape () or (n_clients,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rates", numbers_per_client("rate", self.rate, 0, 1))

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.uint8]:
        """Return 0 or 1 for each round and client, shape (len(rounds), len(clients))."""
        rates = of_clients(self._rates, clients)
        if len(clients) > TILE and clients.start % TILE == 0 and clients.step == 1:
            return _compiled_units(rates, seed, rounds, clients)
        drawn = words(seed, Purpose.HARVEST, rounds, clients)
        return (drawn < rates * _WORDS).astype(np.uint8)

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the rates, shape (n_clients,)."""
        return for_fleet("rate", self._rates, n_clients)

    def __repr__(self) -> str:
        return f"Bernoulli({shown(rate=self._rates)})"


def _compiled_units(rates: FloatArray, seed: int, rounds: range, clients: range) -> NDArray[np.uint8]:
    from ehfl.energy import kernels

    out = np.empty((len(rounds), len(clients)), np.uint8)
    for row, round_ in zip(out, rounds, strict=True):
        kernels.bernoulli(row, frozen(np.atleast_1d(rates)), clients.start, stream_of(seed, Purpose.HARVEST, round_))
    return out
