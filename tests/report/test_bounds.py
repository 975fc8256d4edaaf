"""Bounds as tables and figures: every arm is there, in the colour of its scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from ehfl.report import draw_slowdown, draw_verified, promise_table, verified_table
from ehfl.report.looks import looks
from ehfl.report.tables import SideBySide
from ehfl.theory import Constants, Verified, promise, slowdown

CONSTANTS = Constants(1.0, 1.0, 1.0)
COUNTS = {"not-greedy": [2, 4] * 10, "mains": [3] * 20}
PROMISES = {name: promise(n_t, 1, CONSTANTS) for name, n_t in COUNTS.items()}
SLOW = {name: slowdown(kept, COUNTS["mains"], 1, CONSTANTS) for name, kept in PROMISES.items()}
VERIFIED = [
    Verified("quadratic", arm, rule, 1, bound=1.0, measured=0.5, margin=0.01)
    for arm in ("not-greedy", "b")
    for rule in ("constant", "sqrt", "linear")
]


def text_of(table: SideBySide) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_bounds_stand_side_by_side() -> None:
    lines = text_of(promise_table(PROMISES, SLOW, 1)).splitlines()

    assert lines[0].split() == ["not-greedy", "mains"]
    assert lines[1].split() == ["participants", "2", "to", "4", "3", "to", "3"]
    assert lines[-1].split()[-1] == "1"  # mains power beside itself


def test_measurements_stand_beside_their_bounds() -> None:
    text = text_of(verified_table(VERIFIED))

    assert "quadratic K=1 sqrt" in text
    assert text.count("0.500/1.000") == 6
    assert "bounds broken: 0 of 6" in " ".join(text.split())


@pytest.mark.parametrize("kind", ["slowdown", "verified"])
def test_colours_go_by_scheduler_and_not_by_label(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bound.svg"
    schedulers = {"not-greedy": "", "b": "greedy", "mains": "always-on"}

    if kind == "slowdown":
        draw_slowdown(SLOW, path, schedulers=schedulers)
    else:
        draw_verified(VERIFIED, path, schedulers=schedulers)

    drawn = path.read_text(encoding="utf-8").lower()
    own, greedy = looks({"not-greedy": "", "b": "greedy"}).values()
    assert own.colour.lower() in drawn
    assert (greedy.colour.lower() in drawn) == (kind == "verified")
