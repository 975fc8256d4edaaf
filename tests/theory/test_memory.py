"""Memory: the bound beside gradient descent with old gradients, computed exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.theory import Bound, Constants, KnownProblem, Quadratic, Wells, bound_memory, delays_of
from ehfl.theory.bounds.unlike import largest_step_with_memory


def squares_of(
    problem: KnownProblem, offsets: np.ndarray, start: np.ndarray, turns: np.ndarray, eta: float
) -> np.ndarray:
    """Return |grad f(x_t)|^2 of f_i = f + <d_i, x>, client by client."""
    x, memory, found = start, np.zeros_like(offsets), []
    for took_part in turns:
        found.append(float((problem.gradient(x) ** 2).sum()))
        for client in np.flatnonzero(took_part):
            memory[client] = problem.gradient(x) + offsets[client]
        x = x - eta * memory.mean(axis=0)
    return np.array(found)


def weighted(bound: Bound, squares: np.ndarray) -> float:
    return float(bound.weights @ squares / bound.weights.sum())


@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 5), st.integers(1, 3)),
    rate=st.floats(0.1, 1.0),
    spread=st.sampled_from([0.0, 0.1, 10.0]),
    share=st.floats(0.1, 1.0),
    bowl=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_the_bound_holds_for_whoever_takes_part_whenever(
    seed: int, shape: tuple[int, int, int], rate: float, spread: float, share: float, bowl: bool
) -> None:
    rng, (rounds, clients, dimension) = np.random.default_rng(seed), shape
    turns = rng.random((rounds, clients)) < rate * rng.random(clients)
    turns[0, 0] |= not turns.any()
    curvature = np.append(rng.uniform(0.01, 1, dimension - 1), 1.0)
    problem = Quadratic(curvature, variance=0.0) if bowl else Wells(curvature, variance=0.0)
    offsets = spread * rng.standard_normal((clients, dimension))
    offsets -= offsets.mean(axis=0)
    start = rng.standard_normal(dimension)
    delays, zeta2 = delays_of(turns), float((offsets**2).sum(axis=1).mean())
    constants = Constants(1.0, 0.0, float(problem.loss(start)), zeta2)
    eta = share * largest_step_with_memory(delays, 1.0)

    bound = bound_memory(delays, eta, constants)
    assert weighted(bound, squares_of(problem, offsets, start, turns, eta)) <= bound.value * (1 + 1e-9) + 1e-12


def test_unlike_data_and_unequal_turns_leave_no_floor() -> None:
    turns = np.zeros((4000, 3), dtype=bool)
    turns[:, 0], turns[::4, 1], turns[::10, 2] = True, True, True
    problem, offsets = Quadratic([1.0], variance=0.0), np.array([[4.0], [-1.0], [-3.0]])
    delays = delays_of(turns)
    eta = largest_step_with_memory(delays, 1.0)
    found = squares_of(problem, offsets, np.array([1.0]), turns, eta)

    assert (delays.longest, eta) == (9, 0.1)
    assert found[-100:].max() < 1e-20  # a mean of the participants would stay away by the order of zeta^2
    assert bound_memory(delays, eta, Constants(1.0, 0.0, 0.5, 26 / 3)).value == pytest.approx(2 * 0.5 / (0.1 * 4000))


def test_one_round_of_everybody_attains_the_bound() -> None:
    """With eta = 1/L from x: |g|^2 = L^2 x^2 and 2 Delta / eta = L^2 x^2; a tenth less would be broken."""
    turns, problem = np.ones((1, 2), dtype=bool), Quadratic([2.0], variance=0.0)
    bound = bound_memory(delays_of(turns), 0.5, Constants(2.0, 0.0, float(problem.loss(np.array([3.0])))))

    assert bound.value == pytest.approx(float(problem.gradient(np.array([3.0]))[0] ** 2))


def test_delays_by_hand() -> None:
    turns = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    delays = delays_of(turns)

    assert delays.longest == 3  # the second client's, in the last round
    assert delays.had_turn.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3])


def test_rounds_before_everyone_was_heard_cost_what_unlike_data_make_of_them() -> None:
    turns = np.array([[False, False], [True, False], [False, True]])
    # tau_max = 1; weights 0, 0.05, 0.1; one round with h = 1/2
    bound = bound_memory(delays_of(turns), 0.1, Constants(2.0, 0.0, 1.0, 3.0))

    assert bound.value == pytest.approx((2 + 0.1 * 2 * 3 * 0.5) / 0.15)


def test_what_the_theorem_does_not_cover_is_refused() -> None:
    delays = delays_of(np.array([[True, False], [False, True]]))

    with pytest.raises(ValueError, match=r"variance must be 0 \(the theorem is for exact gradients\), got 1.0"):
        bound_memory(delays, 0.1, Constants(1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match=r"eta must be in \(0, 0.5\] \(1/\(L \(1 \+ 1\)\)\), got 0.6"):
        bound_memory(delays, 0.6, Constants(1.0, 0.0, 1.0))
    with pytest.raises(ValueError, match=r"took_part must be booleans, shape \(n_rounds, n_clients\), got .*int64"):
        delays_of([[1, 0]])


@pytest.mark.parametrize("rounds", [100, 10_000])
def test_a_client_that_is_never_heard_again_leaves_a_floor(rounds: int) -> None:
    """The second of two clients takes part in round 0 alone, so tau = T - 1, and steps may be 1/T at most. With any
    step the mean of memories vanishes at x = -x_0, where f = x^2/2 still has the slope that it had at the start.
    """
    turns = np.zeros((rounds, 2), dtype=bool)
    turns[:, 0], turns[0, 1] = True, True
    problem, offsets, start = Quadratic(np.ones(1), variance=0.0), np.array([[1.0], [-1.0]]), np.array([2.0])
    delays = delays_of(turns)
    limit = largest_step_with_memory(delays, 1.0)

    assert delays.longest == rounds - 1 and limit == pytest.approx(1 / rounds)
    bound = bound_memory(delays, limit, Constants(1.0, 0.0, gap=2.0, heterogeneity=1.0))
    assert bound.value == pytest.approx(4.0)  # 2 Delta L (1 + tau) / T, whatever T is
    assert 1.0 < weighted(bound, squares_of(problem, offsets, start, turns, limit)) <= bound.value
    assert squares_of(problem, offsets, start, turns, 0.2)[-1] == pytest.approx(4.0, rel=1e-3)


def test_delays_by_chance_grow_so_slowly_that_the_bound_vanishes() -> None:
    found = []
    for rounds in (300, 3_000, 30_000):
        delays = delays_of(np.random.default_rng(0).random((rounds, 5)) < 0.2)
        constants = Constants(1.0, 0.0, 1.0, heterogeneity=1.0)
        found.append(bound_memory(delays, largest_step_with_memory(delays, 1.0), constants).value)

    assert found[0] > 4 * found[1] > 16 * found[2]
