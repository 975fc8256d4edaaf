"""Which figures are made, what their captions say, and how arms look in them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ehfl.analysis import compare
from ehfl.analysis.pairing import difference_curves
from ehfl.report.figures import style
from ehfl.report.figures.comparison import draw_all
from ehfl.report.figures.differences import clear_rounds, differences_figure
from ehfl.report.figures.learning import energy_figure, rounds_figure
from ehfl.report.figures.looks import looks, looks_of
from ehfl.report.figures.participation import participation_figure
from ehfl.report.figures.rasters import batteries_figure, levels, on_batteries, scale
from ehfl.report.figures.slowdown import slowdown_figure, span
from ehfl.report.tables.compact import most_telling
from ehfl.report.write import amount
from ehfl.runs import Metric
from made_trials import ACCURACY, GAP, arms_ending_at, made_trial, trials_ending_at, two_arms, two_worlds


@pytest.fixture
def unwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the writing, which takes most of the time, where captions are all that is asked for."""
    monkeypatch.setattr(style, "save", lambda figure, path: None)


def test_all_figures_are_written_in_three_formats_and_nothing_else(tmp_path: Path) -> None:
    drawings = draw_all(two_arms(), tmp_path / "new" / "folder")

    names = ["learning", "differences", "participation", "weights", "energy", "batteries", "slowdown"]
    assert [d.name for d in drawings] == names
    pdfs = [d.png.with_suffix(".pdf") for d in drawings]
    assert sorted((tmp_path / "new" / "folder").iterdir()) == sorted(
        [d.png for d in drawings] + [d.svg for d in drawings] + pdfs
    )
    assert all(pdf.read_bytes().startswith(b"%PDF") for pdf in pdfs)
    assert all(d.png.read_bytes().startswith(b"\x89PNG") and "<svg" in d.svg.read_text() for d in drawings)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_same_figure_is_the_same_file(tmp_path: Path, suffix: str) -> None:
    first, second = (tmp_path / f"{name}{suffix}" for name in "ab")

    for path in (first, second):
        style.save(energy_figure(two_arms()), path)

    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_letters_that_the_font_lacks_are_no_warning_and_other_warnings_are(tmp_path: Path, suffix: str) -> None:
    figure = style.new_figure(2, 1)
    figure.text(0.5, 0.5, "贪婪")
    style.save(figure, tmp_path / f"greedy{suffix}")  # pytest makes a warning an error

    figure.draw = lambda renderer: warnings.warn("another", UserWarning, stacklevel=1)  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match="another"):
        style.save(figure, tmp_path / f"other{suffix}")


@pytest.mark.parametrize("rounds", [1, 3, 12, 5000])
def test_rounds_are_counted_in_whole_numbers(rounds: int) -> None:
    trials = [made_trial("a", 0, {rounds: 0.5}, [1] * rounds, recorded=True)]
    comparison = compare("short", trials, ACCURACY, 1)
    batteries = batteries_figure(comparison)
    assert batteries is not None

    learning = rounds_figure(comparison)
    participants = participation_figure({"a": comparison.arms[0].counts}, looks({"a": ""}), {})
    for figure in (learning, batteries, participants):
        figure.draw_without_rendering()
    for axes in (*learning.axes, batteries.axes[0], participants.axes[0]):
        low, high = axes.get_xlim()
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
        assert ticks
        assert all(tick == round(tick) for tick in ticks)


@pytest.mark.usefixtures("unwritten")
def test_without_energy_and_goal_their_figures_are_left_out(tmp_path: Path) -> None:
    drawings = draw_all(two_arms(goal=2.0, recorded=False), tmp_path)

    assert [d.name for d in drawings] == ["learning", "differences", "participation", "weights", "energy"]
    assert "No run reached the goal of 200.0 %." in drawings[0].caption


@pytest.mark.usefixtures("unwritten")
def test_mains_power_has_no_battery_panel_and_captions_say_so(tmp_path: Path) -> None:
    trials = [
        made_trial("greedy", 0, [0.1, 0.2], [1, 2], recorded=True),
        made_trial("always-on", 0, [0.1, 0.2], [2, 2], mains=True, recorded=True),
    ]
    comparison = compare("mains", trials, ACCURACY, 2)

    captions = {d.name: d.caption for d in draw_all(comparison, tmp_path)}
    figure = batteries_figure(comparison)

    assert figure is not None
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.images] == ["greedy"]
    assert captions["batteries"].endswith("Not shown (on mains power, or levels were not recorded): always-on.")
    assert captions["energy"].endswith("The energy of always-on comes from the mains, not from batteries.")


def test_an_arm_that_never_spent_lives_on_batteries_all_the_same() -> None:
    comparison = compare("idle", [made_trial("greedy", 0, [0.1, 0.1], [0, 0], recorded=True)], ACCURACY, 2)

    assert [arm.name for arm in on_batteries(comparison)] == ["greedy"]


def test_amounts_of_energy_have_the_fleets_unit() -> None:
    comparison = two_arms(unit="mJ")
    batteries = batteries_figure(comparison)

    assert energy_figure(comparison).axes[0].get_xlabel() == "energy spent on training [mJ]"
    assert batteries is not None
    assert [axes.get_ylabel() for axes in batteries.axes if not axes.images][-1] == "battery level [mJ]"


@pytest.mark.usefixtures("unwritten")
def test_an_arm_that_met_other_weather_has_no_point_and_the_caption_says_why(tmp_path: Path) -> None:
    trials = trials_ending_at({"myopic": [0.9, 0.92], "greedy": [0.8, 0.81], "deep": [0.7, 0.71]})
    trials = [replace(trial, weather="rain") if trial.arm == "deep" else trial for trial in trials]
    comparison = compare("weather", trials, ACCURACY, 3)

    (caption,) = [d.caption for d in draw_all(comparison, tmp_path) if d.name == "slowdown"]

    assert caption.endswith("Not shown (no other arm to compare with, or some run did not reach the goal): deep.")


def test_with_two_worlds_each_panel_says_what_is_subtracted() -> None:
    figure = differences_figure(two_worlds())

    assert figure is not None
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Equal fleet\ngreedy minus myopic",
        "Unequal fleet\nmyopic minus greedy",
        "Unequal fleet\ngreedy + MIFA minus greedy",
    ]
    assert figure.get_supylabel() == "difference [points]"


def test_every_arm_is_drawn_beside_the_target_of_its_world() -> None:
    counts = {arm.name: arm.counts for arm in two_worlds().arms}
    figure = participation_figure(counts, looks_of(two_worlds()), dict(zip(counts, (3, 3, 4, 4, 4), strict=True)))

    lines = [axes.lines[-1].get_ydata()[0] for axes in figure.axes[::2]]  # type: ignore[index]
    assert lines == [3, 3, 4, 4, 4]
    assert figure.get_supylabel().endswith("(grey: 3 or 4 wanted)")


def test_every_figure_draws_an_arm_in_its_look() -> None:
    comparison = compare("own", trials_ending_at({"not-greedy": [0.9, 0.8], "greedy": [0.7, 0.75]}), ACCURACY, 3)
    look = looks_of(comparison)

    for figure in (rounds_figure(comparison), energy_figure(comparison)):
        (legend, *_) = figure.legends
        colours = {str(line.get_label()): line.get_color() for line in legend.get_lines()}
        assert colours == {name: look[name].colour for name in ("not-greedy", "greedy")}


def test_participation_of_a_simulation_is_drawn_by_scheduler_and_not_by_label(tmp_path: Path) -> None:
    played = {"not-greedy": np.array([[1, 2, 3]]), "b": np.array([[2, 2, 2]])}
    path = tmp_path / "n.svg"

    style.save(participation_figure(played, looks({"not-greedy": "", "b": "greedy"}), {}), path)

    text = path.read_text(encoding="utf-8").lower()
    assert looks({"a": "", "b": "greedy"})["a"].colour.lower() in text


def test_dollars_in_names_are_no_formula(tmp_path: Path) -> None:
    trials = [replace(trial, arm=f"$\\frac$ {trial.arm}") for trial in trials_ending_at({"a": [0.9], "b": [0.8]})]
    comparison = compare("dollars", trials, Metric("$\\cost$"), 3)

    for figure in (rounds_figure(comparison), slowdown_figure(comparison)):
        assert figure is not None
        style.save(figure, tmp_path / "dollars.png")  # matplotlib would refuse the formula


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

    low, high = span(rows)

    assert low == pytest.approx(1 / 1.6 / 1.06)
    assert high == pytest.approx(max(1.4167, rows[0].noise_limit) * 1.6 * 1.06, rel=1e-3)


def test_slowdowns_stand_where_the_rows_say_each_arm_in_a_line_of_its_own() -> None:
    comparison = two_arms()
    figure = slowdown_figure(comparison)
    assert figure is not None
    (axes,) = figure.axes

    drawn = [np.ravel(line.get_xydata()).tolist() for line in axes.get_lines()]
    assert [pytest.approx(1.41667, rel=1e-4), 0] in drawn
    assert [comparison.rows[0].noise_limit, 0] in drawn
    assert [1.0, 1] in drawn
    assert [label.get_text() for label in axes.get_yticklabels()] == ["greedy", "myopic"]


def test_participants_are_told_as_in_the_table_and_dots_on_target_are_seen() -> None:
    comparison = two_arms()
    counts = {arm.name: arm.counts for arm in comparison.arms}
    axes = participation_figure(counts, looks_of(comparison), dict.fromkeys(counts, 2)).axes[0]

    assert axes.get_title(loc="left") == f"greedy   mean {amount(comparison.rows[0].participants)}, " + (
        f"std {amount(comparison.rows[0].participants_std)}"
    )
    order = {str(line.get_color()): line.get_zorder() for line in axes.get_lines()}
    assert order["#CCCCCC"] == min(order.values())
    assert len(order) == 2


# differences


def drawn_panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_visible()]


def test_a_panel_shows_the_mean_difference_its_band_and_zero() -> None:
    figure = differences_figure(two_arms())
    assert figure is not None
    (axes,) = drawn_panels(figure)
    lines = [np.asarray(line.get_ydata()).tolist() for line in axes.get_lines()]

    assert axes.get_title(loc="left") == "myopic"
    assert pytest.approx([20, 20, 6]) in lines  # points: of 0.2 and 0.2, 0.2 and 0.2, 0.1 and 0.02
    assert [0, 0] in lines
    assert len(axes.collections) == 1
    assert figure.get_supylabel() == "difference to greedy [points]"


def test_dots_mark_where_the_interval_leaves_zero_out() -> None:
    comparison = arms_ending_at({"a": [0.9, 0.92, 0.94], "b": [0.8, 0.821, 0.839], "c": [0.9, 0.93, 0.93]})

    assert [clear_rounds(curve).tolist() for curve in difference_curves(comparison)] == [[True] * 4, [False] * 4]
    # The same with every seed is no test of chance.
    assert not clear_rounds(difference_curves(arms_ending_at({"a": [0.9, 0.7], "b": [0.8, 0.6]}))[0]).any()


def test_ten_arms_have_a_panel_each_on_one_scale_and_rounds_below_every_column() -> None:
    figure = differences_figure(arms_ending_at({f"arm {n}": [0.5 + n / 50, 0.6] for n in range(9)}))
    assert figure is not None
    panels = drawn_panels(figure)

    assert [axes.get_title(loc="left") for axes in panels] == [f"arm {n}" for n in range(1, 9)]
    assert len({axes.get_ylim() for axes in panels}) == 1
    assert [axes.xaxis.get_tick_params()["labelbottom"] for axes in panels] == [False] * 5 + [True] * 3


def test_runs_that_cannot_be_paired_have_no_figure_of_differences() -> None:
    assert differences_figure(arms_ending_at({"a": [0.9, 0.8]})) is None


def test_gap_and_loss_have_the_same_kind_of_axis() -> None:
    falling = [made_trial("a", seed, {1: 1.0, 2: 0.05, 3: 0.001 * (1 + seed)}, [1] * 3) for seed in (0, 1)]
    as_losses = [
        replace(trial, records=[replace(record, test_loss=record.test_metric) for record in trial.records])
        for trial in falling
    ]
    left, right = rounds_figure(compare("falls", as_losses, GAP, 1)).axes

    assert (left.get_yscale(), right.get_yscale()) == ("log", "log")


@pytest.mark.parametrize("metric", [ACCURACY, GAP])
def test_a_goal_out_of_this_world_is_drawn_without_a_warning(metric: Metric, tmp_path: Path) -> None:
    style.save(
        rounds_figure(two_arms(goal=1e308, metric=metric)), tmp_path / "far.png"
    )  # pytest: a warning is an error


@pytest.mark.usefixtures("unwritten")
def test_of_fifty_arms_figures_show_the_fifteen_that_differ_most(tmp_path: Path) -> None:
    base = [0.80, 0.82, 0.84, 0.81, 0.83]
    noise = {f"arm-{i}": [x + 0.01 * (-1) ** (i + at) for at, x in enumerate(base)] for i in range(48)}
    better = [x + 0.1 + 0.001 * at for at, x in enumerate(base)]
    compared = arms_ending_at({"base": base} | noise | {"better": better})

    drawn = most_telling(compared)
    assert len(drawn.arms) == len(drawn.rows) == 15
    assert {"base", "better"} <= {arm.name for arm in drawn.arms}
    assert drawn.worlds[0].arms == drawn.arms
    captions = [drawing.caption for drawing in draw_all(compared, tmp_path)]
    assert all(caption.endswith("35 arms are left out: those closest to their baseline.") for caption in captions)
