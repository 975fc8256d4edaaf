"""Runs are paired only where they met the same, and that is derived from what each of them carries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ehfl.analysis import Arm, Trial, compare
from ehfl.analysis.pairing import CONDITIONS, pairs, shared
from ehfl.validation import UserError
from made_trials import ACCURACY, made_trial


def arm(name: str, seeds: list[int], **met: Any) -> Arm:
    return Arm(name, tuple(replace(made_trial(name, seed, {4: 0.1 * seed}), **met) for seed in seeds))


def test_pairs_are_places_of_common_seeds() -> None:
    assert pairs(arm("a", [0, 1, 4]), arm("b", [1, 2, 4])) == [(1, 0), (2, 2)]
    assert pairs(arm("a", [0]), arm("b", [1])) == []


@pytest.mark.parametrize("condition", ["weather", "data", "first_model"])
def test_any_condition_that_differs_parts_the_runs(condition: str) -> None:
    one, other = arm("a", [0, 1]), arm("b", [0, 1], **{condition: "another"})

    assert pairs(one, other) == []
    assert shared([one, other]) == tuple(one for one in CONDITIONS if one != condition.replace("_", " "))


def test_conditions_are_compared_seed_by_seed() -> None:
    # What was met may depend on the seed; the arms still share it where both met the same under each seed.
    def under(name: str, changed: dict[int, str]) -> Arm:
        trials = [replace(made_trial(name, seed, {4: 0.5}), weather=changed.get(seed, f"w{seed}")) for seed in (0, 1)]
        return Arm(name, tuple(trials))

    assert pairs(under("a", {}), under("b", {})) == [(0, 0), (1, 1)]
    assert pairs(under("a", {}), under("b", {1: "storm"})) == [(0, 0)]
    assert shared([under("a", {}), under("b", {1: "storm"})]) == ("data", "first model")


def test_what_all_share_is_what_no_two_differ_in() -> None:
    arms = [arm("a", [0]), arm("b", [0], weather="rain"), arm("c", [0], first_model="another")]

    assert shared(arms) == ("data",)
    assert shared(arms[:1]) == ("weather", "data", "first model")
    assert shared([arm("a", [0]), arm("b", [1])]) == ()


def test_a_comparison_pairs_and_says_what_is_shared_by_the_same_rule() -> None:
    def trials(**met: Any) -> list[Trial]:
        return [*arm("a", [0, 1]).trials, *arm("b", [0, 1], **met).trials]

    same, apart = compare("x", trials(), ACCURACY, 1), compare("x", trials(data="others"), ACCURACY, 1)

    assert same.shared == ("weather", "data", "first model")
    assert same.rows[1].difference is not None
    assert apart.shared == ("weather", "first model")
    assert apart.rows[1].difference is None
    assert apart.rows[1].measured_slowdown is None
    assert apart.difference("b", "a") is None


def test_energy_in_different_units_is_not_put_together() -> None:
    trials = [made_trial("a", 0, {4: 0.5}, unit="mJ"), made_trial("b", 0, {4: 0.5})]

    assert compare("x", trials[:1], ACCURACY, 1).unit == "mJ"
    with pytest.raises(
        UserError, match=r"^runs that count energy in different units cannot be put together: mJ, units$"
    ):
        compare("x", trials, ACCURACY, 1)
