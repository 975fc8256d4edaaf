"""Rounds and energy to a goal, and slowdowns: worked by hand from trials that nobody trained."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.analysis import Arm, Comparison, Row, compare, comparison, rounds_to, timing
from ehfl.runs import Metric
from ehfl.validation import UserError
from made_trials import ACCURACY, GAP, made_trial


def crossing(evaluations: dict[int, float], level: float, metric: Metric = ACCURACY) -> float:
    trial = made_trial("a", 0, evaluations, counts=[1] * max(evaluations))
    (found,) = rounds_to(level, Arm("a", (trial,)), metric)
    return float(found)


def row(compared: Comparison, arm: str) -> Row:
    (found,) = [row for row in compared.rows if row.arm == arm]
    return found


@pytest.mark.parametrize(
    ("level", "rounds"),
    [
        (0.1, 5),  # before the first evaluation nothing is known
        (0.2, 5),
        (0.3, 7.5),  # half way from 0.2 to 0.4
        (0.4, 10),
        (0.7, 17.5),  # half way from 0.6 to 0.8
        (0.8, 20),
        (0.81, math.nan),
    ],
)
def test_the_first_crossing_by_hand(level: float, rounds: float) -> None:
    assert crossing({5: 0.2, 10: 0.4, 15: 0.6, 20: 0.8}, level) == pytest.approx(rounds, nan_ok=True)


def test_a_curve_that_falls_back_is_counted_to_its_first_crossing() -> None:
    assert crossing({5: 0.2, 10: 0.6, 15: 0.1, 20: 0.9}, 0.5) == pytest.approx(5 + 5 * 0.75)


def test_where_lower_is_better_the_crossing_is_from_above() -> None:
    curve = {1: 8.0, 3: 4.0, 4: 5.0}

    found = [crossing(curve, level, GAP) for level in (9.0, 6.0, 4.0, 3.9)]
    assert found == pytest.approx([1, 2, 3, math.nan], nan_ok=True)


def test_each_seed_has_its_own_crossing() -> None:
    arm = Arm("a", (made_trial("a", 0, {2: 0.0, 4: 1.0}), made_trial("a", 1, {2: 0.5, 4: 0.5})))

    assert rounds_to(0.75, arm, ACCURACY) == pytest.approx([3.5, math.nan], nan_ok=True)


@given(
    curve=st.lists(st.integers(0, 100), min_size=1, max_size=8), low=st.integers(0, 100), more=st.integers(0, 100),
    sign=st.sampled_from([1, -1]),
)  # fmt: skip
def test_a_harder_level_is_never_reached_sooner(curve: list[int], low: int, more: int, sign: int) -> None:
    metric = ACCURACY if sign == 1 else GAP
    evaluations = {3 * (i + 1): sign * height / 100 for i, height in enumerate(curve)}
    sooner, later = (crossing(evaluations, sign * level / 100, metric) for level in (low, low + more))

    assert math.isnan(later) or sooner <= later
    assert math.isnan(sooner) == (max(curve) < low)


def test_slowdowns_are_ratios_seed_by_seed() -> None:
    # rounds to 0.5: "a" 2 and 4, "b" 4 and 4; "a" has more participants and is best
    trials = [
        made_trial("b", 0, {2: 0.0, 4: 0.5}, [1] * 4), made_trial("b", 1, {2: 0.0, 4: 0.5}, [1] * 4),
        made_trial("a", 0, {1: 0.0, 2: 0.5, 4: 0.6}, [2] * 4), made_trial("a", 1, {1: 0.0, 2: 0.4, 4: 0.5}, [2] * 4),
    ]  # fmt: skip
    found = compare("x", trials, ACCURACY, 1, goal=0.5)

    assert found.worlds[0].best == "a"
    measured = row(found, "b").measured_slowdown
    assert measured is not None and (measured.mean, measured.n) == (1.5, 2)  # of 4 / 2 and 4 / 4, not 8 / 6
    same = row(found, "a").measured_slowdown
    assert same is not None and (same.mean, same.low, same.high) == (1, 1, 1)


def test_with_half_the_participants_noise_takes_twice_the_rounds() -> None:
    trials = [made_trial("all", 0, {4: 0.5}, [8] * 4), made_trial("half", 0, {4: 0.5}, [4] * 4)]
    found = compare("x", trials, ACCURACY, 1)

    assert [row.noise_limit for row in found.rows] == pytest.approx([1, 2])


def test_a_run_that_nobody_took_part_in_has_no_finite_noise_limit() -> None:
    trials = [made_trial("all", 0, {4: 0.5}, [8] * 4), made_trial("none", 0, {4: 0.5}, [0] * 4)]
    found = compare("x", trials, ACCURACY, 1)

    assert found.worlds[0].best == "all"
    assert [row.noise_limit for row in found.rows] == [1, math.inf]


def test_noise_limits_are_over_the_seeds_that_all_arms_have() -> None:
    counts = {0: [8] * 4, 1: [2] * 4}
    trials = [made_trial("all", seed, {4: 0.5}, counts[seed]) for seed in (0, 1)]
    found = compare("x", [*trials, made_trial("the same, one run missing", 1, {4: 0.5}, counts[1])], ACCURACY, 1)

    assert [row.noise_limit for row in found.rows] == [1, 1]


def test_what_met_other_weather_or_went_on_longer_is_not_paired() -> None:
    short, long = {1: 0.2, 2: 0.4}, {1: 0.2, 2: 0.4, 4: 0.6}
    first = made_trial("a", 0, short, (1, 1))
    elsewhere = replace(made_trial("b", 0, short, (1, 1)), weather="the sun of another place")
    longer = made_trial("c", 0, long, (1, 1, 1, 1))

    found = compare("x", [first, elsewhere, longer], ACCURACY, 1)

    assert [row.difference for row in found.rows] == [None, None, None]
    assert [row.measured_slowdown is None for row in found.rows] == [False, True, False]
    assert [row.noise_limit for row in found.rows] == pytest.approx([1, 1, 1])  # n_t = 1 for all: length is no merit


def test_the_noise_limit_is_computed_once_an_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(arm: Arm, seeds: Collection[int]) -> float:
        asked.append(arm.name)
        return timing.noise_limit(arm, seeds)

    monkeypatch.setattr(comparison, "noise_limit", counted)

    compare("x", [made_trial(arm, 0, {4: 0.5}) for arm in "abc"], ACCURACY, 1)

    assert asked == ["a", "b", "c"]


def test_runs_of_different_specs_are_no_arm() -> None:
    trials = [replace(made_trial("a", seed, {4: 0.5}), fingerprint=f"spec {seed}") for seed in (0, 1)]

    with pytest.raises(UserError, match="a has runs of different specs, data or code: give the"):
        compare("x", trials, ACCURACY, 1)


def test_more_local_steps_count_in_the_noise_limit() -> None:
    trials = [replace(made_trial(arm, 0, {4: 0.5}), local_steps=K) for arm, K in (("a", 5), ("b", 1))]

    assert compare("x", trials, ACCURACY, 1).rows[1].noise_limit == pytest.approx(5)


def test_any_two_arms_can_be_paired() -> None:
    finals = {"a": (0.1, 0.2), "b": (0.5, 0.7), "c": (0.4, 0.5)}
    found = compare(
        "x", [made_trial(arm, i, {4: x}) for arm, xs in finals.items() for i, x in enumerate(xs)], ACCURACY, 1
    )

    between = found.difference("b", "c")

    assert between is not None and between.mean == pytest.approx(0.15)
    with pytest.raises(UserError, match="arm must be one of a, b, c, got d"):
        found.difference("a", "d")
