"""Windows of rounds: the bound beside what can be computed exactly, and what turns that come round are worth."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl import SCHEDULERS, Bernoulli, Fleet, simulate
from ehfl.theory import Constants, Windows, bound_any, bound_windows, windows_of
from ehfl.theory.bounds.optimal import best_factor

from .exact import Clients
from .test_unlike import constants_of, some_clients, weighted

UNLIKE = Constants(smoothness=1.0, variance=1.0, gap=1.0, heterogeneity=1.0)


@given(
    clients=some_clients(),
    rounds=st.integers(1, 20),
    window=st.integers(1, 8),
    share=st.floats(0.05, 1.0),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_the_bound_holds_over_all_rounds(clients: Clients, rounds: int, window: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    turns = rng.random((rounds, clients.n)) < rng.random()
    turns[0, 0] |= not turns.any()
    found = windows_of(turns, window)
    eta = share * found.largest_step(1.0)

    bound = bound_windows(found, eta, constants_of(clients))
    squares = clients.of_sets([np.flatnonzero(one) for one in turns], np.full(rounds, eta), 1)
    assert bound.weights.shape == (rounds,)
    assert weighted(bound, squares) <= bound.value * (1 + 1e-9)


@given(seed=st.integers(0, 2**32), variance=st.sampled_from([0.0, 1.0, 9.0]), share=st.floats(0.05, 1.0))
def test_windows_of_one_round_are_theorem_c(seed: int, variance: float, share: float) -> None:
    turns = np.random.default_rng(seed).random((12, 5)) < 0.5
    turns[0, 0] = True
    constants = Constants(1.0, variance, 1.0, heterogeneity=2.0)
    mine = bound_windows(windows_of(turns, 1), share, constants)
    theirs = bound_any(turns.sum(axis=1), np.full(12, share), 5, 1, constants)

    assert mine.value == pytest.approx(theirs.value)


def test_windows_by_hand() -> None:
    """Rounds A = {0}, none, B = {1, 2}, C = {0, 1}, D = {2}; windows A, A-, A-B, -BC, BCD, CD and D."""
    turns = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]], dtype=bool)
    found = windows_of(turns, 3)

    assert found.steps.tolist() == [1, 1, 2, 2, 3, 2, 1]
    # one client alone; weights 1/2, 1/4, 1/4 in any order; in BCD 1/6, 1/3, 1/2
    uneven = 3 * (1 / 36 + 2 / 144)
    assert found.chi_square == pytest.approx([2, 2, uneven, uneven, 3 * 2 / 36, uneven, 2])
    assert found.inverse == pytest.approx([1, 1, 1.5, 1, 2, 1.5, 1])
    assert found.inverse_later == pytest.approx([0, 0, 1, 0.5, 1 + 0.5, 0.5, 0])
    assert found.apart_later == pytest.approx([0, 0, 2, 0.5, 1 + 0.5, 0.5, 0])


def test_every_round_begins_a_window_and_the_first_begins_one_of_each_length() -> None:
    """Of everybody in 6 rounds, with windows of 3 and sigma = zeta = 0: a window of m has w = eta m (1 - k/2) but for
    its drift, so at a tiny eta weights are as 1 + 2 + 3 for x_0, 3 for the next three rounds, then 2 and 1.
    """
    found = bound_windows(windows_of(np.ones((6, 2), dtype=bool), 3), 1e-9, Constants(1.0, 0.0, 1.0))

    assert found.weights / 1e-9 == pytest.approx([6, 3, 3, 3, 2, 1], rel=1e-6)
    assert found.value == pytest.approx(3 / 18e-9, rel=1e-6)  # three times the gap


@pytest.mark.parametrize(
    ("second", "zeta2", "off"),
    [([False, True], 1.0, 0.0), ([True, True], 1.0, 1 / 4), ([False, True], 0.0, 0.0)],
    ids=["in turn", "first one of two, then both", "alike"],
)
def test_the_bound_of_two_rounds_by_hand(second: list[bool], zeta2: float, off: float) -> None:
    """The first client, then `second`: windows of the first round, of both, of the second. L = s2 = Delta = 1,
    eta = 1/16. Weights 3/4 and 1/4 have chi^2 = 1/4, a client alone has 1.
    """
    found, constants = windows_of([[True, False], second], 2), Constants(1.0, 1.0, 1.0, zeta2)
    R = 1.76 / 256 / 2 * (1 + 8 * 2 * zeta2)  # the first round's noise and distance, which one round follows
    slope = (2 if zeta2 else 1) * 3.52 * 2 / 256 * (1 + math.sqrt(off / R))
    moved = (math.sqrt(off) + math.sqrt(R)) ** 2
    noise = ((1 + 16 / 7 / 16) + 1 / sum(second)) / 4  # of the first, which meets the second's gradient, and the second
    alone = (2 / sum(second) - 1) * zeta2  # r of the second round by itself: (N - n)/n
    windows = [(1, 0.0, zeta2, 1.0), (2, slope, moved, noise), (1, 0.0, alone, 1 / sum(second))]  # m, a, r, s
    theta = np.append(1e-9, np.linspace(1e-4, 1, 200_000))

    def ahead(value: float) -> float:
        """Return how far the windows together are below the gap, twice, if the bound is this."""
        total = 0.0
        for m, a, r, s in windows:
            k = m / 16
            c = (1 - k) / (2 * theta) + k / 2
            weight = k * (1 - k / 2 - (1 - k) * theta / 2 - c * a)
            total += float((value * weight - k * (c * r + k / 2 * s)).max())
        return total - 2

    least = bound_windows(found, 1 / 16, constants).value
    assert ahead(least * (1 - 1e-6)) < 0 < ahead(least * (1 + 1e-6))


def test_turns_that_come_round_have_no_floor() -> None:
    turns = np.tile(np.eye(4, dtype=bool), (25_000, 1))

    assert bound_windows(windows_of(turns, 1), 0.001, UNLIKE).value > 3  # zeta^2 (N - n)/n
    assert bound_windows(windows_of(turns, 4), 0.001, UNLIKE).value < 0.05


def test_the_floor_is_attained_by_those_who_never_change() -> None:
    """The same two of five in every round, from where they agree: zeta^2 (N - n)/n = 9, in windows of any length."""
    clients = Clients(np.ones(1), np.array([[3.0], [3.0], [-2.0], [-2.0], [-2.0]]), 0.0, start=np.array([-3.0]))
    turns = np.tile([True, True, False, False, False], (200_000, 1))
    bound = bound_windows(windows_of(turns, 4), 0.0005, constants_of(clients))

    assert 0.9 < 9.0 / bound.value <= 1


@pytest.mark.parametrize("variance", [0.0, 1e-20])
def test_a_bias_that_comes_last_in_its_window_is_not_forgotten(variance: float) -> None:
    """Both of two clients, then the first alone: from g = -d/(2 - eta), |d| = zeta, these two rounds lead back to it.

    The drift of a window comes from its first round, where everybody is there and nothing but |g|^2 adds to it.
    """
    eta, rounds = 0.01, 200_000
    clients = Clients(np.ones(1), np.array([[1.0], [-1.0]]), variance, start=np.array([-1 / (2 - eta)]))
    bound = bound_windows(
        windows_of(np.tile([[True, True], [True, False]], (rounds // 2, 1)), 2), eta, constants_of(clients)
    )
    squares = clients.of_sets([np.array([0, 1]), np.array([0])], np.full(2, eta), 1)

    assert squares[0] == pytest.approx(1 / (2 - eta) ** 2)
    assert 0.8 < squares[0] / bound.value <= 1


def test_steps_beyond_the_condition_are_refused() -> None:
    found = windows_of(np.eye(4, dtype=bool), 2)

    with pytest.raises(ValueError, match=r"eta must be in \(0, 0.0625\] \(1/\(8 m L\)\), got 0.1"):
        bound_windows(found, 0.1, UNLIKE)
    with pytest.raises(ValueError, match=r"took_part must be booleans, shape \(n_rounds, n_clients\)"):
        windows_of([[1, 0]], 2)


def test_what_docs_theory_says_of_turns_that_come_round() -> None:
    fleet = Fleet(clients=10, harvest=Bernoulli(0.5))
    constants = Constants(smoothness=1.0, variance=4.0, gap=4.1, heterogeneity=1.0)
    found = {}
    for scheduler, window in (("round-robin", 2), ("myopic", 6)):
        turns = simulate(fleet, SCHEDULERS.make(scheduler), rounds=4000).took_part()
        for rounds in (1, window):
            windows = windows_of(turns, rounds)
            found[scheduler, rounds] = least(windows, constants)

    assert {key: round(value, 2) for key, value in found.items()} == {
        ("round-robin", 1): 1.11,
        ("round-robin", 2): 0.10,
        ("myopic", 1): 1.09,
        ("myopic", 6): 0.52,
    }


def least(windows: Windows, constants: Constants) -> float:
    """Return the bound with the best step size."""
    bound = partial(bound_windows, windows, constants=constants)
    return bound(best_factor(lambda eta: bound(eta).value, windows.largest_step(1.0))).value
