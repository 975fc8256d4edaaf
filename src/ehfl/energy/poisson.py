"""Energy that comes in packets: a Poisson number of units in each round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray
from ehfl.energy.arrivals import MOST, arrivals, chance_of_none
from ehfl.energy.draws import blocks, harvest_words
from ehfl.energy.per_client import for_fleet, numbers_per_client, of_clients, shown


@dataclass(frozen=True, eq=False)
class Poisson:
    """P(A_i(t) = k) = exp(-rate) rate^k / k!, independently in each round and client.

    Packets of energy that arrive one by one, at any time and without memory (Guruacharya, Mittal and Hossain, "Battery
    recharge time of a stochastic linear and non-linear energy harvesting system", arXiv 1706.03183). `rate` is one
    number for all clients or one per client, each in [0, 500]; above 1 is more than a unit a round. One word is
    inverted (`energy/arrivals.py`), so every P(A > k) is met to within 2^-32.

    >>> harvest = Poisson(rate=2.5)
    >>> harvest.units(seed=0, rounds=range(2), clients=range(6)).tolist()
    [[4, 2, 1, 2, 3, 1], [3, 2, 2, 3, 6, 4]]
    >>> harvest.mean_rates(2).tolist()
    [2.5, 2.5]
    """

    per_client: ClassVar[tuple[str, ...]] = ("rate",)
    rate: ArrayLike
    _rates: FloatArray = field(init=False, repr=False)  # shape () or (n_clients,)
    _none: FloatArray = field(init=False, repr=False)  # P(A = 0), of the same shape

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rates", numbers_per_client("rate", self.rate, 0, MOST))
        object.__setattr__(self, "_none", chance_of_none(self._rates))

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.uint16]:
        """Return how many units arrive in each round at each client, shape (len(rounds), len(clients))."""
        rates, none = (of_clients(numbers, clients) for numbers in (self._rates, self._none))
        units = np.empty((len(rounds), len(clients)), np.uint16)
        for rows in blocks(*units.shape):
            units[rows] = arrivals(harvest_words(seed, rounds[rows], clients), rates, none)
        return units

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the rates, shape (n_clients,)."""
        return for_fleet("rate", self._rates, n_clients)

    def __repr__(self) -> str:
        return f"Poisson({shown(rate=self._rates)})"
