"""Cells of the comparison's table, worked by hand."""

from __future__ import annotations

import pytest

from ehfl.analysis import compare
from ehfl.report.tables.comparison import comparison_table
from ehfl.report.tables.render import Cell, Line, Table
from ehfl.report.write import DASH
from ehfl.runs import Metric
from made_trials import ACCURACY, made_trial, two_arms


def text_of(table: Table, width: int = 80) -> list[str]:
    return table.text(width).splitlines()


def line(lines: list[str], label: str, *, below: int = 0) -> list[str]:
    """Return the cells of the line that starts so, or of one below it."""
    at = next(n for n, text in enumerate(lines) if text.strip().startswith(label))
    return lines[at + below].replace(label, "").replace("± ", "±").replace(" %", "%").split()


def test_cells_by_hand() -> None:
    lines = text_of(comparison_table(two_arms()))

    assert lines[0].split() == ["greedy", "myopic"]
    assert line(lines, "final accuracy") == ["85%", "91%"]
    assert line(lines, "final accuracy", below=1) == ["±64", "±13"]  # t = 12.706 times 5 and 1 points
    assert line(lines, "difference [points]") == ["–", "+6"]  # noqa: RUF001  of 10 and 2
    assert line(lines, "difference [points]", below=1) == ["±51"]
    assert line(lines, "p-value") == ["–", "0.37"]  # noqa: RUF001  t = 1.5, one degree of freedom: 0.374
    assert line(lines, "area under the curve") == ["48%", "64%"]  # of 0.45, 0.5 and 0.625, 0.655
    assert line(lines, "rounds to goal") == ["2.1", "1.50"]  # of 2.25, 2 and 1.5, 1.5
    assert line(lines, "energy to goal [units]") == ["4.1", "3"]  # of 4.25, 4 and 3, 3
    assert line(lines, "participants, mean") == ["1.83", "2"]
    assert line(lines, "lowest (mean)") == ["0.500", "2"]
    assert line(lines, "empty rounds") == ["0.500", "0"]
    assert line(lines, "clients short a round") == ["0.667", "0"]
    assert line(lines, "harvest wasted") == ["50.0%", "50.0%"]
    assert line(lines, "slowdown, measured") == ["1.4", "1"]  # of 2.25 / 1.5 and 2 / 1.5


def test_columns_that_do_not_fit_are_named_below_a_table_without_a_caption() -> None:
    table = Table(("first", "second"), (Line("arm", (Cell("1" * 20), Cell("2" * 20))),), arms_are_rows=True)

    assert text_of(table, width=40)[-1] == "not shown here: second"


def test_a_caption_explains_no_column_that_is_not_shown() -> None:
    cells = Cell("1" * 20), Cell("2" * 20)
    table = Table(("first", "rounds\nx mains"), (Line("arm", cells),), "± 95 %; x mains: slowdown", arms_are_rows=True)

    assert text_of(table, width=40)[-1] == "± 95 %; not shown here: rounds x mains"
    assert "x mains: slowdown" in text_of(table, width=100)[-1]


def test_caption_says_what_the_intervals_are() -> None:
    caption = comparison_table(two_arms()).caption

    assert caption == (
        "goal: accuracy 50.0 %; differences to greedy; slowdowns relative to myopic; 95 % t-intervals over 2 seeds; "
        "p-values of paired t-tests"
    )
    assert "no intervals" in str(comparison_table(two_arms(seeds=1)).caption)


def test_a_goal_that_is_out_of_reach_leaves_dashes() -> None:
    lines = text_of(comparison_table(two_arms(goal=2.0)))

    assert line(lines, "seeds at the goal") == ["0", "of", "2", "0", "of", "2"]
    assert line(lines, "rounds to goal") == line(lines, "slowdown, measured") == [DASH] * 2


def test_other_metrics_are_no_percentages() -> None:
    lines = text_of(comparison_table(two_arms(metric=Metric("score"))))

    assert line(lines, "final score") == ["0.85", "0.91"]
    assert line(lines, "final score", below=1) == ["±0.64", "±0.13"]
    assert line(lines, "difference") == [DASH, "+0.06"]


def many_arms(arms: int) -> Table:
    names = [f"uniform-random:{n} [with steps]" for n in range(arms)]
    trials = [made_trial(name, seed, [0.1, 0.2, 0.3 + seed / 9], [4] * 3) for name in names for seed in range(2)]
    return comparison_table(compare("wide", trials, ACCURACY, 2))


@pytest.mark.parametrize("arms", [5, 7])
def test_it_fits_80_columns(arms: int) -> None:
    lines = text_of(many_arms(arms))

    assert max(len(text) for text in lines) <= 80
    assert sum(text.startswith("final accuracy") for text in lines) == -(-arms // 5)
    assert line(lines, "final accuracy") == ["36%"] * 5
    assert any("[with" in text for text in lines)  # brackets are no markup


@pytest.mark.parametrize("width", [40, 50, 60, 100])
def test_no_width_breaks_digits_or_loses_an_arm(width: int) -> None:
    lines = text_of(many_arms(6), width)

    assert max(len(text) for text in lines) <= width
    assert sum(text.count("36 %") for text in lines) == 6
    assert sum(text.count("± 71") for text in lines) >= 6
    assert not any(text.strip() in {"%", "±", "71"} for text in lines)


def test_a_table_that_nothing_bounds_has_all_arms_abreast() -> None:
    assert line(text_of(many_arms(12), 1000), "final accuracy") == ["36%"] * 12
