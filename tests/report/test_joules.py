"""Reports of fleets in joules: hours and days beside rounds, J and Wh in the place of quanta, everywhere."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ehfl.analysis.units import clock_of
from ehfl.report.figures import style
from ehfl.report.figures.axes import name_rounds
from ehfl.report.figures.comparison import caption_of, draw_all
from ehfl.report.figures.differences import differences_figure
from ehfl.report.figures.learning import energy_figure, rounds_figure
from ehfl.report.figures.looks import looks_of
from ehfl.report.figures.participation import participation_figure
from ehfl.report.figures.rasters import batteries_figure
from ehfl.report.folder import as_facts, rounds_csv, table_text
from ehfl.report.pages.chart import chart_data
from ehfl.report.pages.comparison import write_page
from made_joules import hours_and_joules, two_lengths
from made_trials import two_arms


def second_labels(figure: Figure) -> list[str]:
    """Return what axes below the rounds say, panel by panel."""
    return [below.get_xlabel() for axes in figure.axes for below in axes.child_axes]


def xs(line: Line2D) -> list[float]:
    return [float(x) for x in np.asarray(line.get_xdata())]


def first_labels(figure: Figure) -> list[str]:
    return [label for axes in figure.axes if (label := axes.get_xlabel())]


def test_figures_have_hours_below_the_rounds() -> None:
    made = hours_and_joules()

    assert second_labels(rounds_figure(made)) == ["h", "h"]
    assert first_labels(rounds_figure(made)) == ["rounds", "rounds"]
    batteries, differences = batteries_figure(made), differences_figure(made)
    assert batteries is not None and second_labels(batteries) == ["h"]
    assert differences is not None and second_labels(differences) == ["h"]
    assert second_labels(rounds_figure(two_arms())) == []


def test_an_hour_is_where_its_round_is() -> None:
    figure = rounds_figure(hours_and_joules())
    figure.draw_without_rendering()
    axes = figure.axes[0]

    assert axes.child_axes[0].get_xlim() == axes.get_xlim()  # rounds of an hour


def test_energies_are_drawn_in_watt_hours() -> None:
    made = hours_and_joules()
    energy = energy_figure(made).axes[0]
    batteries = batteries_figure(made)

    assert energy.get_xlabel() == "energy spent on training [Wh]"
    assert xs(energy.lines[0])[-1] == pytest.approx(11_000 / 3600)
    assert batteries is not None  # levels of 2 quanta are 1 J
    assert [axes.get_ylabel() for axes in batteries.axes if "battery" in axes.get_ylabel()] == ["battery level [J]"]
    assert batteries.axes[0].images[0].get_clim() == (0, 1)


def test_rounds_of_other_lengths_are_drawn_against_time() -> None:
    made = two_lengths()
    figure = rounds_figure(made)
    counts = {arm.name: arm.counts for arm in made.arms}

    assert first_labels(figure) == ["time [h]", "time [h]"]
    assert second_labels(figure) == []
    assert [xs(line)[-1] for line in figure.axes[0].lines if line.get_linewidth() > 1] == [4, 4]
    turns = participation_figure(counts, looks_of(made), {}, made.clock)
    assert xs(turns.axes[2].lines[0]) == [0, 2]
    batteries = batteries_figure(made)
    assert batteries is not None
    assert [tuple(axes.images[0].get_extent()[:2]) for axes in batteries.axes[:2]] == [(-0.5, 4.5), (-1, 5)]
    assert "against time, since arms' rounds differ in length" in caption_of("learning", made)
    assert caption_of("slowdown", made).startswith("Time to the goal")


def test_numbers_for_machines_are_in_joules_and_seconds() -> None:
    made = hours_and_joules()
    facts = as_facts(made)
    rows = list(csv.DictReader(io.StringIO(rounds_csv(made))))

    assert facts["unit"] == "J"
    assert facts["round_lengths"] == {"greedy": 3600.0, "myopic": 3600.0}
    assert facts["arms"][0]["energy_spent"] == 11_000
    assert (rows[2]["energy_spent"], rows[2]["seconds"]) == ("10000", "10800")
    assert "0.5 J" not in table_text(made)


def test_numbers_of_a_fleet_in_units_are_what_they_were() -> None:
    facts = as_facts(two_arms(unit="mJ"))

    assert "round_lengths" not in facts
    assert facts["arms"][0].keys().isdisjoint({"time_to_goal", "energy_spent", "lost"})
    assert "seconds" not in rounds_csv(two_arms()).splitlines()[0]
    assert "time" not in chart_data(two_arms())


def test_the_page_says_how_long_rounds_are(tmp_path: Path) -> None:
    for name, made in {"same": hours_and_joules(), "other": two_lengths()}.items():
        write_page(made, [], tmp_path / f"{name}.html", spec="", facts={}, commands=[])

    same, other = ((tmp_path / f"{name}.html").read_text("utf-8").replace("\u00a0", " ") for name in ("same", "other"))
    assert "3 rounds of 1 h (3 h), " in same
    assert "2 to 4 rounds of 1 h or 2 h (4 h)" in other


def test_every_figure_of_such_a_fleet_is_drawn(tmp_path: Path) -> None:
    drawn = draw_all(two_lengths(), tmp_path)

    assert {"learning", "differences", "energy", "participation", "batteries"} <= {one.name for one in drawn}


@pytest.mark.parametrize(
    ("rounds", "length", "marks"),
    [
        (48, 3600, [0, 6, 12, 18, 24, 30, 36, 42, 48]),
        (336, 3600, [0, 2, 4, 6, 8, 10, 12, 14]),
        (90, 60, [0, 15, 30, 45, 60, 75, 90]),
        (365, 86_400, [0, 56, 112, 168, 224, 280, 336]),
    ],
)
def test_time_is_numbered_as_people_count_it(rounds: int, length: float, marks: list[int]) -> None:
    clock = clock_of({"a": length}, {"a": rounds})
    figure = style.new_figure(4, 3)
    axes = figure.subplots()
    axes.set_xlim(0, rounds)
    name_rounds([axes], clock)
    figure.draw_without_rendering()

    (below,) = axes.child_axes
    low, high = below.get_xlim()
    assert [int(tick) for tick in below.get_xticks() if low - 1e-9 <= tick <= high + 1e-9] == marks
