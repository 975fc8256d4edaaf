from __future__ import annotations

import math
from typing import Any

import pytest

from ehfl.runs import Metric
from ehfl.validation import InvalidValue

ACCURACY = Metric("accuracy", bounds=(0, 1))
GAP = Metric("gap", lower_is_better=True)
LOSS = Metric("loss", lower_is_better=True, bounds=(0, None))
ERROR = Metric("error", lower_is_better=True, bounds=(0.0, 1.0))
PERCENT, SCORE = Metric("percent", bounds=(0, 100)), Metric("score", bounds=(-1, 1))


def test_the_sign_says_which_way_is_better() -> None:
    assert (ACCURACY.sign, GAP.sign) == (1, -1)


@pytest.mark.parametrize(
    ("metric", "share"),
    [(ACCURACY, True), (ERROR, True), (GAP, False), (LOSS, False), (PERCENT, False), (SCORE, False)],
    ids=lambda value: value.name if isinstance(value, Metric) else str(value),
)
def test_what_lies_between_0_and_1_is_a_share(metric: Metric, share: bool) -> None:
    assert metric.is_share == share


@pytest.mark.parametrize(
    ("metric", "value", "nearest"),
    [
        (ACCURACY, 0.5, 0.5), (ACCURACY, 1.02, 1), (ACCURACY, -0.1, 0), (ACCURACY, math.inf, 1), (ACCURACY, 0, 0),
        (LOSS, -3, 0), (LOSS, 1e9, 1e9), (LOSS, math.inf, 1e100), (GAP, -1e9, -1e9), (GAP, -math.inf, -1e100),
        (Metric("score", bounds=(None, 2)), 5, 2), (Metric("score", bounds=(None, 2)), -5, -5),
    ],
)  # fmt: skip
def test_a_value_is_brought_within_the_bounds(metric: Metric, value: float, nearest: float) -> None:
    assert metric.within(value) == nearest


@pytest.mark.parametrize("metric", [ACCURACY, GAP, LOSS])
def test_what_is_no_number_stays_none(metric: Metric) -> None:
    assert math.isnan(metric.within(math.nan))


@pytest.mark.parametrize(("metric", "goal"), [(ACCURACY, 0), (ACCURACY, 0.9), (ACCURACY, 1), (LOSS, 0), (GAP, -3)])
def test_goals_that_can_be_come_to_are_taken(metric: Metric, goal: float) -> None:
    metric.check_goal(goal)


@pytest.mark.parametrize(
    ("metric", "goal", "message"),
    [
        (ACCURACY, 90, "[0, 1], the bounds of accuracy, got 90"),
        (ACCURACY, -0.5, "[0, 1], the bounds of accuracy, got -0.5"),
        (ACCURACY, math.nan, "[0, 1], the bounds of accuracy, got nan"),
        (LOSS, -1, "[0, 1e+100], the bounds of loss, got -1"),
        (LOSS, math.inf, "[0, 1e+100], the bounds of loss, got inf"),
        (GAP, math.inf, "[-1e+100, 1e+100], the bounds of gap, got inf"),
        (Metric("score", bounds=(None, 2)), 3, "[-1e+100, 2], the bounds of score, got 3"),
        (Metric("score", bounds=(-2, -1.5)), 0, "[-2, -1.5], the bounds of score, got 0"),
    ],
)
def test_a_goal_that_no_run_could_come_to_is_refused(metric: Metric, goal: float, message: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        metric.check_goal(goal)

    assert str(refused.value) == f"goal must be a finite number in {message}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "\x1b[31mred"}, "metric.name must be at most 40 printable characters, got '\\x1b[31mred'"),
        ({"name": "two\nlines"}, "metric.name must be"),
        ({"name": ""}, "metric.name must be"),
        ({"name": " "}, "metric.name must be"),
        ({"name": "x" * 41}, "metric.name must be"),
        ({"bounds": (1, 0)}, "metric.bounds must be the least and the largest value, in this order"),
        ({"bounds": (1, 1)}, "metric.bounds must be"),
        ({"bounds": (0, math.inf)}, "metric.bounds must be"),
        ({"bounds": (math.nan, None)}, "metric.bounds must be"),
    ],
)
def test_a_metric_that_cannot_be_shown_or_judged_by_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        Metric(**{"name": "gap"} | given)

    assert str(refused.value).startswith(message)
