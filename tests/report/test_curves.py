"""What learning curves are drawn from."""

import numpy as np
import pytest

from ehfl.experiment import Metric, compare
from ehfl.report.curves import band, energy_figure, on_energy, rounds_figure
from made_trials import made_trial, two_arms


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


def test_metric_over_energy_is_interpolated_as_far_as_every_seed_goes() -> None:
    greedy = two_arms().arms[0]  # seed 0: energy 1, 4, 5; seed 1: energy 0, 4, 6

    grid, metric = on_energy(greedy, points=5)

    assert grid.tolist() == [1, 2, 3, 4, 5]
    assert metric[0].tolist() == pytest.approx([0.2, 0.2 + 0.2 / 3, 0.2 + 0.4 / 3, 0.4, 0.8])
    assert metric[1].tolist() == pytest.approx([0.2, 0.3, 0.4, 0.5, 0.7])


def test_rounds_in_which_nobody_trained_leave_one_point_of_energy() -> None:
    arm = compare("idle", [made_trial("a", 0, [0.1, 0.3, 0.5], [2, 0, 2])], Metric("accuracy"), 2).arms[0]

    grid, metric = on_energy(arm, points=3)

    assert grid.tolist() == [2, 3, 4]
    assert metric[0].tolist() == pytest.approx([0.3, 0.4, 0.5])


def test_seeds_without_a_common_stretch_of_energy_give_one_point() -> None:
    trials = [made_trial("a", 0, [0.1, 0.2], [1, 1]), made_trial("a", 1, [0.3, 0.4], [4, 4])]

    grid, metric = on_energy(compare("apart", trials, Metric("accuracy"), 2).arms[0])

    assert grid.tolist() == [4]
    assert metric[:, 0].tolist() == [0.2, 0.3]


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


def test_a_diverged_loss_is_a_gap() -> None:
    trials = [made_trial("a", 0, [0.1, float("-inf")], [1, 1])]  # a loss of infinity
    axes = rounds_figure(compare("broken", trials, Metric("accuracy"), 2, goal=0.1)).axes[1]

    assert np.asarray(axes.get_lines()[0].get_ydata()).tolist() == pytest.approx([0.9, np.nan], nan_ok=True)
