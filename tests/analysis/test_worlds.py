"""Arms that met the same are a world: the first of each is what the others are compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ehfl.analysis import Arm
from ehfl.analysis.comparison import worlds_of
from ehfl.report.folder import as_facts
from ehfl.report.tables.comparison import caption, quantities
from ehfl.report.tables.render import Cell
from ehfl.report.write import DASH
from made_trials import ENDED_AT, arms_ending_at, made_trial, two_worlds


def arm(name: str, seeds: list[int], **met: Any) -> Arm:
    return Arm(name, tuple(replace(made_trial(name, seed, {4: 0.5}), **met) for seed in seeds))


def labels(arms: list[Arm]) -> list[list[str]]:
    return [[mine.name for mine in world.arms] for world in worlds_of(arms)]


@pytest.mark.parametrize("condition", ["weather", "data", "first_model"])
def test_arms_that_met_the_same_are_a_world_wherever_they_stand(condition: str) -> None:
    other = {condition: "another"}

    assert labels([arm("a", [0]), arm("b", [0], **other), arm("c", [0]), arm("d", [0], **other)]) == [
        ["a", "c"],
        ["b", "d"],
    ]


def test_an_arm_without_a_seed_of_the_first_is_a_world_of_its_own() -> None:
    assert labels([arm("a", [0, 1]), arm("b", [2]), arm("c", [1, 2])]) == [["a", "c"], ["b"]]


def test_a_world_is_named_by_what_its_labels_and_no_others_begin_with() -> None:
    def names(*given: str) -> list[str]:
        return [world.name for world in worlds_of([arm(label, [0], weather=label[-1]) for label in given])]

    assert names("sun: a 1", "sun: b 1", "rain: c 2") == ["sun", "rain"]
    assert names("sun: a 1", "sun: b 1", "sun: c 2") == ["", ""]
    assert names("sun: a 1", "b 1", "rain: c 2") == ["", "rain"]
    assert names("sun: a 1", "sun: b 1") == [""]  # a single world needs none


def test_a_named_world_has_short_labels() -> None:
    equal, unequal = two_worlds().worlds

    assert (equal.name, unequal.name) == ("Equal fleet", "Unequal fleet")
    assert [unequal.short(mine.name) for mine in unequal.arms] == ["greedy", "myopic", "greedy + MIFA"]


def test_differences_slowdowns_and_targets_are_those_of_the_world() -> None:
    compared = two_worlds()
    rows = {row.arm: row for row in compared.rows}

    assert [(world.baseline, world.best, world.target) for world in compared.worlds] == [
        ("Equal fleet: myopic", "Equal fleet: myopic", 3),
        ("Unequal fleet: greedy", "Unequal fleet: myopic", 4),
    ]
    gaps = {label: row.difference and pytest.approx(row.difference.mean, abs=1e-12) for label, row in rows.items()}
    assert list(gaps.values()) == [None, 0.0, None, 0.0, 0.1]
    assert [row.shortfall for row in compared.rows] == [0, 0.5, 1, 0, 1]
    # 3 against 4 participants a round; 4 and 2 in turn against 3: (1/4 + 1/2) / 2 over 1/3
    assert [row.noise_limit for row in compared.rows] == pytest.approx([1, 9 / 8, 4 / 3, 1, 4 / 3])
    assert compared.goal == 0.8  # one for all: what the worst run of any world ended at


def test_the_order_of_arms_stays_the_users() -> None:
    mixed = dict(sorted(ENDED_AT.items(), key=lambda pair: pair[0].partition(": ")[2]))

    compared = two_worlds(mixed)

    assert [row.arm for row in compared.rows] == [mine.name for mine in compared.arms] == list(mixed)
    assert [row.arm for row in compared.rows_of(compared.world("Equal fleet: myopic"))] == [
        "Equal fleet: greedy",
        "Equal fleet: myopic",
    ]


def test_the_table_marks_the_baselines_and_says_what_is_relative_to_what() -> None:
    compared = two_worlds()
    lines = {line.label: line for line in quantities(compared)}
    found = [lines["difference [points]"].cell(row) for row in compared.rows]

    assert [cell.text for cell in found] == ["baseline", "0.0", "baseline", "0.0", "+10.00"]
    assert "minus that of the baseline (Equal fleet: myopic, Unequal fleet: greedy)" in (
        lines["difference [points]"].meaning
    )
    assert lines["participants, mean"].group == "Participants a round, 3 or 4 wanted"
    below = caption(compared)
    assert "; differences to the baseline (Equal fleet: myopic, Unequal fleet: greedy); " in below
    assert "; slowdowns relative to the best arm by theory (Equal fleet: myopic, Unequal fleet: myopic); " in below


def test_an_arm_alone_in_its_world_has_no_difference_and_no_slowdown() -> None:
    compared = two_worlds({label: finals for label, finals in ENDED_AT.items() if label != "Equal fleet: greedy"})
    lines = {line.label: line for line in quantities(compared)}
    alone = compared.rows[0]

    assert compared.contests == compared.worlds[1:]
    for label in ("difference [points]", "slowdown, measured", "noise limit"):
        assert lines[label].cell(alone) == Cell(DASH)
    assert "; differences to Unequal fleet: greedy; " in caption(compared)


def test_machines_read_the_worlds() -> None:
    (_, found) = as_facts(two_worlds())["worlds"]
    assert found == {
        "arms": ["Unequal fleet: greedy", "Unequal fleet: myopic", "Unequal fleet: greedy + MIFA"],
        "target": 4,
        "differences_to": "Unequal fleet: greedy",
        "slowdowns_relative_to": "Unequal fleet: myopic",
    }
    assert len(as_facts(arms_ending_at({"a": [0.9], "b": [0.8]}))["worlds"]) == 1
