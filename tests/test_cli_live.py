"""What `ehfl compare` shows in a terminal while it works."""

from __future__ import annotations

import io
import re
import sys

import pytest

from ehfl.cli.live import live
from ehfl.experiment import State


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_empty_half_done_and_finished_bars_differ_in_sixteen_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"TERM": "xterm", "COLORTERM": "", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    with live(["empty", "half", "done"], seeds=1, rounds=8) as show:
        show([State("empty", 0, 0, 8, None), State("half", 0, 4, 8, 0.5), State("done", 0, 8, 8, 0.9)])

    shown = {arm: terminal.getvalue().rpartition(arm)[2].partition("rounds")[0] for arm in ("empty", "half", "done")}
    colours = {arm: re.findall(r"\x1b\[(\d+)m━", text) for arm, text in shown.items()}
    assert [len(found) for found in colours.values()] == [1, 2, 1]
    assert colours["half"][1] == colours["empty"][0]
    assert len({colours["empty"][0], colours["half"][0], colours["done"][0]}) == 3
