"""Headlines say what can be told apart in each world, and only that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ehfl.analysis import Comparison, Difference, Estimate
from ehfl.report import headlines
from ehfl.report.texts import table_text
from made_trials import ENDED_AT, arms_ending_at, two_worlds

MIFA = "Unequal fleet: greedy + MIFA"


def serving(comparison: Comparison, worst: dict[str, float], gaps: dict[str, Difference]) -> Comparison:
    """Return the comparison with a worst class of every arm, and how it differs from that of the first of its world."""
    rows = tuple(
        replace(
            row,
            worst_class=Estimate(worst.get(row.arm, 0.5), worst.get(row.arm, 0.5) - 0.1, 0.9, 3),
            worst_class_difference=gaps.get(row.arm, Difference(0.0, -0.1, 0.1, 3, 0.9) if row.difference else None),
        )
        for row in comparison.rows
    )
    return replace(comparison, rows=rows)


def test_each_world_has_a_headline_that_says_what_is_told_apart() -> None:
    assert headlines(two_worlds()) == [
        "Equal fleet: greedy cannot be told from myopic by accuracy.",
        "Unequal fleet: greedy + MIFA beat greedy by 10.00 points; myopic cannot be told from greedy.",
    ]


def test_worlds_without_a_name_are_told_by_labels() -> None:
    finals = {label.replace("Equal fleet: ", ""): mine for label, mine in ENDED_AT.items()}

    assert headlines(two_worlds(finals)) == [
        "Greedy cannot be told from myopic by accuracy.",
        "Unequal fleet: greedy + MIFA beat greedy by 10.00 points; myopic cannot be told from greedy.",
    ]


def test_a_single_world_has_none_and_nor_has_one_without_chance_to_judge() -> None:
    assert headlines(arms_ending_at({"myopic": [0.9, 0.92], "greedy": [0.8, 0.81]})) == []
    assert headlines(two_worlds({label: finals[:1] for label, finals in ENDED_AT.items()})) == []


def test_the_best_arm_comes_first_and_one_that_is_worse_is_named_too() -> None:
    finals = ENDED_AT | {"Unequal fleet: myopic": [0.70, 0.72, 0.741]}

    assert headlines(two_worlds(finals))[1] == (
        "Unequal fleet: greedy + MIFA beat greedy by 10.00 points; myopic ended 9.97 points below greedy."
    )


@pytest.mark.parametrize("told", [True, False])
def test_the_worst_class_is_told_where_its_interval_allows_it(told: bool) -> None:
    gap = Difference(0.4, 0.3, 0.5, 3, 0.01) if told else Difference(0.4, -0.1, 0.9, 3, 0.08)
    compared = serving(two_worlds(), {MIFA: 0.8}, {MIFA: gap})

    equal, unequal = headlines(compared)

    assert equal == "Equal fleet: greedy cannot be told from myopic, neither by accuracy nor by the worst class."
    assert ("of the worst class right, greedy" in unequal) == told


def test_where_averages_are_alike_the_worst_class_alone_is_told() -> None:
    gap, myopic = Difference(0.4, 0.3, 0.5, 3, 0.01), "Unequal fleet: myopic"
    compared = serving(
        two_worlds({label: ENDED_AT[label] for label in ENDED_AT if label != MIFA}), {myopic: 0.8}, {myopic: gap}
    )

    assert headlines(compared)[1] == (
        "Unequal fleet: myopic gets 80 % of the worst class right, greedy 50 %, "
        "though their averages cannot be told apart."
    )


def test_headlines_stand_above_the_table() -> None:
    lines = table_text(two_worlds()).splitlines()

    assert lines[:4] == ["two worlds", *headlines(two_worlds()), ""]
    assert "Equal" in lines[4] + lines[5]
