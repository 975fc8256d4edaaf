"""Poisson arrivals of energy, of one unit each or of random sizes: words inverted by their law (Polya-Aeppli).

N arrivals, Poisson(rate), bring sizes of 1, 2, ... units each, geometric with P(size > s) = q^s: the mean size is
1 / (1 - q), and q = 0 is the plain Poisson law. Their sum has a generating function G with (1 - q z)^2 G'(z) =
rate (1 - q) G(z) [1], from which follow its probabilities p_k, here for each client on its own:

    p_0 = exp(-rate),   (k + 1) p_{k+1} = (rate (1 - q) + 2 q k) p_k - q^2 (k - 1) p_{k-1}.

A word w of 32 bits stands for the smallest k with w < 2^32 (p_0 + ... + p_k), found by counting up [2]. So every
P(A > k) is met to within 2^-32, and numbers that are exceeded less often than that are never drawn. The recursion has
only sums, products and quotients, which come out alike on every machine and for any part of a fleet.

[1] N. L. Johnson, A. W. Kemp and S. Kotz, "Univariate discrete distributions", 3rd ed., 2005, sections 4.1 and 9.7.
[2] L. Devroye, "Non-uniform random variate generation", 1986, section III.2 (sequential search).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, PerClient, describe, refuse_unequal
from ehfl.energy.harvests.bernoulli import blocks, harvest_words

MOST = 500.0  # units per round on average: at far larger rates a harvest hardly varies and exp(-rate) underflows
_WORDS = 2.0**32
_MOST_UNITS = 2**16 - 1
_FEW = 1 / 8  # below this share of draws still counting, gather them first

Drawn = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Poisson:
    """P(A_i(t) = k) = exp(-rate) rate^k / k!, independently in each round and client.

    Packets of energy that arrive independently at any time (Guruacharya, Mittal and Hossain, "Battery
    recharge time of a stochastic linear and non-linear energy harvesting system", arXiv 1706.03183). `rate` is one
    number for all clients or one per client, each in [0, 500]; above 1 is more than a unit a round. One word is
    inverted, so every P(A > k) is met to within 2^-32: it is `Compound` with mean_size = 1.

    >>> harvest = Poisson(rate=2.5)
    >>> harvest.units(seed=0, rounds=range(2), clients=range(6)).tolist()
    [[4, 2, 1, 2, 3, 1], [3, 2, 2, 3, 6, 4]]
    >>> harvest.mean_rates(2).tolist()
    [2.5, 2.5]
    """

    per_client: ClassVar[tuple[str, ...]] = ("rate",)
    rate: ArrayLike
    _single: Compound = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_single", Compound(self.rate, mean_size=1))

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.uint16]:
        """Return how many units arrive in each round at each client, shape (len(rounds), len(clients))."""
        return self._single.units(seed, rounds, clients)

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the rates, shape (n_clients,)."""
        return self._single.mean_rates(n_clients)

    def __repr__(self) -> str:
        return f"Poisson({describe(self._single._rates)})"


@dataclass(frozen=True, eq=False)
class Compound:
    """A_i(t) = S_1 + ... + S_N, N Poisson(rate), sizes S geometric on 1, 2, ... (Polya-Aeppli law).

    A compound Poisson process, seen round by round: a person passes, a machine runs, a reader comes near. The mean is
    rate * mean_size, the variance rate * mean_size (2 mean_size - 1), and P(no unit) = exp(-rate). `rate` [arrivals a
    round] and `mean_size` [units an arrival] are one number for all clients or one per client; together they come to at
    most 500 units a round. mean_size = 1 is Poisson(rate), to the bit.

    >>> harvest = Compound(rate=0.2, mean_size=10)
    >>> harvest.units(seed=0, rounds=range(2), clients=range(8)).tolist()
    [[0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 24, 0, 0, 0]]
    >>> harvest.mean_rates(2).tolist()
    [2.0, 2.0]
    """

    per_client: ClassVar[tuple[str, ...]] = ("rate", "mean_size")
    rate: ArrayLike
    mean_size: ArrayLike
    _rates: PerClient = field(init=False, repr=False)
    _sizes: PerClient = field(init=False, repr=False)
    _none: PerClient = field(init=False, repr=False)  # P(A = 0)

    def __post_init__(self) -> None:
        rates = PerClient.of("rate", self.rate, f"[0, {MOST:g}]")
        sizes = PerClient.of("mean_size", self.mean_size, f"[1, {MOST:g}]")
        refuse_unequal(rates, sizes)
        allowed = f"at most {MOST:g} / mean_size ({MOST:g} units a round on average)"
        rates.refuse(rates.numbers * sizes.numbers > MOST * (1 + 1e-12), allowed)
        none = PerClient("none", chance_of_none(rates.numbers), rates.each)
        for name, numbers in (("_rates", rates), ("_sizes", sizes), ("_none", none)):
            object.__setattr__(self, name, numbers)

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.uint16]:
        """Return how many units arrive in each round at each client, shape (len(rounds), len(clients))."""
        rates, sizes, none = (one.part(clients) for one in (self._rates, self._sizes, self._none))
        units = np.empty((len(rounds), len(clients)), np.uint16)
        for rows in blocks(*units.shape):
            units[rows] = arrivals(harvest_words(seed, rounds[rows], clients), rates, none, q=1 - 1 / sizes)
        return units

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return rate * mean_size, shape (n_clients,)."""
        means: FloatArray = self._rates.of_fleet(n_clients) * self._sizes.of_fleet(n_clients)
        return means

    def __repr__(self) -> str:
        return f"Compound({describe(self._rates, self._sizes)})"


def chance_of_none(rate: FloatArray) -> FloatArray:
    """Return exp(-rate), elementwise by Python's own exp: NumPy's may differ in the last bit between array lengths."""
    return np.array([math.exp(-one) for one in rate.flat]).reshape(rate.shape)


def arrivals(drawn: Drawn, rate: FloatArray, none: FloatArray, q: FloatArray) -> NDArray[np.uint16]:
    """Return the units of each word, shape (n_rounds, n_clients); parameters have shape (1,) or (n_clients,).

    >>> words, rate = np.array([[0, 2**31, 2**32 - 1]], np.uint32), np.ones(1)
    >>> arrivals(words, rate, chance_of_none(rate), q=np.zeros(1)).tolist()  # P(A = 0) = 0.37, P(A <= 1) = 0.74
    [[0, 1, 12]]
    """
    units = np.zeros(drawn.shape, np.uint16)
    thresholds = _Thresholds(rate, none, q)
    for last in thresholds:
        more = drawn > last
        units += more
        if np.count_nonzero(more) <= _FEW * drawn.size:
            _count_few(units, drawn, more, thresholds)
            break
    return units


def _count_few(units: NDArray[np.uint16], drawn: Drawn, more: NDArray[np.bool_], thresholds: _Thresholds) -> None:
    """Continue counting, in place, for the few draws with more units: the cost is proportional to the tail."""
    places = np.nonzero(more)
    thresholds.keep(places[1])
    while places[0].size:
        words, counted = drawn[places], units[places]
        for last in thresholds:
            more = words > last
            counted += more
            if np.count_nonzero(more) <= _FEW * words.size:
                break
        units[places] = counted
        places = places[0][more], places[1][more]
        thresholds.keep(more)


class _Thresholds:
    """An iterator over k = 0, 1, 2, ...: for each client, the largest word that maps to at most k units."""

    def __init__(self, rate: FloatArray, none: FloatArray, q: FloatArray) -> None:
        self._rate, self._q = rate, q
        self._p, self._before, self._sum = none, np.zeros_like(none), none
        self._k = 0

    def __iter__(self) -> Iterator[Drawn]:
        return self

    def __next__(self) -> Drawn:
        assert self._k < _MOST_UNITS  # MOST is far below
        last: Drawn = np.minimum(np.ceil(self._sum * _WORDS) - 1, _WORDS - 1).astype(np.uint32)
        k, q, p = self._k, self._q, self._p
        self._p = ((self._rate * (1 - q) + 2 * k * q) * p - (k - 1) * q * q * self._before) / (k + 1)
        self._before, self._sum, self._k = p, self._sum + self._p, k + 1
        return last

    def keep(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> None:
        """Continue with these clients only; a single number for all is kept."""
        for name in ("_rate", "_q", "_p", "_before", "_sum"):
            values = getattr(self, name)
            if values.size > 1:
                setattr(self, name, values[which])
