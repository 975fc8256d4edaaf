"""Code of the user's own that exits, prints or is interrupted while a command works, and text that cannot be shown."""

from __future__ import annotations

import io
import json
import signal
import sys
from pathlib import Path

import pytest

from ehfl.cli import main
from ehfl.cli.streams import show_what_can_be_shown

Capture = pytest.CaptureFixture[str]
SMALL = ["--rounds", "6"]
LEARNING = ["--task", "quadratic", "--step-size", "0.1", *SMALL]
OWN = '''
"""Things that leave, each in its own way."""
import os, sys
import numpy as np

class Quits:
    def select(self, view):
        if view.round == 3:
            sys.exit(0)
        return []

class QuitsWhenMade:
    def __init__(self):
        sys.exit("enough")
    def select(self, view):
        return []

class Night:
    def units(self, seed, rounds, clients):
        if rounds[0] > 0:
            raise SystemExit
        return np.zeros((len(rounds), len(clients)), int)
    def mean_rates(self, n_clients):
        sys.exit(3)

class Interrupted:
    def select(self, view):
        print("choosing")
        if view.round == 3:
            raise KeyboardInterrupt
        return []

class Loud:
    def select(self, view):
        print("choosing", os.write(1, b"without Python"))  # the latter as a library in C does, or a program
        return []

from ehfl.learning.tasks.problems import ProblemTask, quadratic

class Task(ProblemTask):
    def __init__(self):
        vars(self).update(vars(quadratic()))
    def loss(self, outputs, targets):
        sys.exit(0)

class Asking(Task):
    def loss(self, outputs, targets):
        raise EOFError("nobody answers")

class Terminated:
    def select(self, view):
        import os, signal
        if view.round == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return []
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "things_that_leave.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "things_that_leave", raising=False)


def run(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return stop.value.code


# What leaves -> what is said of it
EXITS = {
    ("simulate", "-s", "leaving:Mine"): "must be importable as package.module:Class, got leaving:Mine (SystemExit: 0)",
    ("simulate", "--harvest", "leaving:Mine"): "got leaving:Mine (SystemExit: 0)",
    ("compare", "-o", "schedulers=['leaving:Mine']"): "got leaving:Mine (SystemExit: 0)",
    ("train", "--task", "leaving:Mine"): "got leaving:Mine (SystemExit: 0)",
    (
        "simulate",
        *SMALL,
        "-s",
        "things_that_leave:Quits",
    ): "Quits fails: round 3, SystemExit: 0 (things_that_leave.py:9",
    ("bound", *SMALL, "-s", "things_that_leave:Quits"): "Quits fails: round 3, SystemExit: 0 (things_that_leave.py:9",
    ("train", *LEARNING, "-s", "things_that_leave:Quits"): "which breaks the rules: fails: round 3, SystemExit: 0",
    ("simulate", *SMALL, "-s", "things_that_leave:QuitsWhenMade"): "SystemExit: enough",
    ("simulate", *SMALL, "--harvest", "things_that_leave:Night"): "SystemExit: 3",
    ("train", "--task", "things_that_leave:Task", *SMALL): "SystemExit: 0 (things_that_leave.py:44)",
    ("train", "--task", "things_that_leave:Task", *SMALL, "--run", "kept"): "SystemExit: 0",
    ("train", "--task", "things_that_leave:Asking", *SMALL): "EOFError: nobody answers",
}


@pytest.mark.parametrize("command", EXITS, ids=" ".join)
def test_an_exit_in_code_of_ones_own_is_one_line_and_exit_code_2(command: tuple[str, ...], capsys: Capture) -> None:
    assert run(*command) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    said = shown.err.lstrip("\n")  # typer begins a new line if it meets EOFError
    assert said.count("\n") == 1 and said.startswith("ehfl: error: ")
    assert EXITS[command] in shown.err
    assert not Path("runs").exists()


@pytest.mark.parametrize("command", [("simulate", *SMALL), ("bound", *SMALL), ("train", *LEARNING)], ids=lambda c: c[0])
def test_what_a_scheduler_prints_is_no_result(command: tuple[str, ...], capfd: Capture) -> None:
    assert run(*command, "-s", "things_that_leave:Loud", "--json") == 0

    shown = capfd.readouterr()
    assert json.loads(shown.out)
    assert "choosing" in shown.err and "without Python" in shown.err


def test_ctrl_c_says_how_to_go_on_and_the_code_is_130(capsys: Capture) -> None:
    assert run("train", *LEARNING, "-s", "things_that_leave:Interrupted", "--run", "kept") == 130

    assert capsys.readouterr().err.splitlines()[-1] == "stopped; the same command goes on from here"


def test_so_does_the_signal_of_a_system_that_ends_it_whose_code_is_143(capsys: Capture) -> None:
    before = signal.getsignal(signal.SIGTERM)

    assert run("train", *LEARNING, "-s", "things_that_leave:Terminated", "--run", "kept") == 143

    assert capsys.readouterr().err.splitlines()[-1] == "stopped; the same command goes on from here"
    assert signal.getsignal(signal.SIGTERM) == before


def test_characters_that_a_terminal_does_not_know_are_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", line_buffering=True))
    show_what_can_be_shown()

    sys.stdout.write("0.5 \N{PLUS-MINUS SIGN} 0.1 \N{SNOWMAN}\n")

    assert written.getvalue() == b"0.5 ? 0.1 ?\n"


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_stream_that_was_closed_from_the_start_is_no_error(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, closed, None)  # which is what Python makes of it

    assert run("simulate", *SMALL) == 0


def test_report_runs_classes_of_a_folder_only_with_consent(tmp_path: Path, capsys: Capture) -> None:
    """A downloaded folder can name any code, which importing it would run."""
    (tmp_path / "gusty.py").write_text(
        "from pathlib import Path\nfrom ehfl import Bernoulli\n"
        "Path(__file__).with_name('imported').touch()\n\n\nclass Gusty(Bernoulli):\n    pass\n"
    )
    changes = ("fleet.harvest=gusty:Gusty:0.5", "arms=[{}]", "rounds=3", "seeds=1", "learning.task=quadratic")
    spec = [word for change in changes for word in ("-o", change)]
    assert run("compare", *spec, "--jobs", "1") == 0, capsys.readouterr().err
    (tmp_path / "imported").unlink()
    sys.modules.pop("gusty")

    assert run("report", "runs/demo") == 0
    assert run("report", "runs/demo", "--clairvoyant") == 2
    assert "got gusty:Gusty (not imported: the code that a run folder names is run only with --trust)" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "imported").exists()
    assert run("report", "runs/demo", "--clairvoyant", "--trust") == 0
