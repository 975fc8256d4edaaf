"""Bounds for unlike data, beside what can be computed exactly, and sharp where they are said to be."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.theory import (
    Bound,
    Constants,
    bound_alike,
    bound_any,
    bound_independent,
    bound_inverse_probability,
    bound_uniform,
    independent_sets,
    largest_step,
)
from ehfl.theory.bounds.unlike import largest_step_of, variance_share
from ehfl.theory.participants import independent_weights

from .exact import Clients


def weighted(bound: Bound, squares: np.ndarray) -> float:
    return float(bound.weights @ squares / bound.weights.sum())


def constants_of(clients: Clients) -> Constants:
    return Constants(1.0, clients.variance, max(clients.gap, 1e-50), clients.heterogeneity)


@st.composite
def some_clients(draw: st.DrawFn, most: int = 5) -> Clients:
    """Clients of a quadratic with L = 1, with a mean of 0 over their offsets."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dimension, n = draw(st.integers(1, 3)), draw(st.integers(1, most))
    curvature = np.append(rng.uniform(0.01, 1, dimension - 1), 1.0)
    offsets = draw(st.sampled_from([0.0, 0.1, 1.0, 10.0])) * rng.standard_normal((n, dimension))
    offsets -= offsets.mean(axis=0)
    variance = draw(st.sampled_from([0.0, 0.1, 1.0, 10.0]))
    return Clients(
        curvature, offsets, variance, draw(st.sampled_from([0.0, 0.3, 3.0])) * rng.standard_normal(dimension)
    )


# the lemma on sets


@given(clients=some_clients(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_set_of_participants_is_at_most_so_far_from_all(clients: Clients, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, clients.n))
    for members in combinations(range(clients.n), n):
        away = float((clients.offsets[list(members)].mean(axis=0) ** 2).sum())
        assert away <= clients.heterogeneity * (clients.n - n) / n * (1 + 1e-9) + 1e-12


def test_the_distance_of_a_set_is_attained_where_its_members_agree() -> None:
    offsets = np.array([3.0, 3.0, -2.0, -2.0, -2.0])  # which add up to 0
    zeta2 = float((offsets**2).mean())

    assert offsets[:2].mean() ** 2 == pytest.approx(zeta2 * 3 / 2)
    assert offsets[2:].mean() ** 2 == pytest.approx(zeta2 * 2 / 3)


def test_uniformly_drawn_sets_have_exactly_the_stated_variance() -> None:
    rng = np.random.default_rng(1)
    offsets = rng.standard_normal((6, 3))
    offsets -= offsets.mean(axis=0)
    zeta2 = float((offsets**2).sum(axis=1).mean())

    for n in range(1, 7):
        means = [offsets[list(s)].mean(axis=0) for s in combinations(range(6), n)]
        assert np.mean([(m**2).sum() for m in means]) == pytest.approx(zeta2 * (6 - n) / (5 * n))


# the theorems, whatever the problem


@given(clients=some_clients(), K=st.sampled_from([1, 2, 5]), share=st.floats(0.05, 1.0), seed=st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_the_bound_for_any_sets_holds(clients: Clients, K: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = [rng.permutation(clients.n)[: rng.integers(0, clients.n + 1)] for _ in range(12)] + [np.array([0])]
    counts = np.array([members.size for members in sets])
    etas = share * rng.uniform(0.2, 1, counts.size) * largest_step(K, 1.0)

    bound = bound_any(counts, etas, clients.n, K, constants_of(clients))
    assert weighted(bound, clients.of_sets(sets, etas, K)) <= bound.value * (1 + 1e-9)


@given(clients=some_clients(), K=st.sampled_from([1, 2, 5]), share=st.floats(0.05, 1.0), seed=st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_the_bound_for_uniform_sets_holds(clients: Clients, K: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, clients.n + 1, 12)
    etas = share * rng.uniform(0.2, 1, counts.size) * largest_step(K, 1.0)

    bound = bound_uniform(counts, etas, clients.n, K, constants_of(clients))
    assert weighted(bound, clients.uniformly(counts, etas, K)) <= bound.value * (1 + 1e-9)


@given(clients=some_clients(most=4), share=st.floats(0.05, 1.0), seed=st.integers(0, 2**32), inverse=st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_bounds_for_independent_participants_hold(clients: Clients, share: float, seed: int, inverse: bool) -> None:
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.05, 1, clients.n)
    limit = largest_step_of(rates, 1.0) if inverse else 1.0
    etas = share * rng.uniform(0.2, 1, 10) * limit
    bound_of = bound_inverse_probability if inverse else bound_independent

    bound = bound_of(rates, etas, constants_of(clients))
    assert weighted(bound, clients.by_chance(rates, etas, inverse=inverse)) <= bound.value * (1 + 1e-9)


@given(
    counts=st.lists(st.integers(0, 6), min_size=1, max_size=20).filter(any),
    K=st.sampled_from([1, 2, 5]),
    share=st.floats(0.01, 1.0),
    variance=st.sampled_from([0.0, 1.0, 7.0]),
)
def test_for_data_alike_all_bounds_are_theorem_a(counts: list[int], K: int, share: float, variance: float) -> None:
    constants = Constants(2.0, variance, 1.0)
    etas = np.full(len(counts), share * largest_step(K, 2.0))
    alike = bound_alike(counts, etas, K, constants).value

    assert bound_any(counts, etas, 6, K, constants).value == pytest.approx(alike)
    assert bound_uniform(counts, etas, 6, K, constants).value == pytest.approx(alike)


@pytest.mark.parametrize("K", [1, 5])
def test_the_more_is_known_of_the_sets_the_smaller_is_the_bound(K: int) -> None:
    constants = Constants(1.0, 1.0, 1.0, heterogeneity=2.0)
    etas = np.full(200, 0.3 * largest_step(K, 1.0))
    drawn, whoever = (of([4] * 200, etas, 10, K, constants).value for of in (bound_uniform, bound_any))

    assert bound_alike([4] * 200, etas, K, constants).value < drawn < whoever
    everybody = bound_any([10] * 200, etas, 10, K, constants).value
    assert everybody == pytest.approx(bound_uniform([10] * 200, etas, 10, K, constants).value)


# sharp: each of these would fail if its constant were a tenth smaller


def test_the_floor_of_any_sets_is_attained_by_those_who_never_change() -> None:
    offsets = np.array([[3.0], [3.0], [-2.0], [-2.0], [-2.0]])
    clients = Clients(np.ones(1), offsets, 0.0, start=np.array([-3.0]))  # where the two first have their minimum
    etas = np.full(20_000, 0.01)
    bound = bound_any([2] * etas.size, etas, 5, 1, constants_of(clients))
    measured = weighted(bound, clients.of_sets([np.array([0, 1])] * etas.size, etas, 1))

    assert measured == pytest.approx(9.0)  # zeta^2 (N - n)/n
    assert 0.99 < measured / bound.value <= 1


def test_the_variance_of_uniform_sets_is_attained_by_the_largest_step() -> None:
    # from the minimum with eta = 1/L the next model is minus the mean offset and noise of the participants
    rng = np.random.default_rng(3)
    offsets = rng.standard_normal((5, 2))
    clients = Clients(np.ones(2), offsets - offsets.mean(axis=0), 1.0, start=np.zeros(2))
    etas = np.ones(500)
    bound = bound_uniform([2] * 500, etas, 5, 1, constants_of(clients))
    measured = weighted(bound, clients.uniformly(np.full(500, 2), etas, 1))

    assert bound.value == pytest.approx((1.0 + clients.heterogeneity * 3 / 4) / 2)
    assert 0.99 < measured / bound.value <= 1


def test_the_variance_of_a_mean_by_chance_is_attained_by_the_largest_step() -> None:
    # as above; in an empty round the model stays where the last participants have left it
    rng, rates = np.random.default_rng(4), np.full(4, 0.3)
    offsets = rng.standard_normal((4, 2))
    clients = Clients(np.ones(2), offsets - offsets.mean(axis=0), 1.0, start=np.zeros(2))
    bound = bound_independent(rates, np.ones(500), constants_of(clients))
    after = clients.by_chance(rates, np.ones(30), inverse=False)
    measured = weighted(bound, np.append(after, np.full(470, after[-1])))  # 0.7^(4 * 30): nobody so far

    sets = independent_sets(rates)
    assert bound.value == pytest.approx(sets.spread * clients.heterogeneity + sets.inverse_count)
    assert 0.99 < measured / bound.value <= 1


def test_the_floor_of_a_mean_under_unequal_rates_is_attained() -> None:
    rates = np.array([0.9, 0.5, 0.2])
    sets = independent_sets(rates)
    away = sets.weights - 1 / 3
    clients = Clients(np.ones(1), away[:, None] / np.linalg.norm(away), 0.0, start=np.zeros(1))
    shift = float(sets.weights @ clients.offsets[:, 0])
    clients = Clients(np.ones(1), clients.offsets, 0.0, start=np.array([-shift]))  # the minimum of sum_i q_i f_i
    etas = np.full(40_000, 5e-4)
    bound = bound_independent(rates, etas, constants_of(clients))
    measured = weighted(bound, clients.by_chance(rates, etas[:1], inverse=False).repeat(etas.size))

    assert shift**2 == pytest.approx(sets.chi_square * clients.heterogeneity)
    assert measured == pytest.approx(shift**2)
    assert 0.9 < measured / bound.value <= 1


def test_the_variance_of_inverse_probabilities_is_attained_where_the_rarest_client_has_the_gradient() -> None:
    """Gradients (4, 0, 0, 0) at x = 1: g = 1, zeta^2 = 3; the first client takes part in a fifth of the rounds."""
    rates, offsets = np.array([0.2, 1.0, 1.0, 1.0]), np.array([[3.0], [-1.0], [-1.0], [-1.0]])
    clients = Clients(np.ones(1), offsets, 0.0, start=np.ones(1))
    v = variance_share(rates)
    eta = largest_step_of(rates, 1.0)
    after = clients.by_chance(rates, np.array([eta, eta]), inverse=True)[1]

    # E|M|^2 = 0.2 * (4 / 0.2 / 4)^2 = 5, all that v allows
    assert pytest.approx(1 + v * (1 + clients.heterogeneity)) == 5
    assert after == pytest.approx(1 - 2 * eta + 5 * eta**2)
    gain, cost = eta - eta**2 / 2 * (1 + v), eta**2 / 2 * v * clients.heterogeneity
    assert after / 2 == pytest.approx(clients.gap - gain + cost)  # the lemma of one round, with equality
    assert bound_inverse_probability(rates, [eta], constants_of(clients)).value == pytest.approx((0.5 + cost) / gain)


# what is by hand


def least_over_theta(k: float, a: float, r: float, v: float, s: float) -> float:
    """Return the lemma of one round by hand, L = Delta = 1 and K eta = k."""
    theta = np.linspace(0.3, 1, 20_000)  # below, a weight may be negative
    c = (1 - k) / (2 * theta) + k / 2
    weight = k * (1 - k / 2 - (1 - k) * theta / 2 - c * a - k / 2 * v)
    return float(((1 + k * (c * r + k / 2 * s)) / weight).min())


def test_bounds_of_unlike_data_for_two_local_steps_by_hand() -> None:
    """K = 2, eta = 1/16, two of three clients, zeta^2 = 40, s2 = 1: C has P = 20, D has V = 10."""
    constants = Constants(1.0, 1.0, 1.0, heterogeneity=40.0)
    drift, share, noise = 0.88 / 256, 3.52 * 2 / 256, 1 / 4 * (1 + 8 / 7 / 16)
    R = drift + share * (20 + 60)
    whoever = least_over_theta(1 / 8, 2 * share * (1 + np.sqrt(20 / R)), (np.sqrt(20) + np.sqrt(R)) ** 2, 0, noise)
    R = drift + share * 40
    drawn = least_over_theta(1 / 8, share, R, share * np.sqrt(10 / R), noise + 10 + 2 * np.sqrt(10 * R))
    everybody = least_over_theta(1 / 8, share, R, 0, 1 / 6 * (1 + 8 / 7 / 16))

    assert bound_any([2], [1 / 16], 3, 2, constants).value == pytest.approx(whoever, rel=1e-6)
    assert bound_uniform([2], [1 / 16], 3, 2, constants).value == pytest.approx(drawn, rel=1e-6)
    assert bound_any([3], [1 / 16], 3, 2, constants).value == pytest.approx(everybody, rel=1e-6)


def test_the_bound_of_a_mean_by_chance_by_hand() -> None:
    # one of two clients in half of the rounds, both in a quarter: w and noise times 3/4; no bias
    constants = Constants(2.0, 3.0, 1.0, heterogeneity=5.0)
    weight, noise = 0.75 * (0.1 - 0.1**2), 0.75 * 0.1**2 * (5 * 2 / 3 + 3 * 5 / 6)

    assert bound_independent([0.5, 0.5], [0.1], constants).value == pytest.approx((1 + noise) / weight)


@pytest.mark.parametrize("small", [1e-3, 1e-9, 1e-18])
def test_rare_clients_come_alone_and_lose_no_digits(small: float) -> None:
    sets = independent_sets([small, small, 2 * small])

    assert sets.not_empty == pytest.approx(4 * small, rel=2 * small)
    assert sets.weights == pytest.approx([1 / 4, 1 / 4, 1 / 2], rel=2 * small)
    # alone, clients have C = diag(q) - q q^T, largest along (1, 1, -2): 3/8
    assert sets.spread == pytest.approx(3 * 3 / 8, rel=2 * small)


def test_independent_sets_by_hand() -> None:
    sets = independent_sets([0.5, 0.5])

    # one of two in half of the rounds, both in a quarter: given that anybody is there, two thirds and one third
    assert sets.not_empty == 0.75
    assert sets.weights == pytest.approx([0.5, 0.5])
    assert sets.inverse_count == pytest.approx(2 / 3 + 1 / 3 / 2)
    assert sets.spread == pytest.approx(2 / 3)  # alone, each is zeta^2 away; together, nothing


@given(rates=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8))
def test_weights_are_those_of_the_audit(rates: list[float]) -> None:
    found = independent_sets(rates)

    assert found.weights == pytest.approx(independent_weights(np.array(rates)))
    assert found.weights.sum() == pytest.approx(1)


def test_equal_rates_make_uniform_sets_so_that_there_is_no_floor() -> None:
    sets = independent_sets([0.4] * 6)
    law = [0.4**n * 0.6 ** (6 - n) * [1, 6, 15, 20, 15, 6, 1][n] / sets.not_empty for n in range(1, 7)]

    assert sets.chi_square == pytest.approx(0, abs=1e-15)
    assert sets.spread == pytest.approx(sum(chance * (6 - n) / (5 * n) for n, chance in enumerate(law, start=1)))


def test_what_inverse_probabilities_cost_by_hand() -> None:
    constants = Constants(2.0, 3.0, 1.0, heterogeneity=5.0)
    # v = (4 - 1)/2 = 1.5, mean of 1/p over N is 2.5/2: weight eta - L eta^2/2 (1 + v)
    eta = 0.1
    weight, noise = eta - eta**2 * 2.5, eta**2 * (1.5 * 5 + 3 * 1.25)

    assert bound_inverse_probability([0.25, 1.0], [eta], constants).value == pytest.approx((1 + noise) / weight)


# bad input


def test_more_participants_than_clients_are_refused() -> None:
    with pytest.raises(ValueError, match=r"counts must be at most 3 \(the clients\), got 4"):
        bound_any([4], [0.1], 3, 1, Constants(1.0, 1.0, 1.0))


@pytest.mark.parametrize(("rates", "got"), [([0.5, 1.5], "1.5 for client 1"), ([], "shape"), ([[0.5]], "shape")])
def test_what_cannot_be_rates_is_refused(rates: list[float], got: str) -> None:
    with pytest.raises(ValueError, match=rf"rates must be numbers in \[0, 1\], one per client.*{got}"):
        independent_sets(rates)


def test_only_pairs_of_clients_ask_for_few_of_them() -> None:
    with pytest.raises(ValueError, match=r"rates must be those of at most 64 clients, got 65 of them"):
        independent_sets([0.5] * 65)
    alike = Constants(1.0, 1.0, 1.0)
    # v = (2 - 1)/1000, mean of 1/p over N is 2/1000
    weight, noise = 0.1 - 0.1**2 / 2 * 1.001, 0.1**2 / 2 * 2 / 1000
    assert bound_inverse_probability([0.5] * 1000, [0.1], alike).value == pytest.approx((1 + noise) / weight)


def test_clients_that_never_take_part_are_refused_where_it_matters() -> None:
    with pytest.raises(ValueError, match="rates must be above 0 for one client at least, got 0 for all"):
        independent_sets([0.0, 0.0])
    with pytest.raises(ValueError, match=r"rates must be numbers in \(0, 1\].*got 0 for client 1"):
        bound_inverse_probability([0.5, 0.0], [0.1], Constants(1.0, 1.0, 1.0))


def test_steps_beyond_the_condition_of_inverse_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match=r"etas must be in \[0, 0.4\] \(1/\(L \(1 \+ v\)\)\), got 0.5"):
        bound_inverse_probability([0.25, 1.0], [0.5], Constants(1.0, 1.0, 1.0))
