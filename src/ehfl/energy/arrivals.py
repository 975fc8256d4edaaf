"""How many units a word stands for: the inverse transform of the Poisson and the Polya-Aeppli law.

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

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray

MOST = 500.0  # units a round on average: far beyond, a harvest hardly varies, and exp(-rate) would be 0
_WORDS = 2.0**32
_MOST_UNITS = 2**16 - 1
_FEW = 1 / 8  # below this share of draws that count on, they are gathered first
_SINGLE = np.zeros(())  # q of arrivals that bring one unit each

Drawn = NDArray[np.uint32]


def chance_of_none(rate: FloatArray) -> FloatArray:
    """Return exp(-rate), elementwise by Python's own exp: NumPy's may differ in the last bit between array lengths."""
    return np.array([math.exp(-one) for one in rate.flat]).reshape(rate.shape)


def arrivals(drawn: Drawn, rate: FloatArray, none: FloatArray, q: FloatArray = _SINGLE) -> NDArray[np.uint16]:
    """Return the units of each word, shape (n_rounds, n_clients); parameters have shape () or (n_clients,).

    >>> words, rate = np.array([[0, 2**31, 2**32 - 1]], np.uint32), np.array(1.0)
    >>> arrivals(words, rate, chance_of_none(rate)).tolist()  # P(A = 0) = 0.37, P(A <= 1) = 0.74, P(A <= 2) = 0.92
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
    """Count on for the few draws that have more units, in place: a long tail costs as much as there is in it."""
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
    """The largest word that stands for at most k units, of each client: k = 0, 1, 2, ..."""

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
        """Go on with these alone, where clients differ."""
        for name in ("_rate", "_q", "_p", "_before", "_sum"):
            values = getattr(self, name)
            if values.ndim:
                setattr(self, name, values[which])
