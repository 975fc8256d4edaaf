"""Bounds as tables and figures: every arm is there, in the colour of its scheduler."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from matplotlib.patches import Rectangle

from ehfl.report import bound_output, extra_rounds_figure, verified_figure, verified_output
from ehfl.report.figures import style
from ehfl.report.figures.looks import looks
from ehfl.report.tables.bound import Bounds, shared_constants
from ehfl.report.tables.output import Output
from ehfl.theory import Constants, Coverage, Verified, bound_slowdown, promise

CONSTANTS = Constants(1.0, 1.0, 1.0)
COUNTS = {"not-greedy": [2, 4] * 10, "mains": [3] * 20}
PROMISES = {name: promise(n_t, 1, CONSTANTS) for name, n_t in COUNTS.items()}
SLOW = {name: bound_slowdown(kept, COUNTS["mains"], 1, CONSTANTS) for name, kept in PROMISES.items()}
VERIFIED = [
    Verified("A", "quadratic", arm, rule, 1, bound=1.0, measured=0.5, margin=0.01)
    for arm in ("not-greedy", "b")
    for rule in ("constant", "sqrt", "linear")
]


COVERAGES = {
    "not-greedy": Coverage(None, "steps are beyond 1/L", largest_step=2.5, best_constant=0.25),
    "mains": Coverage("A", "", largest_step=0.5, own_steps=0.125, best_constant=0.0625),
}


def output_of(known: dict[str, Constants]) -> Output:
    arms = {name: Bounds(kept, SLOW[name], COVERAGES[name], known[name]) for name, kept in PROMISES.items()}
    return bound_output("a fleet", arms, 1)


def test_bounds_have_arms_as_rows_and_every_figure_side_by_side() -> None:
    output = output_of(dict.fromkeys(PROMISES, CONSTANTS))
    (full,) = output.full
    lines = full.text().splitlines()

    assert [[line.label, *(cell.text for cell in line.cells)][:5] for line in output.table.lines] == [
        ["not-greedy", "2-4", "none", "–", "0.250"], ["mains", "3-3", "A", "0.125", "0.062"]  # noqa: RUF001
    ]  # fmt: skip
    assert output.table.lines[1].cells[-2].text.endswith("1.00, 1.00")  # mains power beside itself
    assert lines[0].split() == ["not-greedy", "mains"]
    assert lines[1].split() == ["participants", "2", "to", "4", "3", "to", "3"]
    assert [line.split()[-2:] for line in lines[2:6]] == [
        ["none", "A"], ["2.5", "0.5"], ["–", "0.125"], ["0.25", "0.0625"]  # noqa: RUF001
    ]  # fmt: skip
    assert output.verdict[0].startswith("not-greedy comes closest to mains power: ")
    assert output.verdict[1:] == ("not-greedy: no theorem covers this: steps are beyond 1/L",)


def test_constants_that_differ_have_lines_of_their_own() -> None:
    known = {"not-greedy": Constants(1.0, 1.0, 1.0, heterogeneity=0.5), "mains": CONSTANTS}
    output = output_of(known)

    assert shared_constants(known.values()) == "L = 1, s2 = 1, gap = 1"
    assert output.full[0].text().splitlines()[2].split() == ["zeta2", "0.5", "0"]
    assert "are for data that are alike" in output.table.caption


def test_measurements_stand_beside_their_bounds() -> None:
    text = verified_output(VERIFIED, 200).full[1].text()

    assert "quadratic K=1 sqrt" in text
    assert text.count("0.500/1.000") == 6


def test_shares_of_bounds_have_a_row_for_each_theorem_and_participation() -> None:
    unlike = [
        Verified("E", "wells", "unequal rates", "constant", 1, bound=1.0, measured=0.25, margin=0.1),
        Verified("C", "wells", "b", "constant", 5, bound=1.0, measured=1.5, margin=0.1),
    ]
    output = verified_output(VERIFIED + unlike, 200)

    found = [(line.group, line.label, [cell.text for cell in line.cells]) for line in output.table.lines]
    assert found == [
        ("A: data alike", "not-greedy", ["0.500", "–", "–"]),  # noqa: RUF001
        ("A: data alike", "b", ["0.500", "–", "–"]),  # noqa: RUF001
        ("C: unlike, any sets", "b", ["–", "–", "1.500*"]),  # noqa: RUF001
        ("E: unlike, sets by chance", "unequal rates", ["–", "0.250", "–"]),  # noqa: RUF001
    ]
    assert output.verdict == ("1 of 8 bounds are broken; 95 % intervals are within 40.0% of the measurements.",)


@pytest.mark.parametrize("kind", ["slowdown", "verified"])
def test_colours_go_by_scheduler_and_not_by_label(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bound.svg"
    schedulers = {"not-greedy": "", "b": "greedy", "mains": "always-on"}

    look = looks(schedulers)
    style.save(extra_rounds_figure(SLOW, look) if kind == "slowdown" else verified_figure(VERIFIED, look), path)

    drawn = path.read_text(encoding="utf-8").lower()
    own, greedy = looks({"not-greedy": "", "b": "greedy"}).values()
    assert own.colour.lower() in drawn
    assert (greedy.colour.lower() in drawn) == (kind == "verified")


def test_extra_rounds_start_at_zero_with_numbers_and_what_was_played() -> None:
    slow = {"a": {"constant": 1.0084, "sqrt": 1.5, "linear": 4.26, "best": math.inf}, "mains": SLOW["mains"]}

    figure = extra_rounds_figure(slow, looks({"a": "", "mains": "always-on"}), "10 clients, K = 5, seed 3")

    assert figure.get_suptitle() == "10 clients, K = 5, seed 3"
    assert "extra rounds" in figure.get_supxlabel() and "[%], one seed" in figure.get_supxlabel()
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["+0.84", "+50", "+326", "never"]
    bars = [bar for axes in figure.axes for bar in axes.patches if isinstance(bar, Rectangle)]
    assert [bar.get_x() for bar in bars] == [0] * 4
