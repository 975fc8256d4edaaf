"""A comparison as HTML, as text and as a DataFrame."""

from __future__ import annotations

import html
import math
import re
from dataclasses import fields

import pytest

from ehfl.analysis import Comparison, Row
from ehfl.report.tables.compact import compact_table
from made_trials import arms_ending_at, two_arms

EVIL = "<script>alert('1')</script>\"&amp;"


def shown(comparison: Comparison) -> str:
    """Return what a notebook shows."""
    return comparison._repr_html_()


def test_the_notebook_shows_the_compact_table() -> None:
    table, text = compact_table(two_arms()), html.unescape(shown(two_arms()))

    assert table.title in text and table.caption in text
    assert all(name.replace("\n", "<br>") in text for name in table.names)
    assert all(cell.text.strip() in text for line in table.lines for cell in line.cells)


def test_names_stay_text_in_a_notebook() -> None:
    comparison = arms_ending_at({EVIL: [0.9, 0.8], f"{EVIL}2": [0.7, 0.9]}, name=EVIL)

    assert "<script" not in shown(comparison)
    assert html.escape(EVIL) in shown(comparison)
    plain = arms_ending_at({"a": [0.9, 0.8], "b": [0.7, 0.9]})
    assert re.findall(r"<[^>]*?(?= |>)", shown(comparison)) == re.findall(r"<[^>]*?(?= |>)", shown(plain))


def test_printed_it_is_a_table_and_its_representation_is_short() -> None:
    lines = str(two_arms()).splitlines()

    assert lines[0].startswith("made: accuracy, ")
    assert [line.split()[:4] for line in lines[4:6]] == [["greedy", "85", "±", "64"], ["myopic", "91", "±", "13"]]
    assert repr(two_arms()) == "<Comparison made: accuracy of greedy, myopic>"


def test_the_frame_has_a_row_for_each_arm() -> None:
    comparison = two_arms()
    frame = comparison.frame()
    greedy, myopic = comparison.rows

    assert frame.index.tolist() == ["greedy", "myopic"]
    assert frame.index.name == "arm"
    assert frame[["scheduler", "aggregation"]].to_numpy().tolist() == [["greedy", "mean"], ["myopic", "mean"]]
    assert all(kind.kind in "if" for kind in frame.drop(columns=["scheduler", "aggregation"]).dtypes)
    assert frame.loc["myopic", "final"] == myopic.final.mean
    assert frame.loc["myopic", ["final_low", "final_high"]].tolist() == [myopic.final.low, myopic.final.high]
    assert math.isnan(frame.loc["greedy", "difference"])
    assert frame.loc["myopic", "difference"] == pytest.approx(0.06)
    assert frame.loc["myopic", "p_value"] == pytest.approx(0.374, abs=1e-3)
    assert frame["noise_limit"].tolist() == [greedy.noise_limit, myopic.noise_limit]
    assert frame["seeds"].tolist() == [2, 2]


def test_the_frame_has_every_figure_of_a_row() -> None:
    columns = two_arms().frame().columns

    assert {field.name for field in fields(Row)} - set(columns) == {"arm"}


def test_without_a_seed_at_the_goal_the_frame_has_numbers_all_the_same() -> None:
    frame = two_arms(goal=2.0, seeds=1).frame()

    assert frame[["rounds_to_goal", "energy_to_goal", "measured_slowdown", "final_low"]].isna().all(axis=None)
    assert all(kind.kind in "if" for kind in frame.drop(columns=["scheduler", "aggregation"]).dtypes)
