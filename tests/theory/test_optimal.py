"""Step sizes from theory, and what follows from them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ehfl.theory import RULES, Constants, best_along, best_of_all, bound, largest_step, pace
from ehfl.theory.bounds.alike import rounds_alike, step_for

CONSTANTS = Constants(smoothness=2.0, variance=3.0, gap=1.5)
COUNTS = np.array([0, 3, 5, 1, 0, 4, 5, 5, 2, 7] * 20)


def value(counts: np.ndarray, etas: np.ndarray, K: int, constants: Constants = CONSTANTS) -> float:
    return bound(
        counts,
        etas,
        local_steps=K,
        smoothness=constants.smoothness,
        variance=constants.variance,
        gap=constants.gap,
    )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("K", [1, 5])
def test_no_other_factor_of_a_rule_does_better(rule: str, K: int) -> None:
    best = value(COUNTS, best_along(rule, COUNTS, K, CONSTANTS), K)
    shape = RULES[rule](COUNTS.astype(float))
    cap = largest_step(K, 2.0) / shape.max()

    found = minimize_scalar(lambda c: value(COUNTS, c * shape, K), bounds=(1e-9, cap), method="bounded")
    assert best <= found.fun * (1 + 1e-9)
    assert all(best <= value(COUNTS, c * shape, K) * (1 + 1e-12) for c in np.geomspace(cap / 1e4, cap, 50))


@given(
    counts=st.lists(st.integers(0, 9), min_size=2, max_size=60).filter(any),
    K=st.sampled_from([1, 3]),
    gap=st.floats(1e-3, 1e3),
    variance=st.one_of(st.just(0.0), st.floats(1e-3, 1e3)),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=50, deadline=None)
def test_no_sequence_does_better_than_the_best_of_all(
    counts: list[int], K: int, gap: float, variance: float, seed: int
) -> None:
    n_t, constants = np.array(counts), Constants(2.0, variance, gap)
    etas = best_of_all(n_t, K, constants)
    best = value(n_t, etas, K, constants)

    for rule in RULES:
        assert best <= value(n_t, best_along(rule, n_t, K, constants), K, constants) * (1 + 1e-9)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-1):
        moved = np.clip(etas * np.exp(size * rng.standard_normal(n_t.size)), 0, largest_step(K, 2.0))
        assert best <= value(n_t, moved, K, constants) * (1 + 1e-9)


def test_for_one_local_step_the_best_sequence_is_b_n_over_l_s2_plus_b_n() -> None:
    etas = best_of_all(COUNTS, 1, CONSTANTS)
    b = value(COUNTS, etas, 1)

    assert etas == pytest.approx(b * COUNTS / (2 * (3 + b * COUNTS)), rel=1e-9)


@pytest.mark.parametrize("n", [1, 5, 100])
def test_for_more_local_steps_the_best_step_is_where_what_a_round_gives_is_largest(n: int) -> None:
    """At a value of 0.01 the noise is 300 times as large, so that the root lies well within the condition."""

    def given(eta: float) -> float:
        rounds = rounds_alike(np.array([float(n)]), np.array([eta]), 5, CONSTANTS)
        gain, cost = rounds.gain_and_cost(rounds.theta(0.01))
        return float((cost - 0.01 * gain)[0])

    found = minimize_scalar(given, bounds=(0, largest_step(5, 2.0)), method="bounded", options={"xatol": 1e-12}).x
    assert found < 0.9 * largest_step(5, 2.0)
    assert step_for(0.01, np.array([float(n)]), 5, CONSTANTS)[0] == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize(
    ("rule", "what_matters"),
    [
        ("linear", lambda n: 1 / math.sqrt(n.sum())),
        ("sqrt", lambda n: 1 / (math.sqrt(n.size) * np.sqrt(n).mean())),
        ("constant", lambda n: math.sqrt((1 / n).mean() / n.size)),
    ],
)
def test_to_leading_order_a_rule_sees_one_figure_of_the_participation(rule: str, what_matters: object) -> None:
    n_t = np.tile([2, 8, 5, 1, 9], 200_000)
    etas = best_along(rule, n_t, 1, CONSTANTS)

    leading = math.sqrt(2 * 1.5 * 2 * 3) * what_matters(n_t)  # type: ignore[operator]
    assert value(n_t, etas, 1) == pytest.approx(leading, rel=1.1 * next_order(etas))


def next_order(etas: np.ndarray) -> float:
    """Return N c^2 / (S c), by which the best bound exceeds its leading order."""
    return float(2.0 / 2 * (etas**2).sum() / etas.sum())


def test_even_participation_wins_under_each_rule_but_the_linear_one_where_it_ties() -> None:
    even, uneven = np.full(1_000_000, 5), np.tile([1, 9], 500_000)

    for rule, expected in {"linear": 1.0, "sqrt": math.sqrt(5) / 2, "constant": math.sqrt((1 + 1 / 9) / 2 * 5)}.items():
        etas = [best_along(rule, n_t, 1, CONSTANTS) for n_t in (uneven, even)]
        ratio = value(uneven, etas[0], 1) / value(even, etas[1], 1)
        assert ratio == pytest.approx(expected, rel=1.1 * max(map(next_order, etas)))


def test_without_noise_the_largest_step_is_best_and_without_participants_there_is_none() -> None:
    quiet = Constants(2.0, 0.0, 1.5)

    assert best_of_all(np.array([2, 0, 1]), 1, quiet).tolist() == [0.5, 0.0, 0.5]
    assert best_along("linear", np.array([2, 0, 1]), 1, quiet).tolist() == [0.5, 0.0, 0.25]
    assert best_of_all(np.array([0, 0]), 1, CONSTANTS).tolist() == [0.0, 0.0]
    assert best_along("sqrt", np.array([0, 0]), 5, CONSTANTS).tolist() == [0.0, 0.0]
    assert best_of_all(np.array([2, 0, 3]), 5, quiet) == pytest.approx([0.0125, 0.0, 0.0125])


def test_pace_says_what_share_of_steady_rounds_reaches_a_value() -> None:
    for K in (1, 5):
        long, short = np.full(900, 4), np.full(300, 4)
        reached = value(short, best_of_all(short, K, CONSTANTS), K)

        assert pace(reached, long, K, CONSTANTS) == pytest.approx(3.0)
        assert pace(reached, short, K, CONSTANTS) == pytest.approx(1.0)


@pytest.mark.parametrize("gap", [1e-40, 1e-12, 1e40])
@pytest.mark.parametrize("variance", [1e-40, 1e40])
@pytest.mark.parametrize("K", [1, 5])
def test_extreme_constants_have_a_best_all_the_same(gap: float, variance: float, K: int) -> None:
    constants = Constants(1e-3, variance, gap)
    n_t = np.array([0] * 50 + [1, 10**9])
    best = value(n_t, best_of_all(n_t, K, constants), K, constants)

    for rule in RULES:
        assert best <= value(n_t, best_along(rule, n_t, K, constants), K, constants) * (1 + 1e-9)


def test_a_gap_of_zero_and_an_unknown_rule_are_refused() -> None:
    with pytest.raises(ValueError, match="gap must be a positive number"):
        best_of_all(COUNTS, 1, Constants(1.0, 1.0, 0.0))
    with pytest.raises(ValueError, match="rule must be one of constant, sqrt, linear, got cubic"):
        best_along("cubic", COUNTS, 1, CONSTANTS)
