"""What `ehfl compare` shows in a terminal while it works."""

from __future__ import annotations

import io
import re
import sys

import pytest

from ehfl.cli.live import live, progress
from ehfl.experiment import State


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_empty_half_done_and_finished_bars_differ_in_sixteen_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"TERM": "xterm", "COLORTERM": "", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    with live({"empty": 8, "half": 8, "done": 8}) as show:
        show([State("empty", 0, 0, 8, None), State("half", 0, 4, 8, 0.5), State("done", 0, 8, 8, 0.9)])

    shown = {arm: terminal.getvalue().rpartition(arm)[2].partition("rounds")[0] for arm in ("empty", "half", "done")}
    colours = {arm: re.findall(r"\x1b\[(\d+)m━", text) for arm, text in shown.items()}
    assert [len(found) for found in colours.values()] == [1, 2, 1]
    assert colours["half"][1] == colours["empty"][0]
    assert len({colours["empty"][0], colours["half"][0], colours["done"][0]}) == 3


def test_a_failure_is_printed_once_above_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    with live({"mine": 8, "greedy": 8}) as show:
        for played in (2, 3):
            show([State("mine", 0, 0, 8, None, "the sun went out"), State("greedy", 0, played, 8, 0.5)])

    assert terminal.getvalue().count("mine seed 0 failed: the sun went out") == 1
    assert re.search(r"mine.*0/8 rounds.*failed", terminal.getvalue())


def test_plain_lines_name_failures_once_and_progress_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with live({"mine": 40, "greedy": 40}) as show:
        for played in range(41):  # two seconds a round
            failed = "the sun went out" if played > 3 else None
            show([State("mine", 0, min(played, 3), 40, None, failed), State("greedy", 0, played, 40, 0.5)])
            now += 2
        now += 60  # nothing is played in a minute
        show([State("mine", 0, 3, 40, None, failed), State("greedy", 0, 40, 40, 0.5)])

    first, *others = capsys.readouterr().err.splitlines()
    assert first == "mine seed 0 failed: the sun went out"
    # Of 43 rounds that there are, ten percent take longer than ten seconds only at first.
    assert others[0] == "21% done, 9 of 43 rounds, about 45 s left"
    assert others[-1].startswith("100% done, 43 of 43 rounds") and "left" not in others[-1] and len(others) == 7


def test_arms_of_different_lengths_have_bars_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    with live({"short": 4, "long": 16}) as show:
        show([State("short", 0, 1, 2, None), State("short", 1, 2, 2, 0.5), State("long", 0, 3, 8, None)])

    assert re.search(r"short.*3/4 rounds.*metric 0\.5", terminal.getvalue())
    assert re.search(r"long.*3/8 rounds.*-", terminal.getvalue())


def test_values_have_labels_in_bars_and_in_the_progress_of_a_single_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    with live({"mine": 8}) as show:
        show([State("mine", 0, 4, 8, 0.93, None, "accuracy [%]")])
    with progress("training", 8, lambda step: "gap 0.25" if step == 1 else "") as advance:
        for step in (1, 2):
            advance(step)
    with progress("planning", detail=str) as advance:
        advance("battery 2 Wh")

    assert re.search(r"4/8 rounds.*accuracy \[%\] 0\.93", terminal.getvalue())
    assert "gap 0.25" in terminal.getvalue() and re.search(r"planning.*battery 2 Wh", terminal.getvalue())


def test_without_a_terminal_a_long_command_says_now_and_then_how_long_it_will_take(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)

    with progress("playing", 20, unit="rounds") as advance:
        for _ in range(20):  # four seconds a round
            now += 4
            advance(None)
    with progress("planning", detail=str) as advance:  # a search, whose number of steps is not known
        for step in ("battery 1 Wh", "battery 2 Wh", "battery 3 Wh"):
            now += 6
            advance(step)

    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "playing: 15% done, 3 of 20 rounds, about 68 s left"
    assert len(lines) == 7 and lines[-1] == "planning: 2 steps done; battery 2 Wh"


def test_short_work_says_nothing_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("playing", 3) as advance:
        for step in range(3):
            advance(step)

    assert capsys.readouterr().err == ""
