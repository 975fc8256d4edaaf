"""The noise-scale law: values worked by hand, its two ends, and what never changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.theory.noise_scale import slowdown, slowdowns, worth
from ehfl.validation import InvalidValue


def test_a_slowdown_of_steady_rounds_is_the_ratio_of_what_they_are_worth() -> None:
    steady = np.full(10, 2)

    assert slowdown(steady, 2, 7.0) == pytest.approx(1)
    assert slowdown(steady, 8, math.inf) == pytest.approx(4)
    assert slowdown(steady, 8, 0.0) == pytest.approx(1)
    assert slowdown(steady, 8, 4.0) == pytest.approx((1 + 4 / 2) / (1 + 4 / 8))
    assert slowdown(np.ones(3, int), 5, 4.0) == pytest.approx(5 / 1.8)  # each at its own best step
    assert slowdown(np.zeros(3, int), 1, 1.0) == math.inf


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=20), scale=st.floats(0, 100), more=st.floats(0, 100))
def test_a_slowdown_grows_with_the_noise_and_not_with_the_rounds(counts: list[int], scale: float, more: float) -> None:
    n_t = np.array(counts)
    most = max(1, *counts)

    low, high, end = slowdowns(n_t, most, [scale, scale + more, math.inf])
    assert low <= high + 1e-9 and high <= end + 1e-9
    assert slowdown(np.tile(n_t, 16), most, scale) == pytest.approx(low)  # 16 times the rounds, the same slowdown


def test_the_law_maximises_the_decrease_that_the_descent_lemma_promises() -> None:
    """At the best step eta |g|^2 - (L eta^2 / 2)(|g|^2 + s2/n) is |g|^2 / (2 L (1 + B/n)), with B = s2 / |g|^2."""
    square, variance, L = 3.0, 6.0, 2.0
    etas = np.linspace(0, 1 / L, 200_001)
    for n in (1, 2, 7):
        decrease = etas * square - L * etas**2 / 2 * (square + variance / n)
        assert decrease.max() == pytest.approx(square / (2 * L) * float(worth(n, variance / square)), rel=1e-9)


@pytest.mark.parametrize("scale", [-1.0, math.nan])
def test_a_noise_scale_is_not_negative(scale: float) -> None:
    with pytest.raises(InvalidValue, match="noise_scale"):
        worth([1, 2], scale)
