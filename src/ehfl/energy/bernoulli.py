"""The paper's harvest: one unit with probability rate, independently in each round and client."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, real_numbers
from ehfl.randomness import TILE, Purpose, frozen, stream_of, words
from ehfl.validation import InvalidValue

_WORDS = 2.0**32


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """A_i(t) = 1 with probability rate (lambda_i), else 0 (paper, section 2).

    `rate` is one number for all clients or one per client, each in [0, 1]; it is met to within 2^-32.

    >>> Bernoulli(rate=[0.0, 1.0]).units(seed=0, rounds=range(3), clients=range(2)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """

    rate: ArrayLike
    _rates: FloatArray = field(init=False, repr=False)  # shape () or (n_clients,)

    def __post_init__(self) -> None:
        rates = _as_rates(self.rate)
        rates.flags.writeable = False
        object.__setattr__(self, "_rates", rates)

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.uint8]:
        """Return 0 or 1 for each round and client, shape (len(rounds), len(clients))."""
        rates = self._rates if self._rates.ndim == 0 else self._rates[clients.start : clients.stop : clients.step]
        if len(clients) > TILE and clients.start % TILE == 0 and clients.step == 1:
            return _compiled_units(rates, seed, rounds, clients)
        drawn = words(seed, Purpose.HARVEST, rounds, clients)
        return (drawn < rates * _WORDS).astype(np.uint8)

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the rates, shape (n_clients,)."""
        if self._rates.shape not in ((), (n_clients,)):
            allowed = f"one number or one per client ({n_clients})"
            raise InvalidValue("rate", allowed, f"a list of {self._rates.size}")
        return np.broadcast_to(self._rates, (n_clients,))

    def __repr__(self) -> str:
        if self._rates.ndim == 0:
            return f"Bernoulli(rate={self._rates:g})"
        return f"Bernoulli(rate={self._rates.min():g}..{self._rates.max():g}, {self._rates.size} clients)"


def _as_rates(rate: ArrayLike) -> FloatArray:
    allowed = "in [0, 1]"
    rates = real_numbers("rate", rate, f"a number or a list of numbers {allowed}")
    if rates.ndim > 1 or rates.size == 0:
        raise InvalidValue("rate", "one number or a list of one per client", f"an array of shape {rates.shape}")
    outside = ~((rates >= 0) & (rates <= 1))  # NaN is outside too
    if rates.ndim == 0 and outside:
        raise InvalidValue("rate", allowed, f"{rates.item():g}")
    if outside.any():
        client = int(np.argmax(outside))
        raise InvalidValue("rate", allowed, f"{rates[client]:g} for client {client}")
    return rates


def _compiled_units(rates: FloatArray, seed: int, rounds: range, clients: range) -> NDArray[np.uint8]:
    from ehfl.energy import kernels

    out = np.empty((len(rounds), len(clients)), np.uint8)
    for row, round_ in zip(out, rounds, strict=True):
        kernels.bernoulli(row, frozen(np.atleast_1d(rates)), clients.start, stream_of(seed, Purpose.HARVEST, round_))
    return out
