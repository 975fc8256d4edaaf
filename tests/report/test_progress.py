"""The figure of the metric against progress, and squares for forecasts in the one of slowdowns."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ehfl.analysis import Comparison, compare
from ehfl.report.progress import progress_figure, say_progress
from ehfl.report.slowdown import has_forecasts, slowdown_figure
from made_laws import lawful_trial
from made_trials import ACCURACY, two_arms


def concave(p: float) -> float:
    return 1 - math.exp(-p / 4)


@pytest.fixture(scope="module")
def compared() -> Comparison:
    trials = [
        lawful_trial(arm, seed, [n] * 90, 1.5, concave, every=5)
        for arm, n in (("five", 5), ("one", 1), ("memory", 4))
        for seed in (0, 1)
    ]
    mixed = [replace(trial, aggregation="mifa") if trial.arm == "memory" else trial for trial in trials]
    return compare("law", mixed, ACCURACY, goal=0.4)


def test_arms_have_one_curve_against_progress_and_two_against_rounds(compared: Comparison) -> None:
    figure = progress_figure(compared)
    assert figure is not None
    left, right = figure.axes

    def apart(axes: object) -> float:
        (xs, ys), (slow_xs, slow_ys) = (line.get_data() for line in axes.lines if len(line.get_xdata()) == 19)  # type: ignore[attr-defined]
        return float(np.abs(np.interp(slow_xs, xs, ys) - slow_ys).max())

    bands = [line for line in left.lines if line.get_linewidth() < 1]
    for line in bands:  # the edges of intervals
        line.remove()
    assert apart(left) > 0.1
    assert apart(right) < 0.002
    assert "B = 1.5" in right.get_xlabel()


def test_the_caption_says_what_b_is_from_and_who_is_not_shown(compared: Comparison) -> None:
    said = say_progress(compared)

    assert "B is from the first 30 rounds of one beside five." in said
    assert said.endswith("Not shown, since it is not covered or no B is known: memory.")


def test_forecasts_are_squares_beside_what_was_measured(compared: Comparison) -> None:
    figure = slowdown_figure(compared)
    assert figure is not None
    squares = [line for line in figure.axes[0].lines if line.get_marker() == "s"]
    (found,) = [row.forecast_slowdown for row in compared.rows if row.arm == "one"]

    assert found is not None
    assert [np.asarray(line.get_xdata()).item() for line in squares] == [found.mean]


def test_without_a_forecast_there_is_no_such_figure() -> None:
    assert progress_figure(two_arms()) is None
    assert not has_forecasts(two_arms())
