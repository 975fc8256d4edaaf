"""Arms side by side: every figure worked by hand from trials that nobody trained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.analysis import Comparison, Row, Trial, compare
from ehfl.runs import Evaluation
from ehfl.validation import UserError
from made_trials import ACCURACY, GAP, made_trial


def row(compared: Comparison, arm: str) -> Row:
    (found,) = [row for row in compared.rows if row.arm == arm]
    return found


# curves


def test_an_arm_is_its_trials_side_by_side() -> None:
    (arm,) = compare("x", [
        made_trial("a", 1, {2: 0.5, 4: 0.75}, counts=[1, 0, 2, 3], cost=2),
        made_trial("a", 0, {2: 0.25, 4: 0.5}, counts=[1, 1, 1, 1]),
    ], ACCURACY, 1).arms  # fmt: skip

    assert arm.seeds == (0, 1)
    assert arm.evaluated.tolist() == [2, 4]
    assert arm.metric.tolist() == [[0.25, 0.5], [0.5, 0.75]]
    assert arm.loss.tolist() == [[0.75, 0.5], [0.5, 0.25]]
    assert arm.counts.tolist() == [[1, 1, 1, 1], [1, 0, 2, 3]]
    assert arm.energy.tolist() == [[2, 4], [2, 12]]


def test_steps_and_energy_of_a_trial() -> None:
    trial = made_trial("a", 0, {3: 0.5}, counts=[2, 0, 1], steps=[0.3, 0.2, 0.1], cost=3)

    assert trial.steps.tolist() == [0.3, 0.0, 0.1]
    assert trial.spent.tolist() == [0, 6, 6, 9]
    assert trial.evaluations == (Evaluation(3, loss=0.5, metric=0.5),)


def test_curves_begin_with_the_first_model_where_it_was_evaluated() -> None:
    compared = compare("x", [made_trial("a", seed, {0: 0.25, 2: 0.5}, counts=[3, 1], cost=2) for seed in (0, 1)],
                       ACCURACY, 1, goal=0.375)  # fmt: skip
    (arm,) = compared.arms

    assert arm.evaluated.tolist() == [0, 2]
    assert arm.metric.tolist() == [[0.25, 0.5]] * 2
    assert arm.loss.tolist() == [[0.75, 0.5]] * 2
    assert arm.energy.tolist() == [[0, 8]] * 2
    found = row(compared, "a")
    assert found.rounds_to_goal is not None and found.energy_to_goal is not None
    assert (found.rounds_to_goal.mean, found.energy_to_goal.mean) == (1, 6)


def test_a_goal_that_the_first_model_meets_is_reached_after_no_round_with_no_energy() -> None:
    curves = {"a": {0: 0.5, 2: 0.75}, "b": {0: 0.5, 2: 0.625}}
    compared = compare("x", [made_trial(arm, 0, curve, counts=[1, 1]) for arm, curve in curves.items()],
                       ACCURACY, 1, goal=0.5)  # fmt: skip

    for found in compared.rows:
        assert found.rounds_to_goal is not None and found.energy_to_goal is not None
        assert (found.reached, found.rounds_to_goal.mean, found.energy_to_goal.mean) == (1, 0, 0)
        assert found.measured_slowdown is None


# rows


def two_arms() -> list[Trial]:
    """Seeds 0 and 1 of "steady" (2 clients a round), 1 and 2 of "bursty" (4 every other round)."""
    steady, bursty = [2, 2, 2, 2], [0, 4, 0, 4]
    return [
        made_trial("steady", 0, {2: 0.2, 4: 0.6}, steady),
        made_trial("steady", 1, {2: 0.4, 4: 0.8}, steady),
        made_trial("bursty", 2, {2: 0.1, 4: 0.9}, bursty, cost=3),
        made_trial("bursty", 1, {2: 0.2, 4: 0.6}, bursty, cost=3),
    ]


def test_arms_stand_in_the_order_in_which_they_first_appear() -> None:
    trials = two_arms()

    assert [arm.name for arm in compare("x", trials, ACCURACY, 2).arms] == ["steady", "bursty"]
    assert [row.arm for row in compare("x", trials[::-1], ACCURACY, 2).rows] == ["bursty", "steady"]
    assert [row.difference is None for row in compare("x", trials[::-1], ACCURACY, 2).rows] == [True, False]


def test_figures_by_hand() -> None:
    found = compare("x", two_arms(), ACCURACY, 2, goal=0.5)
    steady, bursty = found.rows

    assert (found.goal, found.worlds[0].target) == (0.5, 2)
    assert (steady.final.mean, bursty.final.mean) == pytest.approx((0.7, 0.75))
    assert (steady.seeds, bursty.seeds) == (2, 2)
    assert (steady.participants, steady.participants_std, steady.participants_min) == (2, 0, 2)
    assert (bursty.participants, bursty.participants_std, bursty.participants_min) == (2, 2, 0)
    assert (steady.empty_rounds, bursty.empty_rounds) == (0, 2)
    assert (steady.shortfall, bursty.shortfall) == (0, 1)
    assert (steady.waste, bursty.waste) == (0.5, 0.5)
    assert (steady.fairness, bursty.fairness) == pytest.approx((0.2, 0.4))  # 2 and 4 clients of 10 share all turns


def test_rounds_and_energy_to_the_goal_by_hand() -> None:
    steady, bursty = compare("x", two_arms(), ACCURACY, 2, goal=0.5).rows

    # steady: 2 + 2 * 3/4 = 3.5 and 2 + 2 * 1/4 = 2.5 rounds of 2 units each
    assert (steady.reached, bursty.reached) == (2, 2)
    assert steady.rounds_to_goal is not None and steady.energy_to_goal is not None
    assert steady.rounds_to_goal.mean == pytest.approx(3.0)
    assert steady.energy_to_goal.mean == pytest.approx((7.0 + 5.0) / 2)
    # bursty: 3.5 and 3 rounds; 12 units after round 3, 24 after round 4, straight between
    assert bursty.rounds_to_goal is not None and bursty.energy_to_goal is not None
    assert bursty.rounds_to_goal.mean == pytest.approx(3.25)
    assert bursty.energy_to_goal.mean == pytest.approx((12.0 + 18.0) / 2)


def test_the_area_by_hand() -> None:
    trial = made_trial("a", 0, {1: 0.0, 2: 0.5, 4: 1.0})  # (1 * 0.25 + 2 * 0.75) / 3

    assert compare("x", [trial], ACCURACY, 1).rows[0].area.mean == pytest.approx(1.75 / 3)
    assert compare("x", [made_trial("a", 0, {4: 0.3})], ACCURACY, 1).rows[0].area.mean == 0.3


def test_a_difference_is_over_the_seeds_that_both_have() -> None:
    # seed 1 alone: 0.6 - 0.8
    against = row(compare("x", two_arms(), ACCURACY, 2), "bursty").difference

    assert against is not None
    assert against.mean == pytest.approx(-0.2)
    assert (against.n, against.p_value) == (1, None)


def test_without_a_common_seed_there_is_no_difference_and_no_slowdown() -> None:
    trials = [made_trial("a", 0, {4: 0.5}), made_trial("b", 1, {4: 0.7})]
    found = row(compare("x", trials, ACCURACY, 1), "b")

    assert found.difference is None
    assert found.measured_slowdown is None


def test_p_values_are_corrected_over_all_comparisons_of_a_line() -> None:
    finals = {"a": [0.1, 0.5, 0.9], "b": [0.11, 0.52, 0.915], "c": [0.1, 0.51, 0.93], "d": [0.2, 0.6, 1.0]}
    trials = [made_trial(arm, seed, {4: x}) for arm, found in finals.items() for seed, x in enumerate(found)]
    a, b, c, d = (found.difference for found in compare("x", trials, ACCURACY, 1).rows)

    assert a is None and b is not None and c is not None and d is not None
    assert b.p_value == pytest.approx(0.0351, abs=1e-4) and c.p_value == pytest.approx(0.2697, abs=1e-4)
    assert b.holm_p_value == pytest.approx(2 * 0.0351, abs=2e-4)  # of two: d has the same gap with every seed
    assert c.holm_p_value == pytest.approx(0.2697, abs=1e-4)
    assert (d.p_value, d.holm_p_value) == (None, None)


def test_pairs_go_by_seed_and_not_by_order() -> None:
    finals = {0: 0.1, 1: 0.5, 2: 0.9}
    first = [made_trial("a", seed, {4: final}) for seed, final in finals.items()]
    second = [made_trial("b", seed, {4: finals[seed] + 0.01 * (seed + 1)}) for seed in (2, 0, 1)]
    against = row(compare("x", first + second, ACCURACY, 1), "b").difference

    assert against is not None
    assert against.mean == pytest.approx(0.02)
    assert against.n == 3
    assert against.low is not None and against.low > -0.01  # gaps 0.01, 0.02, 0.03, whatever the finals


@given(
    curves=st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=2, max_size=6),
    lower=st.booleans(),
)  # fmt: skip
def test_every_run_comes_to_the_goal_that_is_chosen_and_one_ends_there(curves: list[list[int]], lower: bool) -> None:
    metric = GAP if lower else ACCURACY
    trials = [
        made_trial("ab"[i % 2], i, dict(zip((1, 2, 4), (height / 7 for height in curve), strict=True)))
        for i, curve in enumerate(curves)
    ]
    found = compare("x", trials, metric, 1)

    assert all(row.reached == row.seeds and row.rounds_to_goal is not None for row in found.rows)
    assert found.goal in {trial.records[-1].test_metric for trial in trials}


def test_a_goal_that_some_seed_misses_has_no_estimate() -> None:
    steady, bursty = compare("x", two_arms(), ACCURACY, 2, goal=0.7).rows

    assert (steady.reached, bursty.reached) == (1, 1)
    for missed in (steady, bursty):
        assert missed.rounds_to_goal is missed.energy_to_goal is missed.measured_slowdown is None
    assert steady.final.mean == pytest.approx(0.7)  # the rest is there


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(UserError, match=r"^x has no finished runs$"):
        compare("x", [], ACCURACY, 1)
    with pytest.raises(UserError, match="runs of a were evaluated after different rounds and cannot be put together"):
        compare("x", [made_trial("a", 0, {2: 0.1, 4: 0.2}), made_trial("a", 1, {1: 0.1, 4: 0.2})], ACCURACY, 1)
    with pytest.raises(UserError, match="a has seed 3 twice"):  # one run would count for two
        compare("x", [made_trial("a", 3, {4: 0.2}), made_trial("a", 3, {4: 0.2})], ACCURACY, 1)


def test_arms_may_be_evaluated_after_different_rounds() -> None:
    trials = [made_trial("a", 0, {2: 0.1, 4: 0.5}), made_trial("b", 0, {1: 0.1, 3: 0.3, 4: 0.5})]

    assert [arm.evaluated.tolist() for arm in compare("x", trials, ACCURACY, 1).arms] == [[2, 4], [1, 3, 4]]


def test_a_target_beyond_a_smaller_fleet_is_that_fleets_all() -> None:
    assert compare("x", [made_trial("a", 0, {4: 0.2})], ACCURACY, 50).rows[0].shortfall == 9  # of 10 clients
