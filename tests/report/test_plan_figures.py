"""Figures of plans: which there are, and what they draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from ehfl.planning import Calendar, Plan
from ehfl.report import plan_figures
from ehfl.report.figures import style
from ehfl.report.figures.plan import (
    MEAN,
    SHORT,
    curves_figure,
    draw_plan,
    hour_maps,
    hours_figure,
    months_figure,
    parts_of,
    year_figure,
)
from made_plans import answered, outlook_of, sun_plan, unit_plan


def test_only_figures_that_there_is_data_for() -> None:
    assert [one.name for one in plan_figures(unit_plan())] == ["year"]
    assert [one.name for one in plan_figures(sun_plan())] == ["year", "months", "hours"]
    assert [one.name for one in plan_figures(answered(sun_plan()))] == ["year", "months", "hours", "curves"]


@pytest.mark.parametrize("plan", [answered(unit_plan()), answered(sun_plan())], ids=["units", "sun"])
def test_figures_are_written_in_two_formats(plan: Plan, tmp_path: Path) -> None:
    for drawing in draw_plan(plan, tmp_path):
        assert drawing.png.stat().st_size > 1000
        assert drawing.svg.read_text(encoding="utf-8").startswith("<?xml")
        assert drawing.caption.endswith(".")


def test_the_year_has_a_point_a_day() -> None:
    plan = sun_plan()
    (axes,) = year_figure(plan).axes
    line = next(line for line in axes.lines if len(np.asarray(line.get_xdata())) == 59)

    assert parts_of(plan)[:3].tolist() == [0, 24, 48]
    assert np.asarray(line.get_ydata())[[0, 31]].tolist() == [46 / 24, 2]  # two of January's hours have one client
    assert [text.get_text() for text in axes.get_xticklabels()] == ["Jan", "Feb"]


def test_a_day_that_begins_at_noon_is_half_a_day() -> None:
    plan = replace(sun_plan(), calendar=Calendar(0, 3600.0, first_second=43_200))

    assert parts_of(plan)[:3].tolist() == [0, 12, 36]


def test_days_are_numbered_where_there_is_no_calendar() -> None:
    (axes,) = year_figure(replace(sun_plan(), calendar=None)).axes

    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "10", "20", "30", "40", "50"]
    assert axes.get_xticks()[1] == 240


def test_many_rounds_of_units_are_drawn_in_parts() -> None:
    plan = replace(unit_plan(), rounds=1000)

    assert parts_of(plan).tolist() == list(range(0, 1001, 5))


def test_months_are_what_is_paid_for_beside_what_takes_part() -> None:
    figure = months_figure(sun_plan())
    assert figure is not None
    bars = [bar.get_height() for bar in figure.axes[0].patches]  # type: ignore[attr-defined]
    (marks,) = (line for line in figure.axes[0].lines if line.get_marker() == "o")

    assert bars == pytest.approx([4 * 140 / 360, 4])
    assert np.asarray(marks.get_ydata()).tolist() == pytest.approx([46 / 24, 2])


def test_hours_show_when_clients_are_too_few() -> None:
    maps = hour_maps(sun_plan())

    assert list(maps) == [MEAN, SHORT]
    assert np.flatnonzero(maps[SHORT][0]).tolist() == [4, 5]
    figure = hours_figure(sun_plan())
    assert figure is not None
    meshes = [found for axes in figure.axes for found in axes.collections if isinstance(found, QuadMesh)]
    assert np.asarray(meshes[0].get_array()).reshape(2, 24)[0, 4] == 1


def test_hours_are_left_out_where_there_are_always_enough() -> None:
    plan = sun_plan()
    always = outlook_of("myopic", 2, [[2] * plan.rounds], [700, 700, 700, 732])

    assert hours_figure(replace(plan, outlooks=(always,))) is None
    assert hours_figure(replace(plan, calendar=Calendar(0, 86_400.0))) is None


def test_curves_mark_what_is_now_and_what_would_do() -> None:
    figure = curves_figure(answered(sun_plan()))
    assert figure is not None
    (axes,) = figure.axes
    (star,) = (line for line in axes.lines if line.get_marker() == "*")

    assert np.asarray(star.get_xdata()).tolist() == [9090.0]
    assert axes.get_xlabel() == "battery [Wh]"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2.5", "5", "10"]
    assert curves_figure(sun_plan()) is None


def test_names_of_the_users_are_no_formulas(tmp_path: Path) -> None:
    plan = unit_plan()
    odd = replace(plan.outlooks[0], label="a $x")
    plan = replace(plan, outlooks=(odd,), schedulers={"a $x": ""})

    style.save(year_figure(plan), tmp_path / "year.svg")
