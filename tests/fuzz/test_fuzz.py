"""The short form: some 500 cases, the same in every run. `make fuzz` is the long one."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from . import cases
from .cases import Case, run
from .judging import Outcome, judge
from .kinds import KINDS

QUICK = {"commands": 120, "specs": 250, "folders": 50, "own-code": 30, "resumed": 20}
SLOW = {"reports": 6, "comparisons": 4}  # they draw


def findings(kind: str, number: int) -> str:
    found = [finding for at in range(number) for finding in run(Case(0, kind, at), KINDS[kind])]
    return "\n".join(map(str, found))


def test_every_kind_is_tried() -> None:
    assert {*QUICK, *SLOW} == set(KINDS)


@pytest.mark.parametrize("kind", QUICK)
def test_cases_end_well_or_in_one_line(kind: str) -> None:
    assert findings(kind, QUICK[kind]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOW)
def test_drawn_cases_end_well_or_in_one_line(kind: str) -> None:
    assert findings(kind, SLOW[kind]) == ""


# What is wrong is found, so that silence means something.


def wrong(chance: Random, place: Path) -> Iterator[str]:
    yield "something wrong"
    match chance.randrange(4):
        case 0:
            sys.exit()
        case 1:
            warnings.warn("warned", stacklevel=1)
        case 2:
            time.sleep(5)
        case _:
            yield str(1 / 0)


def test_an_exit_a_warning_a_hang_and_an_error_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "WAITING", 0.2)
    found = {run(Case(0, "wrong", number), wrong)[0].fault.split(":")[0] for number in range(12)}

    assert found == {"SystemExit", "UserWarning", "it hangs", "ZeroDivisionError"}


@pytest.mark.parametrize(
    ("outcome", "left", "fault"),
    [
        (Outcome(1, "", ""), set(), "it ends with 1"),
        (Outcome(2, "", "no\nyes\n"), set(), "not one line"),
        (Outcome(2, "", f"ehfl: error: {'x' * 2000}\n"), set(), "a message of"),
        (Outcome(2, "a table", "ehfl: error: no\n"), set(), "it prints before it refuses"),
        (Outcome(2, "", "ehfl: error: no\n"), {Path("half")}, "it refuses and leaves"),
        (Outcome(0, '{"mean": NaN}', ""), set(), "no JSON"),
        (Outcome(0, "{}", "saved: \x1b[31m"), set(), "'\\x1b' reaches the terminal"),
    ],
)
def test_what_a_command_may_not_do_is_a_finding(outcome: Outcome, left: set[Path], fault: str) -> None:
    assert [found for found in judge(["simulate", "--json"], outcome, left) if found.startswith(fault)]


@pytest.mark.parametrize("kind", ["commands", "own-code"])
def test_a_case_is_the_same_whenever_it_is_tried(kind: str, tmp_path: Path) -> None:
    tried = []
    for attempt in ("one", "two"):
        (tmp_path / attempt).mkdir()
        tried.append(next(KINDS[kind](Case(0, kind, 3).chance(), tmp_path / attempt)))

    assert tried[0] == tried[1]
