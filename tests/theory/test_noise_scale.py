"""The noise-scale law: values worked by hand, its two ends, and what never changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.theory.noise_scale import progress, slowdown, slowdowns, worth
from ehfl.validation import InvalidValue

counts_and_steps = st.lists(st.tuples(st.integers(0, 50), st.floats(1e-3, 1.0)), min_size=1, max_size=30)
scales = st.floats(1e-3, 1e3)


def split(rounds: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    counts, etas = zip(*rounds, strict=True)
    return np.array(counts), np.array(etas)


def test_progress_by_hand() -> None:
    # B = 2: 0.3 / (1 + 2/4) = 0.2, nothing in the empty round, 0.3 / (1 + 2/1) = 0.1.
    assert progress([4, 0, 1], [0.3, 0.3, 0.3], 2.0).tolist() == pytest.approx([0, 0.2, 0.2, 0.3])


def test_a_slowdown_of_steady_rounds_is_the_ratio_of_what_they_are_worth() -> None:
    steady = np.full(10, 2)

    assert slowdown(steady, 2, 7.0) == pytest.approx(1)
    assert slowdown(steady, 8, math.inf) == pytest.approx(4)
    assert slowdown(steady, 8, 0.0) == pytest.approx(1)
    assert slowdown(steady, 8, 4.0) == pytest.approx((1 + 4 / 2) / (1 + 4 / 8))
    assert slowdown(np.zeros(3, int), 1, 1.0) == math.inf


@given(counts_and_steps, scales, scales)
def test_noise_takes_progress_away(rounds: list[tuple[int, float]], scale: float, more: float) -> None:
    counts, etas = split(rounds)

    less = progress(counts, etas, scale + more)
    assert (less <= progress(counts, etas, scale) + 1e-12).all()
    assert (progress(counts, etas, scale) <= progress(counts, etas, 0.0) + 1e-12).all()
    assert (np.diff(less) >= 0).all()


@given(counts_and_steps, st.sampled_from([2, 3, 10]), scales)
def test_the_unit_that_clients_are_counted_in_does_not_matter(
    rounds: list[tuple[int, float]], factor: int, scale: float
) -> None:
    counts, etas = split(rounds)

    bigger = progress(factor * counts, etas, factor * scale)
    assert bigger == pytest.approx(progress(counts, etas, scale))


@given(counts_and_steps)
def test_the_ends_count_rounds_and_participants(rounds: list[tuple[int, float]]) -> None:
    counts, etas = split(rounds)

    assert progress(counts, etas, 0.0)[-1] == pytest.approx(etas[counts > 0].sum())
    assert progress(counts, etas, math.inf)[-1] == pytest.approx((etas * counts).sum())
    assert 1e12 * progress(counts, etas, 1e12)[-1] == pytest.approx((etas * counts).sum())


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


@given(st.integers(1, 20), st.integers(1, 20), st.floats(0.01, 20), st.floats(0.01, 0.99))
def test_at_a_common_step_the_law_of_the_gradients_is_an_upper_end_up_to_a_known_step(
    few: int, more: int, gradients: float, share: float
) -> None:
    """1 - k (1 + B_0/n) is what a round keeps: its ratios against the law's, on both sides of k (p + p') = 1."""
    slow, fast = 1 + gradients / few, 1 + gradients / (few + more)
    k = share / slow  # so that the slower arm still gets on
    measured = (1 - k * fast) / (1 - k * slow)

    assert (measured <= slow / fast * (1 + 1e-12)) == (k * (slow + fast) <= 1 + 1e-12)


@pytest.mark.parametrize(
    ("etas", "scale", "name"),
    [([0.1], 1.0, "etas"), ([0.1, -0.1], 1.0, "etas"), ([0.1, 0.1], -1.0, "noise_scale"),
     ([0.1, math.nan], 1.0, "etas"), ([0.1, 0.1], math.nan, "noise_scale")],
)  # fmt: skip
def test_what_is_no_step_or_no_scale_is_refused(etas: list[float], scale: float, name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        progress([1, 2], etas, scale)
