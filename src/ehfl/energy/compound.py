"""Bursts of energy: a Poisson number of arrivals in each round, each of a random size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray
from ehfl.energy.arrivals import MOST, arrivals, chance_of_none
from ehfl.energy.draws import blocks, harvest_words
from ehfl.energy.per_client import for_fleet, numbers_per_client, of_clients, refuse_where, same_clients, shown


@dataclass(frozen=True, eq=False)
class Compound:
    """A_i(t) = S_1 + ... + S_N, N Poisson(rate), sizes S geometric on 1, 2, ... (Polya-Aeppli law).

    A compound Poisson process, seen round by round: a person passes, a machine runs, a reader comes near. The mean is
    rate * mean_size, the variance rate * mean_size (2 mean_size - 1), and P(no unit) = exp(-rate). `rate` [arrivals a
    round] and `mean_size` [units an arrival] are one number for all clients or one per client; together they come to at
    most 500 units a round. mean_size = 1 is Poisson(rate), to the bit. Law and references: `energy/arrivals.py`.

    >>> harvest = Compound(rate=0.2, mean_size=10)
    >>> harvest.units(seed=0, rounds=range(2), clients=range(8)).tolist()
    [[0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 24, 0, 0, 0]]
    >>> harvest.mean_rates(2).tolist()
    [2.0, 2.0]
    """

    per_client: ClassVar[tuple[str, ...]] = ("rate", "mean_size")
    rate: ArrayLike
    mean_size: ArrayLike
    _rates: FloatArray = field(init=False, repr=False)  # shape () or (n_clients,); so are the next ones
    _sizes: FloatArray = field(init=False, repr=False)
    _none: FloatArray = field(init=False, repr=False)  # P(A = 0)

    def __post_init__(self) -> None:
        rates = numbers_per_client("rate", self.rate, 0, MOST)
        sizes = numbers_per_client("mean_size", self.mean_size, 1, MOST)
        same_clients(rate=rates, mean_size=sizes)
        allowed = f"at most {MOST:g} / mean_size ({MOST:g} units a round on average)"
        refuse_where(np.asarray(rates * sizes > MOST * (1 + 1e-12)), "rate", allowed, rates)
        for name, numbers in (("_rates", rates), ("_sizes", sizes), ("_none", chance_of_none(rates))):
            object.__setattr__(self, name, numbers)

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.uint16]:
        """Return how many units arrive in each round at each client, shape (len(rounds), len(clients))."""
        rates, sizes, none = (of_clients(numbers, clients) for numbers in (self._rates, self._sizes, self._none))
        units = np.empty((len(rounds), len(clients)), np.uint16)
        for rows in blocks(*units.shape):
            units[rows] = arrivals(harvest_words(seed, rounds[rows], clients), rates, none, q=1 - 1 / sizes)
        return units

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return rate * mean_size, shape (n_clients,)."""
        return for_fleet("rate", self._rates, n_clients) * for_fleet("mean_size", self._sizes, n_clients)

    def __repr__(self) -> str:
        return f"Compound({shown(rate=self._rates, mean_size=self._sizes)})"
