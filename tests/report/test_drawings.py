"""Which figures are made, what their captions say, and how arms look in them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from ehfl.experiment import Metric, compare
from ehfl.report import style
from ehfl.report.batteries import batteries_figure, levels, scale
from ehfl.report.curves import energy_figure, rounds_figure
from ehfl.report.drawings import draw_all
from ehfl.report.participation import participation_figure
from ehfl.report.slowdown import heights, slowdown_figure, ticks
from made_trials import made_trial, two_arms


@pytest.fixture
def unwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the writing, which takes most of the time, where captions are all that is asked for."""
    monkeypatch.setattr(style, "save", lambda figure, path: None)


def test_all_figures_are_written_in_both_formats_and_nothing_else(tmp_path: Path) -> None:
    drawings = draw_all(two_arms(), tmp_path / "new" / "folder")

    assert [d.name for d in drawings] == ["learning", "energy", "participation", "batteries", "slowdown"]
    assert sorted((tmp_path / "new" / "folder").iterdir()) == sorted(
        [d.png for d in drawings] + [d.svg for d in drawings]
    )
    assert all(d.png.read_bytes().startswith(b"\x89PNG") and "<svg" in d.svg.read_text() for d in drawings)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_figure_is_the_same_file(tmp_path: Path, suffix: str) -> None:
    first, second = (tmp_path / f"{name}{suffix}" for name in "ab")

    for path in (first, second):
        style.save(energy_figure(two_arms()), path)

    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_letters_that_the_font_lacks_are_no_warning_and_other_warnings_are(tmp_path: Path, suffix: str) -> None:
    figure = style.new_figure(2, 1)
    figure.text(0.5, 0.5, "贪婪")
    style.save(figure, tmp_path / f"greedy{suffix}")  # pytest makes a warning an error

    figure.draw = lambda renderer: warnings.warn("another", UserWarning, stacklevel=1)  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match="another"):
        style.save(figure, tmp_path / f"other{suffix}")


@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 10, 12, 25, 150, 5000])
def test_rounds_are_counted_in_whole_numbers(rounds: int) -> None:
    trials = [made_trial("a", 0, {rounds: 0.5}, [1] * rounds, recorded=True)]
    comparison = compare("short", trials, Metric("accuracy"), 1)
    batteries = batteries_figure(comparison)
    assert batteries is not None

    shown = [rounds_figure(comparison).axes[0], rounds_figure(comparison).axes[1], batteries.axes[0]]
    shown.append(participation_figure({"a": comparison.arms[0].counts[0]}).axes[0])
    for axes in shown:
        axes.figure.draw_without_rendering()  # type: ignore[union-attr]
        low, high = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
        assert ticks
        assert all(tick == round(tick) for tick in ticks)


@pytest.mark.usefixtures("unwritten")
def test_without_energy_and_goal_their_figures_are_left_out(tmp_path: Path) -> None:
    drawings = draw_all(two_arms(goal=2.0, recorded=False), tmp_path)

    assert [d.name for d in drawings] == ["learning", "energy", "participation"]
    assert "No run came to the goal of 200.0 %." in drawings[0].caption


@pytest.mark.usefixtures("unwritten")
def test_mains_power_has_no_battery_panel_and_captions_say_so(tmp_path: Path) -> None:
    trials = [
        made_trial("greedy", 0, [0.1, 0.2], [1, 2], recorded=True),
        made_trial("always-on", 0, [0.1, 0.2], [2, 2], mains=True, recorded=True),
    ]
    comparison = compare("mains", trials, Metric("accuracy"), 2)

    captions = {d.name: d.caption for d in draw_all(comparison, tmp_path)}
    figure = batteries_figure(comparison)

    assert figure is not None
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.images] == ["greedy"]
    assert captions["batteries"].endswith("Not shown: always-on spent nothing from batteries.")
    assert captions["energy"].endswith("The energy of always-on comes from the mains, not from batteries.")


@pytest.mark.usefixtures("unwritten")
def test_captions_do_not_speak_of_intervals_where_there_is_one_seed(tmp_path: Path) -> None:
    drawings = draw_all(two_arms(seeds=1), tmp_path)

    assert not any("interval" in d.caption or "mean over seeds" in d.caption for d in drawings)


def test_battery_images_are_client_by_round() -> None:
    arm = two_arms().arms[0]

    assert levels(arm).shape == (4, 4)  # clients, rounds + 1
    assert levels(arm).tolist() == np.full((4, 4), 2.0).tolist()


@pytest.mark.parametrize(("top", "each", "lowest"), [(1, True, 0), (5, False, 0), (100, True, 0)])
def test_colours_of_levels_rise(top: float, each: bool, lowest: float) -> None:
    norm, colour_map = scale(top, each=each)
    red_green_blue = colour_map(norm(np.linspace(lowest, top, 11 if top > 1 else 2)))[:, :3]

    assert (np.diff(red_green_blue @ [0.299, 0.587, 0.114]) >= 0).all()
    assert red_green_blue[0].sum() < red_green_blue[-1].sum()


def test_few_low_levels_are_told_apart_beside_a_level_of_100() -> None:
    norm, _ = scale(100, each=True)

    assert float(norm(1)) > 0.1
    assert float(norm(3)) - float(norm(1)) > 0.1


def test_slowdown_axis_does_not_follow_absurd_intervals() -> None:
    rows = two_arms().rows  # greedy: mean 1.417, interval from 0.36 to 2.48; myopic: 1

    low, high = heights(rows)

    assert low == pytest.approx(1 / 1.6 / 1.12)
    assert high == pytest.approx(1.4167 * 1.6 / 1.12 * 1.12**2, rel=1e-3)


def test_slowdown_points_stand_where_the_rows_say() -> None:
    comparison = two_arms()
    figure = slowdown_figure(comparison)
    assert figure is not None

    drawn = [np.ravel(line.get_xydata()).tolist() for line in figure.axes[0].get_lines()]

    assert [comparison.rows[0].noise_limit, pytest.approx(1.41667, rel=1e-4)] in drawn
    assert [1.0, 1.0] in drawn


def test_ticks_lie_within_the_axis() -> None:
    assert ticks(0.6, 2.5) == [0.7, 1, 1.5, 2]
    assert ticks(0.9, 5000) == [1, 10, 100, 1000]


def test_a_scheduler_keeps_its_colour_under_other_names() -> None:
    blue = style.colours_of(["myopic"])["myopic"]

    assert style.colours_of(["Myopic, linear steps"])["Myopic, linear steps"] == blue
    assert style.colours_of(["paper/myopic", "myopic"])["myopic"] == blue  # the very name comes first
    assert style.colours_of(["paper/myopic", "myopic"])["paper/myopic"] != blue
    assert (
        style.colours_of(["round-robin:1", "round-robin"])["round-robin"]
        == style.colours_of(["round_robin"])["round_robin"]
    )


def test_arms_differ_in_colour_or_line() -> None:
    names = [f"arm {n}" for n in range(20)]
    colours, lines = style.colours_of(names), style.lines_of(names)

    assert len(set(colours.values())) == 8
    assert len({(colours[name], lines[name]) for name in names}) == 20
    assert {lines[name] for name in names[:8]} == {"-"}


def test_colours_repeat_as_the_schedulers_own() -> None:
    names = [*"abcdef", "greedy", "myopic", "myopic, again"]  # eight colours and one more
    colours, lines = style.colours_of(names), style.lines_of(names)

    assert colours["myopic, again"] == colours["myopic"]
    assert lines["myopic, again"] != lines["myopic"]
