"""One definition of the table: what a line says of an arm, and that every renderer shows the same."""

from __future__ import annotations

import html
import re
from pathlib import Path

from ehfl.analysis import Comparison
from ehfl.report import comparison_table
from ehfl.report.pages.comparison import write_page
from ehfl.report.tables.comparison import caption, quantities
from ehfl.report.tables.render import Cell
from ehfl.report.write import DASH
from ehfl.runs import Metric
from made_trials import arms_ending_at, two_arms


def cells(comparison: Comparison, label: str) -> list[Cell]:
    (line,) = [line for line in quantities(comparison) if line.label == label]
    return [line.cell(row) for row in comparison.rows]


def test_a_cell_has_its_text_and_interval() -> None:
    first, _ = cells(two_arms(), "final accuracy")

    assert first == Cell("85 %", "± 64", "21 to 100")  # t = 12.706 times 5 points; none above 100 %


def test_a_difference_is_strong_where_its_interval_leaves_zero_out() -> None:
    apart = arms_ending_at({"a": [0.9, 0.92, 0.94], "b": [0.8, 0.821, 0.839], "c": [0.9, 0.92, 0.93]})

    first, clear, close = cells(apart, "difference [points]")

    assert first == Cell(DASH)
    assert (clear.text, clear.strong) == ("-10.00", True)
    assert not close.strong


def test_only_a_share_has_points() -> None:
    labels = [line.label for line in quantities(two_arms(metric=Metric("accuracy")))]  # a name alone decides nothing

    assert "difference" in labels
    assert cells(two_arms(metric=Metric("accuracy")), "final accuracy")[0].text == "0.85"


def test_energy_has_the_fleets_unit() -> None:
    labels = [line.label for line in quantities(two_arms(unit="mJ"))]

    assert "energy to goal [mJ]" in labels
    assert not any("[units]" in label for label in labels)


def test_seeds_at_the_goal_are_counted_only_where_some_missed_it() -> None:
    assert "seeds at the goal" not in [line.label for line in quantities(two_arms(goal=0.5))]
    assert [cell.text for cell in cells(two_arms(goal=0.85), "seeds at the goal")] == ["1 of 2", "2 of 2"]


def test_the_caption_claims_pairs_only_where_there_are_some() -> None:
    alone = arms_ending_at({"a": [0.9, 0.8]})

    assert "differences to greedy" in caption(two_arms())
    assert "paired t-tests" not in caption(two_arms(seeds=1))
    assert caption(alone) == "goal: accuracy 80.0 %; 95 % t-intervals over 2 seeds"


def test_a_single_arm_has_no_lines_of_what_it_differs_from() -> None:
    labels = [line.label for line in quantities(arms_ending_at({"a": [0.9, 0.8]}))]

    assert "final accuracy" in labels
    assert not {"difference [points]", "p-value", "slowdown, measured", "noise limit"} & set(labels)


# renderers


def test_the_terminal_and_the_page_show_the_same_labels_and_texts(tmp_path: Path) -> None:
    comparison = two_arms(unit="mJ")
    printed = comparison_table(comparison).text(120).splitlines()
    write_page(comparison, [], tmp_path / "page.html", spec="", facts={}, commands=[])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    body = page.partition("Full table")[2].partition("<tbody>")[2].partition("</table>")[0]
    cells = [re.findall(r"<td[^>]*>(?:<strong>)?([^<]*)", row) for row in body.split("</tr>") if "<td" in row]
    on_page = [list(map(html.unescape, row)) for row in cells]

    for line, found in zip(comparison_table(comparison).lines, on_page, strict=True):
        texts, label = [cell.text for cell in line.cells], f"  {line.label}" if line.nested else line.label
        (shown,) = [text for text in printed if text.startswith(f"{label} ")]
        assert shown.removeprefix(label).split() == " ".join(texts).split()
        assert found == texts
        assert f'title="{line.meaning}">{line.label}</th>' in html.unescape(page)
