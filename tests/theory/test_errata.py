"""What the paper leaves out or concludes too much from (errata 1, 2, 5 and 8 to 12 of docs/theory.md), computed."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

from ehfl import Bernoulli, Fleet, Myopic, simulate
from ehfl.theory import STEP_SIZES, Constants, Extremes, theorem1

UNIT = Constants(smoothness=1.0, variance=1.0, gap=1.0)


@pytest.mark.parametrize(("eta", "holds"), [(0.1, True), (1.0, True), (1.01, False), (5.0, False)])
def test_erratum_1_the_printed_theorem_1_is_below_the_proven_one_only_for_eta_above_1(eta: float, holds: bool) -> None:
    steady = Extremes(n_min=4, n_max=4, rounds=10_000)

    assert (theorem1(steady, eta, UNIT, printed=True) >= theorem1(steady, eta, UNIT)) == holds


@pytest.mark.parametrize("rounds", [100, 10_000, 10**6])
@pytest.mark.parametrize("n_min", [1, 2, 8])
def test_erratum_2_at_the_remarks_eta_the_printed_theorem_1_falls_as_one_over_t(rounds: int, n_min: int) -> None:
    smooth, variance, gap = 3.0, 5.0, 2.0
    extremes = Extremes(n_min, n_max=8, rounds=rounds)
    found = theorem1(extremes, math.sqrt(rounds / 8) / smooth, Constants(smooth, variance, gap), printed=True)

    r = n_min / 8
    expected = smooth * (gap + smooth * variance / 2) / (rounds * (math.sqrt(r) - r / 2))
    assert found == pytest.approx(expected, rel=1e-12)
    # sqrt(r)/2 <= sqrt(r) - r/2 <= sqrt(r): between one and two times sqrt(n_max/n_min)/T, but for constants
    assert 1 <= found * rounds * math.sqrt(r) / (smooth * (gap + smooth * variance / 2)) <= 2


def test_erratum_5_batteries_that_start_with_a_unit_leave_no_round_empty() -> None:
    for initial, empty in ((0, True), (1, False)):
        fleet = Fleet(clients=10, harvest=Bernoulli(0.5), initial=initial)
        for seed in range(4):
            counts = simulate(fleet, Myopic(), rounds=150, seed=seed).counts
            assert (counts.min() == 0) == empty
            assert math.isinf(theorem1(Extremes(int(counts.min()), int(counts.max()), 150), 0.1, UNIT)) == empty


def test_erratum_8_a_mean_of_clients_with_the_same_sample_has_the_variance_of_one() -> None:
    """Noise of +1 or -1 at n = 5 clients, all outcomes: independent it is 1/5, drawn once for all it is 1."""
    apart = np.array(list(itertools.product([1.0, -1.0], repeat=5)))
    together = np.array([[1.0] * 5, [-1.0] * 5])

    assert np.square(apart.mean(axis=1)).mean() == pytest.approx(1 / 5)
    assert np.square(together.mean(axis=1)).mean() == pytest.approx(1.0)


def test_erratum_9_a_plain_mean_of_clients_with_unequal_data_has_another_minimum() -> None:
    """f_1 = x^2/2 with one example, f_2 = (x - 4)^2/2 with three; both take part in every round."""
    minima, examples, x = np.array([0.0, 4.0]), np.array([1, 3]), 3.0
    assert examples @ (x - minima) == 0  # grad f, where the paper's f is smallest
    for _ in range(200):
        x = float(np.mean(x - 0.1 * (x - minima)))

    assert x == pytest.approx(2.0)


def test_erratum_11_the_step_of_a_round_depends_on_the_nine_that_follow() -> None:
    rule = STEP_SIZES.make("nominal:0.15")
    few, many = rule([4] + [1] * 9), rule([4] + [9] * 9)

    assert few.mean() == pytest.approx(0.15) and many.mean() == pytest.approx(0.15)
    assert few[0] == pytest.approx(0.15 * 2 / 1.1) and many[0] == pytest.approx(0.15 * 2 / 2.9)
    causal = STEP_SIZES.make("nominal-causal:0.15")
    assert causal([4] + [1] * 9)[0] == causal([4] + [9] * 9)[0]


def least_counts(target: int, rounds: int) -> tuple[float, float]:
    """Return E n_min over rounds 1, 2, ..., and P(n_t = target) in the last, of three clients with rate 2/3.

    Exactly, by the law of the sorted levels, from empty: P(n_min >= k) is what is left of it where rounds with fewer
    than k participants end a path.
    """
    expected = on_target = 0.0
    for k in range(target + 1):
        law: dict[tuple[int, ...], float] = {(0, 0, 0): 1.0}
        for t in range(rounds):
            following: dict[tuple[int, ...], float] = defaultdict(float)
            reached = 0.0
            for levels, chance in law.items():  # the fullest first
                n = sum(level >= 1 for level in levels[:target])
                reached += chance * (n == target)
                if (t > 0 and n < k) or chance < 1e-12:  # of which there are at most 10^5 a round
                    continue
                left = [level - (place < n) for place, level in enumerate(levels)]
                for harvest in itertools.product([0, 1], repeat=3):
                    after = tuple(sorted(map(sum, zip(left, harvest, strict=True)), reverse=True))
                    following[after] += chance * (2 / 3) ** sum(harvest) * (1 / 3) ** (3 - sum(harvest))
            law = following
        expected += sum(law.values()) if k else 0.0
        on_target = on_target if k else reached
    return expected, on_target


def test_erratum_12_the_target_lambda_in_almost_every_round_does_not_maximise_n_min() -> None:
    """Lambda = 2: with target 2 Myopic meets it ever more often and still has the smaller n_min of 100 rounds."""
    at_lambda, on_target = least_counts(2, rounds=100)
    below, _ = least_counts(1, rounds=100)
    short, _ = least_counts(2, rounds=5)

    # all 2^12 harvests of the first four rounds, which decide five rounds
    assert short == pytest.approx(by_all_harvests(2, rounds=5), rel=1e-12)
    assert (round(at_lambda, 2), round(below, 2), round(100 * on_target)) == (0.71, 0.95, 97)


def by_all_harvests(target: int, rounds: int) -> float:
    """Return the same E n_min as a sum over all harvests."""
    total = 0.0
    for harvests in itertools.product(itertools.product([0, 1], repeat=3), repeat=rounds - 1):
        levels, least = [0, 0, 0], 3
        for t in range(rounds):
            levels.sort(reverse=True)
            n = sum(level >= 1 for level in levels[:target])
            least = min(least, n) if t else least
            levels = [level - (place < n) for place, level in enumerate(levels)]
            if t < rounds - 1:
                levels = [level + units for level, units in zip(levels, harvests[t], strict=True)]
        arrived = sum(map(sum, harvests))
        total += least * (2 / 3) ** arrived * (1 / 3) ** (3 * (rounds - 1) - arrived)
    return total
