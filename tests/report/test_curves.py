"""What learning curves are drawn from."""

from pathlib import Path

import numpy as np
import pytest

from ehfl.analysis import compare
from ehfl.report.figures import style
from ehfl.report.figures.learning import band, energy_figure, rounds_figure
from ehfl.report.pages.chart import chart_data
from ehfl.runs import Metric
from made_trials import ACCURACY, made_trial, two_arms


def test_band_is_the_mean_and_students_interval_of_each_column() -> None:
    mean, low, high = band(np.array([[0.8, 1.0], [0.9, 1.0]]))

    # t(0.975, 1) = 12.706, standard error = 0.0707 / sqrt(2) = 0.05
    assert low is not None and high is not None
    assert mean.tolist() == pytest.approx([0.85, 1.0])
    assert low.tolist() == pytest.approx([0.85 - 12.7062 * 0.05, 1.0], abs=1e-4)
    assert high.tolist() == pytest.approx([0.85 + 12.7062 * 0.05, 1.0], abs=1e-4)


def test_a_single_seed_has_no_band() -> None:
    assert band(np.array([[0.8, 0.9]]))[1:] == (None, None)
    assert not rounds_figure(two_arms(seeds=1)).axes[0].collections


def test_a_line_over_energy_goes_through_the_means_of_every_evaluation() -> None:
    lines = energy_figure(two_arms()).axes[0].get_lines()
    drawn = [np.asarray(line.get_xydata()).tolist() for line in lines]

    # greedy has spent 1, 4, 5 units with seed 0 and 0, 4, 6 with seed 1
    assert any(points == [pytest.approx(point) for point in ([0.5, 0.15], [4, 0.45], [5.5, 0.85])] for points in drawn)
    assert lines[0].get_markevery() == [-1]  # the marker at its end, where the table is


def test_the_pages_chart_and_the_figure_have_the_same_energies() -> None:
    comparison = two_arms()
    charted = [arm["energy"] for arm in chart_data(comparison)["arms"]]
    drawn = [np.asarray(line.get_xdata()).tolist() for line in energy_figure(comparison).axes[0].get_lines()]

    assert charted == [[0.5, 4, 5.5], [2, 4, 6]]
    assert all(xs in drawn for xs in charted)


@pytest.mark.parametrize("counts", [[2, 0, 2], [3, 0, 0], [0, 0, 0]])
def test_rounds_in_which_nobody_trained_are_drawn_above_each_other(counts: list[int], tmp_path: Path) -> None:
    trials = [made_trial("a", seed, [0.1, 0.3, 0.5 + seed / 9], counts) for seed in range(2)]
    figure = energy_figure(compare("idle", trials, ACCURACY, 2))
    style.save(figure, tmp_path / "idle.png")  # nothing warns

    line = figure.axes[0].get_lines()[0]
    assert np.asarray(line.get_xdata()).tolist() == np.cumsum(counts).tolist()
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx([0.1, 0.3, 0.5 + 1 / 18])


def test_drawn_lines_are_the_means() -> None:
    lines = rounds_figure(two_arms()).axes[0].get_lines()
    drawn = [np.asarray(line.get_ydata()).tolist() for line in lines]

    assert any(np.shape(y) == (3,) and y == pytest.approx([0.15, 0.45, 0.85]) for y in drawn)
    assert any(np.shape(y) == (3,) and y == pytest.approx([0.35, 0.65, 0.91]) for y in drawn)
    assert [0.5, 0.5] in drawn  # the goal


@pytest.mark.parametrize("figure", [rounds_figure, energy_figure])
def test_a_goal_far_away_is_named_and_does_not_squeeze_the_curves(figure) -> None:  # type: ignore[no-untyped-def]
    axes = figure(two_arms(goal=2.0)).axes[0]

    assert axes.get_ylim()[1] <= 1.01
    assert [text.get_text() for text in axes.texts] == ["goal 200.0 %: beyond the axis"]


def test_wide_bands_do_not_leave_the_range_of_an_accuracy() -> None:
    low, high = rounds_figure(two_arms()).axes[0].get_ylim()

    assert low >= 0
    assert high <= 1.01


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [((0, 1), 0, 1.01), ((0, None), 0, None), ((None, None), None, None), ((0.1, 0.8), 0.1, 0.81)],
)
def test_the_axis_ends_where_the_metrics_values_do(
    bounds: tuple[float | None, float | None], low: float | None, high: float | None
) -> None:
    free = rounds_figure(two_arms(metric=Metric("score"))).axes[0].get_ylim()
    bottom, top = rounds_figure(two_arms(metric=Metric("score", bounds=bounds))).axes[0].get_ylim()

    assert free[0] < 0 and free[1] > 1  # intervals of two seeds
    assert bottom == (free[0] if low is None else low)
    assert top == free[1] if high is None else top <= high


@pytest.mark.parametrize("figure", [rounds_figure, energy_figure])
def test_the_goal_is_named_beside_the_axes_where_no_curve_passes(figure) -> None:  # type: ignore[no-untyped-def]
    drawn = figure(two_arms())
    drawn.canvas.draw()  # lays out the panels, with room for the text
    axes = drawn.axes[0]
    (text,) = axes.texts
    box, around = text.get_window_extent(), axes.get_window_extent()

    assert text.get_text() == "goal\n50.0 %"
    assert around.x1 < box.x0 < box.x1 <= drawn.bbox.x1
    assert around.y0 < (box.y0 + box.y1) / 2 < around.y1
