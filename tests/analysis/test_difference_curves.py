"""Differences over the rounds, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ehfl.analysis import compare
from ehfl.analysis.pairing import difference_curves
from ehfl.analysis.statistics import estimate
from made_trials import ACCURACY, arms_ending_at, made_trial, two_arms


def test_differences_are_those_of_each_pair_in_each_round() -> None:
    (curve,) = difference_curves(two_arms())

    assert curve.arm == "myopic"
    assert curve.rounds.tolist() == [1, 2, 3]
    assert curve.gaps.tolist() == [pytest.approx([0.2, 0.2, 0.1]), pytest.approx([0.2, 0.2, 0.02])]


def test_the_last_point_is_the_tables_difference() -> None:
    comparison = arms_ending_at({"a": [0.9, 0.92, 0.94], "b": [0.8, 0.83, 0.839]})
    (curve,) = difference_curves(comparison)
    found = comparison.rows[1].difference

    assert found is not None
    assert curve.gaps[:, -1].tolist() == pytest.approx([-0.1, -0.09, -0.101])
    assert estimate(curve.gaps[:, -1]).low == found.low


def test_only_rounds_in_which_both_were_evaluated_count() -> None:
    trials = [
        made_trial("a", 0, {2: 0.5, 4: 0.6}),
        made_trial("b", 0, {1: 0.1, 4: 0.7}),
        made_trial("c", 0, {3: 0.1}, [1] * 3),
    ]
    (curve,) = difference_curves(compare("rounds", trials, ACCURACY, 1))

    assert (curve.arm, curve.rounds.tolist(), curve.gaps.tolist()) == ("b", [4], [pytest.approx([0.1])])


def test_runs_that_did_not_meet_the_same_have_no_difference() -> None:
    trials = [made_trial(arm, seed, [0.1, 0.2], [1, 1]) for arm in "ab" for seed in (0, 1)]
    trials[3] = replace(trials[3], weather="rain")
    (curve,) = difference_curves(compare("weather", trials, ACCURACY, 1))

    assert curve.gaps.shape == (1, 2)
    assert difference_curves(arms_ending_at({"alone": [0.9]})) == []
