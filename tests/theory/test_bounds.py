"""The bounds: values by hand, the errata shown, the corrected forms holding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl import Bernoulli, Fleet, Greedy, Myopic, RoundRobin, simulate
from ehfl.randomness import Purpose, generator
from ehfl.theory import (
    Constants,
    Extremes,
    Quadratic,
    Theorem,
    best_along,
    bound,
    bound_slowdown,
    largest_eta,
    largest_step,
    leading_order,
    promise,
    theorem1,
    theorem2,
)
from ehfl.theory.bounds.alike import rounds_alike
from ehfl.theory.bounds.descent import Deviation, Rounds
from ehfl.theory.problems import gradient_squares

UNIT = Constants(smoothness=1.0, variance=1.0, gap=1.0)


def realised(counts: object, etas: object, K: int = 1, constants: Constants = UNIT) -> float:
    return bound(
        np.asarray(counts),
        np.asarray(etas),
        local_steps=K,
        smoothness=constants.smoothness,
        variance=constants.variance,
        gap=constants.gap,
    )


def test_realised_bound_for_one_local_step_by_hand() -> None:
    # weights 0.5 - 0.125 = 0.375 and 0.25 - 0.03125 = 0.21875; noise 0.25 / (2 * 2) and 0.0625 / (2 * 1)
    value = realised([2, 0, 1], [0.5, 0.9, 0.25])

    assert value == pytest.approx((1 + 0.0625 + 0.03125) / (0.375 + 0.21875), rel=1e-14)


def by_hand(theta: float) -> float:
    """Return theorem A for K = 2, L = s2 = Delta = 1, one round of four clients, eta = 1/16, so that k = 1/8."""
    weight = 2 / 16 * (1 - 1 / 16 - 7 / 16 * theta - (7 / 16 / theta + 1 / 16) * 3.52 * 2 / 256)
    noise = 2 / 256 / (2 * 4) + 2 / 4096 * (0.44 * (7 / 8 / theta + 1 / 8) + 4 / 7 / 4)
    return (1 + noise) / weight


def test_realised_bound_for_two_local_steps_is_the_least_over_theta_by_hand() -> None:
    value = realised([4], [1 / 16], K=2)

    thetas = np.linspace(0.1, 1, 10_000)
    assert value == pytest.approx(min(by_hand(theta) for theta in thetas), rel=1e-8)
    assert value < 0.75 * by_hand(1.0)


def test_with_theta_one_the_weights_are_half_the_steps_less_the_drift() -> None:
    # K = 2, eta = 1/16: weight 1/16 - 3.52 * 2 / 4096; noise 2/256/(2*4) + 2/4096 * (0.44 + 4/7/4)
    gain, cost = rounds_alike(np.array([4.0]), np.array([1 / 16]), 2, UNIT).gain_and_cost(1.0)

    assert gain[0] == pytest.approx(1 / 16 - 7.04 / 4096, rel=1e-14)
    assert cost[0] == pytest.approx(1 / 1024 + 2 / 4096 * (0.44 + 1 / 7), rel=1e-14)


def test_no_bias_is_lost_where_theta_one_says_nothing() -> None:
    """In round 1 a variance that goes with |g|^2 leaves theta = 1 no weight; round 0 has a bias that does not."""
    deviation = Deviation(np.array([0.0, 0.01]), np.array([1.0, 0.0]), np.array([0.0, 11.0]))
    rounds = Rounds(np.full(2, 0.1), 1, 1.0, deviation)
    assert rounds.gain_and_cost(1.0)[0][1] < 0

    found = []
    for thetas in product(np.linspace(0.05, 1, 96), repeat=2):
        gain, cost = rounds.gain_and_cost(np.array(thetas))
        found.append((1 + cost.sum()) / gain.sum() if gain.min() >= 0 else math.inf)
    assert min(found) * 0.999 < rounds.bound(1.0).value <= min(found)


def test_theorem_1_by_hand() -> None:
    extremes, constants = Extremes(n_min=4, n_max=9, rounds=100), Constants(smoothness=2.0, variance=3.0, gap=5.0)

    assert theorem1(extremes, 0.5, constants) == pytest.approx((5 + 0.75) / (10 - 1), rel=1e-14)
    assert theorem1(extremes, 0.5, constants, printed=True) == pytest.approx((5 + 3) / (10 - 1), rel=1e-14)


def test_theorem_2_by_hand() -> None:
    extremes, constants = Extremes(n_min=4, n_max=4, rounds=100), Constants(smoothness=1.0, variance=3.0, gap=5.0)
    eta, K = 0.03, 2
    below = 0.6 - math.sqrt(30) * 2 * 0.0009 * 4
    drift = 5 * 2 * 3 * 0.03**3 * 8

    corrected = (5 + 3 * 0.0009) / below + drift / (10 * below)
    printed = (5 + 3 * 0.0009) / below + drift / (0.6 - math.sqrt(30) * 2 * 0.0009 * 4 * 10)
    assert theorem2(extremes, eta, K, constants) == pytest.approx(corrected, rel=1e-14)
    assert theorem2(extremes, eta, K, constants, printed=True) == pytest.approx(printed, rel=1e-14)


def test_erratum_1_the_printed_theorem_1_is_violated_and_the_corrected_one_is_tight() -> None:
    # f = |x|^2 / 2 from its minimum with eta_t = 1/L: x_{t+1} is the mean noise, so E|grad|^2 = s2/n from round 1 on.
    n, T, s2 = 5, 2000, 4.0
    extremes, constants = Extremes(n, n, T), Constants(1.0, s2, gap=0.0)
    eta = largest_eta(extremes, 1, 1.0)
    problem = Quadratic(np.ones(10), variance=s2)
    squares = gradient_squares(
        problem, np.zeros(10), np.full(T, n), np.ones(T), 1, seeds=50, rng=generator(0, Purpose.BATCHES)
    )

    measured = squares.mean()
    # |mean noise|^2 has variance 2 (s2/n)^2 / d; T * 50 independent values
    tolerance = 5 * (s2 / n) * math.sqrt(2 / 10 / (T * 50))
    assert measured == pytest.approx(s2 / n * (T - 1) / T, abs=tolerance)
    assert theorem1(extremes, eta, constants, printed=True) < measured / 100
    assert theorem1(extremes, eta, constants) == pytest.approx(s2 / n)


@pytest.mark.parametrize("rounds", [10**3, 10**6, 10**9])
def test_erratum_2_with_the_remarks_eta_the_noise_does_not_vanish(rounds: int) -> None:
    extremes, constants = Extremes(n_min=2, n_max=8, rounds=rounds), Constants(3.0, 5.0, gap=0.0)
    eta = largest_eta(extremes, 1, 3.0)

    r = 2 / 8
    assert theorem1(extremes, eta, constants) == pytest.approx(5 / (8 * (2 * math.sqrt(r) - r)))


def test_errata_3_and_4_beyond_the_printed_condition_only_the_corrected_theorem_2_holds() -> None:
    extremes = Extremes(n_min=5, n_max=5, rounds=400)
    tight, wide = (largest_eta(extremes, 5, 1.0, printed=printed) for printed in (True, False))

    assert wide == pytest.approx(tight * math.sqrt(400))
    assert theorem2(extremes, wide, 5, UNIT, printed=True) == math.inf
    assert theorem2(extremes, wide, 5, UNIT) < math.inf
    # and where both say something, the print is the looser: its last term lacks a factor of about sqrt(T)
    assert theorem2(extremes, tight, 5, UNIT) < theorem2(extremes, tight, 5, UNIT, printed=True)


def test_erratum_3_under_its_own_condition_the_printed_theorem_2_is_true_but_loose() -> None:
    for n_min, n_max, T in ((1, 1, 2), (1, 9, 400), (5, 5, 10_000)):
        extremes = Extremes(n_min, n_max, T)
        for share in (0.01, 0.5, 1.0):
            eta = share * largest_eta(extremes, 5, 1.0, printed=True)
            assert theorem2(extremes, eta, 5, UNIT) < theorem2(extremes, eta, 5, UNIT, printed=True) < math.inf


def test_erratum_4_under_the_printed_condition_more_clients_hardly_help() -> None:
    """The figures that docs/theory.md quotes."""

    def best(n: int, printed: bool) -> float:
        extremes = Extremes(n, n, 10_000)
        shares = np.geomspace(1e-3, 1, 1000)
        etas = largest_eta(extremes, 5, 1.0, printed=printed) * shares
        return min(theorem2(extremes, eta, 5, UNIT, printed=printed) for eta in etas.tolist())

    assert [best(n, printed=True) for n in (1, 100)] == pytest.approx([0.2205, 0.2204], abs=5.1e-5)
    assert [best(n, printed=False) for n in (1, 100)] == pytest.approx([0.0158, 0.0086], abs=5.1e-5)


def test_the_printed_theorem_2_is_promised_with_an_eta_that_it_allows() -> None:
    kept = promise([5] * 400, 5, UNIT)

    assert kept.eta > kept.eta_printed == kept.largest_eta_printed
    assert kept.best < kept.corrected < kept.printed < math.inf


def test_erratum_5_the_papers_own_experiment_has_an_empty_first_round() -> None:
    played = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Myopic(), rounds=400, seed=0)
    extremes = Extremes(int(played.counts.min()), int(played.counts.max()), 400)

    assert extremes.n_min == 0
    assert theorem1(extremes, 0.1, UNIT) == theorem1(extremes, 0.1, UNIT, printed=True) == math.inf
    assert realised(played.counts, Theorem(1.0)(played.counts)) < math.inf


def path(x: float, eta: float, noises: Sequence[float], gradient: Callable[[float], float]) -> tuple[float, float]:
    """Return a client's sum of noisy gradients, and of true ones, along its steps."""
    noisy = true = 0.0
    for zeta in noises:
        slope = gradient(x)
        noisy, true = noisy + slope + zeta, true + slope
        x -= eta * (slope + zeta)
    return noisy, true


def test_erratum_6_noise_and_later_gradients_are_not_independent() -> None:
    # f(x) = -x^2/2 from 0, one client, K = 2, noise +-1: all four paths
    eta = 1 / 16
    sums = [path(0.0, eta, noises, lambda x: -x) for noises in product((-1.0, 1.0), repeat=2)]
    of_noisy, of_true = (np.mean(np.square(column)) for column in zip(*sums, strict=True))

    assert of_noisy == pytest.approx((1 + eta) ** 2 + 1)
    assert of_noisy > 2 + of_true  # (b4) claims equality
    assert of_noisy <= 2 * (1 + 8 / 7 * eta) + of_true


@given(
    curvatures=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    slopes=st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
    start=st.floats(-3, 3),
    share=st.floats(0.05, 1.0),
    shape=st.sampled_from([(1, 1), (1, 3), (2, 2), (2, 3), (3, 1), (3, 2), (5, 1)]),
    theta=st.floats(0.01, 1.0),
)
@settings(max_examples=150, deadline=None)
def test_theorem_a_holds_in_one_round_for_noise_that_depends_on_the_point_and_for_every_theta(
    curvatures: tuple[float, float],
    slopes: tuple[float, float],
    start: float,
    share: float,
    shape: tuple[int, int],
    theta: float,
) -> None:
    # Two samples, l_k(x) = a_k x^2/2 + b_k x with |a_k| <= 1 = L, equally likely: all outcomes of a round are tried.
    K, n = shape
    eta = share * largest_step(K, 1.0)
    a, b = np.mean(curvatures), np.mean(slopes)
    spread = [start]  # all points visited, for the largest variance met
    ends: list[list[float]] = []
    for draws in product((0, 1), repeat=K):
        x = start
        for k in draws:
            x -= eta * (curvatures[k] * x + slopes[k])
            spread.append(x)
        ends.append([x])
    means = [np.mean(chosen) for chosen in product([end[0] for end in ends], repeat=n)]
    after = np.mean([a * x**2 / 2 + b * x for x in means])
    half_gap = [(curvatures[0] - curvatures[1]) * x / 2 + (slopes[0] - slopes[1]) / 2 for x in spread]
    constants = Constants(1.0, max(1e-50, float(np.max(np.square(half_gap)))), 1.0)

    one, step = np.array([float(n)]), np.array([eta])
    gain, cost = rounds_alike(one, step, K, constants).gain_and_cost(theta)
    assert after <= a * start**2 / 2 + b * start - gain[0] * (a * start + b) ** 2 + cost[0] + 1e-12


def with_the_papers_constants(counts: np.ndarray, etas: np.ndarray, K: int) -> float:
    n, eta = counts[counts > 0], etas[counts > 0]
    weight = K / 2 * (eta - 30 * K**2 * eta**3)
    return float((1 + (2.5 * K**2 * eta**3 + K * eta**2 / (2 * n)).sum()) / weight.sum())


def test_the_realised_bound_is_tighter_than_with_the_papers_constants() -> None:
    counts = np.array([5, 3, 0, 8])
    etas = np.where(counts > 0, largest_step(5, 1.0) / 2, 0.0)

    assert realised(counts, etas, 5) < with_the_papers_constants(counts, etas, 5)


def with_theta_one(counts: np.ndarray, etas: np.ndarray, K: int) -> float:
    gain, cost = rounds_alike(counts.astype(float), etas, K, UNIT).gain_and_cost(1.0)
    return float((1 + cost.sum()) / gain.sum())


@pytest.mark.parametrize(
    ("ours", "times"), [(with_theta_one, (1.77, 2.28, 1.16)), (realised, (2.51, 3.23, 1.96))], ids=["theta 1", "best"]
)
def test_how_much_tighter_depends_on_the_steps(
    ours: Callable[[np.ndarray, np.ndarray, int], float], times: tuple[float, float, float]
) -> None:
    """The figures that docs/theory.md quotes: each with its best constant step, at the largest and at half of that."""
    counts = np.full(400, 5)
    steps = [np.full(400, share * largest_step(5, 1.0)) for share in np.linspace(0.01, 1, 500)]
    mine, papers = ([of(counts, etas, 5) for etas in steps] for of in (ours, with_the_papers_constants))
    half = np.full(400, largest_step(5, 1.0) / 2)

    found = (
        min(papers) / min(mine),
        papers[-1] / mine[-1],
        with_the_papers_constants(counts, half, 5) / ours(counts, half, 5),
    )
    assert found == pytest.approx(times, abs=0.005)


@pytest.mark.parametrize("K", [1, 5])
def test_with_a_constant_number_of_participants_the_realised_bound_is_at_most_the_theorem(K: int) -> None:
    counts = np.full(300, 4)
    extremes = Extremes(4, 4, 300)
    eta = largest_eta(extremes, K, 1.0) / 3
    ours = realised(counts, Theorem(eta)(counts), K)
    theirs = theorem1(extremes, eta, UNIT) if K == 1 else theorem2(extremes, eta, K, UNIT)

    assert ours == pytest.approx(theirs, rel=1e-12) if K == 1 else ours < theirs


@given(
    counts=st.lists(st.integers(0, 12), min_size=1, max_size=40).filter(any),
    share=st.floats(0.01, 1.0),
    K=st.sampled_from([1, 2, 5]),
    grown=st.integers(0, 39),
)
@settings(max_examples=60, deadline=None)
def test_realised_bound_is_monotone_in_each_argument(counts: list[int], share: float, K: int, grown: int) -> None:
    n_t = np.array(counts)
    etas = np.where(n_t > 0, share * largest_step(K, 2.0), 0.0)
    base = realised(n_t, etas, K)

    assert realised(n_t, etas, K, Constants(1.0, 2.0, 1.0)) >= base
    assert realised(n_t, etas, K, Constants(1.0, 1.0, 2.0)) > base
    assert realised(n_t, etas, K, Constants(2.0, 1.0, 1.0)) >= base
    more = n_t.copy()
    more[np.flatnonzero(n_t)[grown % np.count_nonzero(n_t)]] += 1
    assert realised(more, etas, K) < base


def test_no_participants_at_all_is_an_infinite_bound() -> None:
    assert realised([0, 0], [0.0, 0.0]) == math.inf


@pytest.mark.parametrize(
    ("K", "allowed"),
    [(1, r"etas must be in \[0, 0.5\] \(1/L\)"), (5, r"etas must be in \[0, 0.0125\] \(1/\(8 K L\)\)")],
)
def test_a_step_beyond_the_condition_is_refused_with_the_largest_allowed(K: int, allowed: str) -> None:
    with pytest.raises(ValueError, match=allowed):
        bound([3], [0.6], local_steps=K, smoothness=2.0, variance=1.0, gap=1.0)
    with pytest.raises(ValueError, match=r"eta must be in \(0, 5\], got 5.1"):
        theorem1(Extremes(4, 4, 100), 5.1, UNIT)


@pytest.mark.parametrize(
    "arguments",
    [
        {"smoothness": 0.0},
        {"variance": -1.0},
        {"gap": math.nan},
        {"local_steps": 0},
        {"smoothness": 1e60},
        {"etas": [0.1, 0.1]},
        {"etas": [-0.1]},
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object]) -> None:
    good: dict[str, object] = {"local_steps": 1, "smoothness": 1.0, "variance": 1.0, "gap": 1.0, "etas": [0.1]}

    with pytest.raises(ValueError, match=next(iter(arguments))):
        bound([3], **(good | arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize("scheduler", [Myopic(), Greedy(), RoundRobin()], ids=repr)
@pytest.mark.parametrize("K", [1, 5])
def test_the_realised_bound_accepts_every_participation(scheduler: Myopic | Greedy | RoundRobin, K: int) -> None:
    counts = simulate(Fleet(clients=10, harvest=Bernoulli(0.5), capacity=1), scheduler, rounds=100, seed=1).counts
    etas = np.full(100, largest_step(K, 1.0))

    assert 0 < realised(counts, etas, K) < math.inf


@pytest.mark.parametrize("counts", [[], [-1], [0.5], [math.nan], [[1]]])
def test_what_cannot_be_counts_is_refused(counts: list[float]) -> None:
    with pytest.raises(ValueError, match="counts must be whole numbers >= 0, one a round"):
        bound(counts, [0.1] * len(counts), local_steps=1, smoothness=1.0, variance=1.0, gap=1.0)


def test_theorem_2_is_for_more_than_one_local_step() -> None:
    with pytest.raises(ValueError, match=r"local_steps must be a whole number in \[2, 1000000000\], got 1"):
        theorem2(Extremes(5, 5, 100), 0.01, 1, UNIT)


def test_erratum_7_steps_that_go_as_the_root_do_not_minimise_either_bound() -> None:
    counts = np.array([1, 4, 9, 4] * 50)
    constants = Constants(1.0, 1.0, 1.0)
    root = best_along("sqrt", counts, 1, constants)

    # the bound by n_min: (Delta + noise) / (T w(eta_min)), with the same eta_min a constant step has less noise
    flat = np.full(200, root.min())
    costs = [
        rounds_alike(counts.astype(float), etas, 1, constants).gain_and_cost(0.0)[1].sum() for etas in (flat, root)
    ]
    assert costs[0] < costs[1]
    # what it does minimise, round by round: Delta / (T eta_t) + L s2 eta_t / (2 n_t), at sqrt(2 Delta n_t / (T L s2))
    etas = np.geomspace(1e-3, 10, 40_001)
    for n in (1, 4, 9):
        surrogate = 1 / (200 * etas) + etas / (2 * n)
        assert etas[surrogate.argmin()] == pytest.approx(math.sqrt(2 * n / 200), rel=1e-3)
    # the realised bound: steps linear in n_t do better
    assert realised(counts, best_along("linear", counts, 1, constants)) < realised(counts, root)


def test_slowdown_needs_steady_mains() -> None:
    kept = promise([3, 3], 1, UNIT)

    with pytest.raises(ValueError, match="mains must be the same in every round"):
        bound_slowdown(kept, [1, 9], 1, UNIT)


# to leading order


def test_leading_order_by_hand() -> None:
    assert leading_order([2, 0, 1], [0.4, 0.9, 0.2]) == pytest.approx(math.sqrt(0.08 + 0.04) / 0.6)
    assert leading_order([0, 0], [0.1, 0.1]) == math.inf


@pytest.mark.parametrize("rule", ["constant", "sqrt", "linear"])
def test_leading_order_is_what_the_best_bounds_of_many_rounds_differ_by(rule: str) -> None:
    even, uneven = np.full(500_000, 5), np.tile([0, 9, 1, 8], 125_000)
    etas = [best_along(rule, n_t, 1, UNIT) for n_t in (even, uneven)]

    # the best bound exceeds its leading order by a share of L sum eta^2 / (2 sum eta) at either end
    tolerance = sum(float((eta**2).sum() / eta.sum()) for eta in etas)
    assert tolerance < 0.02
    ratio = realised(uneven, etas[1]) / realised(even, etas[0])
    assert leading_order(uneven, etas[1]) / leading_order(even, etas[0]) == pytest.approx(ratio, rel=tolerance)


rounds_of = st.lists(st.tuples(st.integers(0, 20), st.floats(1e-3, 1.0)), min_size=1, max_size=12)


@given(rounds=rounds_of, scale=st.floats(1e-3, 1e3))
def test_leading_order_does_not_know_the_scale_of_the_steps(rounds: list[tuple[int, float]], scale: float) -> None:
    n_t, eta_t = (np.array(column) for column in zip(*rounds, strict=True))

    assert leading_order(n_t, scale * eta_t) == pytest.approx(leading_order(n_t, eta_t))
    assert leading_order(4 * n_t, eta_t) == pytest.approx(leading_order(n_t, eta_t) / 2)
    assert leading_order(np.tile(n_t, 9), np.tile(eta_t, 9)) == pytest.approx(leading_order(n_t, eta_t) / 3)


@given(rounds=rounds_of)
def test_no_steps_do_better_to_leading_order_than_those_that_go_as_the_participants(
    rounds: list[tuple[int, float]],
) -> None:
    n_t, eta_t = (np.array(column) for column in zip(*rounds, strict=True))
    linear = leading_order(n_t, n_t.astype(float))

    assert leading_order(n_t, eta_t) >= linear * (1 - 1e-12)
    assert linear == pytest.approx(1 / math.sqrt(n_t.sum()) if n_t.any() else math.inf)


def test_the_leading_order_wants_one_step_size_a_round_and_whole_local_steps() -> None:
    with pytest.raises(ValueError, match=r"etas must be one step size a round, shape \(2,\), got shape \(1,\)"):
        leading_order([1, 2], [0.1])
    with pytest.raises(ValueError, match=r"local_steps must be a whole number in \[1, 1000000000\], got 0"):
        leading_order([1], [0.1], 0)
