"""B from updates and from curves: known values come back, and intervals are what they should be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ehfl.analysis import Arm, Trial
from ehfl.analysis.noise_scale import NoiseScale, from_updates
from ehfl.analysis.one_curve import from_curves
from made_laws import ETA, lawful_arm, logged
from made_trials import made_trial

ALL = np.array([math.nan])


def rising(p: float) -> float:
    return p / 10


def concave(p: float) -> float:
    return 1 - math.exp(-p)


def test_b_from_updates_by_hand() -> None:
    # Q - S/n = 5 - 4/4 = 4, so that B_0 = 1; to first order a round takes 4 / 0.1 = 40 from the loss; it fell by 20.
    # E = 1/2, so k (1 + 1/4) = 1/2: k = 0.4 and B = 0.4 / 0.6.
    trial = logged(made_trial("a", 0, [0.1] * 3, [4, 4, 4]), [5.0] * 3, [4.0] * 3, [90.0, 70.0, 50.0])

    found = from_updates(Arm("a", (trial,)), ALL)
    assert found is not None
    assert found.value == pytest.approx(2 / 3) and found.participants == 4.0
    assert found.estimate.low is None  # one seed

    small = logged(
        trial, [5.0] * 3, [4.0] * 3, [130.0, 90.0, 50.0]
    )  # all of it: steps so small that noise costs nothing
    found = from_updates(Arm("a", (small,)), ALL)
    assert found is not None and found.value == 0.0

    more = logged(trial, [5.0] * 3, [4.0] * 3, [140.0, 95.0, 50.0])  # by chance even more than all
    found = from_updates(Arm("a", (more,)), ALL)
    assert found is not None and found.found < 0 and found.value == 0.0


def test_what_comes_after_the_goal_does_not_count() -> None:
    made = made_trial("a", 0, [0.1] * 4, [4] * 4)
    trial = logged(made, [5.0, 5.0, 1.0, 1.0], [4.0, 4.0, 90.0, 90.0], [90.0, 70.0, 70.0, 70.0])

    found = from_updates(Arm("a", (trial,)), np.array([1.5]))
    assert found is not None and found.value == pytest.approx(2 / 3)


def test_a_round_with_one_participant_has_the_spread_of_others() -> None:
    # Q - S/n is 8 - 4/1 = 4 in the second round too, as if its spread were 4.
    trial = logged(made_trial("a", 0, [0.1] * 3, [4, 1, 4]), [5.0, 8.0, 5.0], [4.0, None, 4.0], [90.0, 70.0, 50.0])

    found = from_updates(Arm("a", (trial,)), ALL)
    assert found is not None
    n = 3.0  # participants, mean
    assert found.value == pytest.approx(0.5 / (0.5 + 1 / n))


def test_updates_in_which_noise_drowns_what_they_share_have_no_largest_b() -> None:
    trial = logged(made_trial("a", 0, [0.1] * 2, [2, 2]), [1.0] * 2, [3.0] * 2, [1.0, 1.0])

    found = from_updates(Arm("a", (trial,)), ALL)
    assert found is not None and found.value == math.inf


@pytest.mark.parametrize("counts", [[1, 1, 1], [0, 0, 0]])
def test_one_participant_a_round_has_no_spread(counts: list[int]) -> None:
    alone = Arm("a", (logged(made_trial("a", 0, [0.1] * 3, counts), [1.0] * 3, [None] * 3, [1.0] * 3),))

    assert from_updates(alone, ALL) is None


def test_b_from_sgd_on_a_quadratic() -> None:
    """f = L |x|^2 / 2 in 50 dimensions, one step a round: E is 1 - k (1 + B_0/n) exactly in expectation, k = L eta / 2.

    |g_t|^2 = L^2 |x_t|^2 falls, and the noise with it (its variance is B_0 |g_t|^2), so that B_0 is that of all rounds.
    """
    n, rounds, seeds, dimension, L, eta, gradients = 4, 40, 6, 50, 1.0, 0.4, 3.0
    trials = [_on_quadratic(seed, n, rounds, dimension, L, eta, gradients) for seed in range(seeds)]
    found = from_updates(Arm("a", tuple(trials)), np.full(seeds, math.nan))
    assert found is not None

    k = L * eta / 2
    expected = gradients * k / (1 - k)
    low, high = found.estimate.low, found.estimate.high
    assert low is not None and high is not None
    assert low < expected < high and (high - low) < 0.6 * expected


def _on_quadratic(
    seed: int, n: int, rounds: int, dimension: int, smoothness: float, eta: float, gradients: float
) -> Trial:
    rng, x = np.random.default_rng(seed), np.ones(50)
    squares, spreads, losses = [], [], []
    for _ in range(rounds):
        gradient = smoothness * x
        noise = rng.standard_normal((n, dimension)) * math.sqrt(gradients * float(gradient @ gradient) / dimension)
        updates = -eta * (gradient + noise)
        mean = updates.mean(axis=0)
        losses.append(smoothness * float(x @ x) / 2)
        squares.append(float(mean @ mean))
        spreads.append(float(((updates - mean) ** 2).sum() / (n - 1)))
        x = x + mean
    return logged(made_trial("a", seed, {rounds: 0.5}, [n] * rounds, eta), squares, spreads, losses)


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, 7.0, 60.0, math.inf])
def test_curves_that_follow_the_law_give_its_b(scale: float) -> None:
    best, slower = (lawful_arm(f"n{n}", [n] * 60, scale, rising, every=5) for n in (5, 1))

    found = from_curves(best, slower)
    assert found is not None and found.until == 20
    assert found.value == pytest.approx(scale, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_a_curve_need_not_be_straight_nor_participation_steady(scale: float) -> None:
    best = lawful_arm("best", [4, 6, 5] * 40, scale, concave)
    slower = lawful_arm("slower", [0, 1, 2, 1] * 30, scale, concave)

    found = from_curves(best, slower)
    assert found is not None and found.value == pytest.approx(scale, rel=0.01)


def test_b_from_noisy_curves() -> None:
    """The slower arm's metric at round t is c t R(B) with R = (1 + B/5)/(1 + B): B is off by the noise over c t R'."""
    scale, noise, seeds = 1.5, 0.004, 4
    best, slower = (lawful_arm(f"n{n}", [n] * 90, scale, rising, seeds=seeds, every=3, noise=noise) for n in (5, 1))
    found = from_curves(best, slower)
    assert found is not None

    pace = ETA / (1 + scale / 5) / 10  # c, the metric that the best arm gains a round
    slopes = pace * np.arange(3, 31, 3) * (1 - 1 / 5) / (1 + scale) ** 2  # c t |R'(B)|
    error = math.sqrt(2 * noise**2 / seeds / float((slopes**2).sum()))  # both curves are noisy
    assert found.value == pytest.approx(scale, abs=4 * error)
    low, high = found.estimate.low, found.estimate.high
    assert low is not None and high is not None
    # 3.182 is Student's t of 3. An error from 4 seeds is within these of the true one with a chance of 99.6 %.
    assert 0.1 < (high - low) / 2 / (3.182 * error) < 2.2


def test_curves_that_share_too_few_evaluations_say_nothing() -> None:
    best, slower = (lawful_arm(f"n{n}", [n] * 30, 1.0, rising, every=5) for n in (5, 1))

    assert from_curves(best, slower) is None  # two of them in the first third, and the first model


def test_the_interval_of_b_may_reach_both_ends() -> None:
    unsure = NoiseScale(5.0, {0: 0.0, 1: math.inf}, 5.0, "", ())

    assert (unsure.estimate.low, unsure.estimate.high) == (0.0, math.inf)


def test_the_interval_of_b_is_that_of_its_share() -> None:
    # shares 1/2 without either seed but 0.48 and 0.52: standard error 0.02, Student's t of one degree is 12.706
    sure = NoiseScale(5.0, {0: 5 / 0.48 - 5, 1: 5 / 0.52 - 5}, 5.0, "", ())

    half = 12.706 * 0.02
    assert sure.estimate.low == pytest.approx(5 / (0.5 + half) - 5, rel=1e-3)
    assert sure.estimate.high == pytest.approx(5 / (0.5 - half) - 5, rel=1e-3)
