"""User code that ends or changes its process: the command reports it, exits with 2, and writes where it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCHEDULER = """
import ctypes, os, signal, sys, time
import numpy as np

class Stop(BaseException):
    pass

def act(how):
    if how == "exit": os._exit(0)
    if how == "segfault": ctypes.string_at(0)
    if how == "kill": os.kill(os.getpid(), signal.SIGKILL)
    if how == "raise": raise Stop("enough")
    if how == "chdir": os.chdir(os.path.join(os.path.dirname(__file__), "elsewhere"))
    if how == "mute": sys.stdout = sys.stderr = None
    if how == "wait":
        open("waiting", "w").close()
        time.sleep(60)
    if how == "exit beside a child":
        if os.fork() == 0: time.sleep(5)
        os._exit(0)

class Sun:
    def units(self, seed, rounds, clients):
        if AT == "units": act(HOW)
        return np.ones((len(rounds), len(clients)), int)

    def mean_rates(self, n_clients):
        return np.ones(n_clients)

class Acts:
    def __init__(self):
        if AT == "init": act(HOW)

    def select(self, view):
        if AT == "select": act(HOW)
        return np.flatnonzero(view.energy >= view.cost)[:2]
"""

SPEC = """
name = "small"
rounds = 4
seeds = [0]
fleet.clients = 4
fleet.harvest = "mine:Sun"
learning.task = "quadratic"

[[arms]]
label = "one"
scheduler = "mine:Acts"
"""

SIMULATE = ("simulate", "-n", "4", "-t", "4", "--harvest", "mine:Sun", "-s", "mine:Acts")
TRAIN = ("train", *SIMULATE[1:], "--task", "quadratic", "--run", "run")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


def command(folder: Path, name: str, how: str, at: str = "select") -> list[str]:
    (folder / "mine.py").write_text(f'{SCHEDULER}\nHOW, AT = "{how}", "{at}"\n')
    arguments = {"train": TRAIN, "simulate": SIMULATE}.get(name, (name, "spec.toml"))
    return [sys.executable, "-m", "ehfl", *arguments]


def run(folder: Path, *case: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command(folder, *case), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (("simulate", "exit"), "user code ended the process: exit code 0 by os._exit"),
        (("simulate", "exit beside a child"), "user code ended the process: exit code 0 by os._exit"),
        (("plan", "kill", "units"), "user code ended the process: killed by SIGKILL (out of memory?)"),
        (("simulate", "raise", "init"), "Stop: enough (mine.py:12)"),
        (("train", "segfault"), "user code ended the process: killed by SIGSEGV"),
        (("compare", "kill", "init"), "user code ended the process: killed by SIGKILL (out of memory?)"),
        (("compare", "raise"), "Stop: enough (mine.py:12)"),
        (("audit", "segfault"), "user code ended the process: killed by SIGSEGV"),
        (("bound", "exit", "init"), "user code ended the process: exit code 0 by os._exit"),
    ],
    ids=lambda case: "-".join(case) if isinstance(case, tuple) else "",
)
def test_user_code_that_ends_the_process_is_one_line_and_exit_code_2(
    folder: Path, case: tuple[str, ...], message: str
) -> None:
    done = run(folder, *case)

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("ehfl: error: ") and done.stderr.endswith(f"{message}\n")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("case", [("train", "chdir", "init"), ("train", "chdir"), ("train", "mute")])
def test_a_run_lands_in_the_folder_asked_for(folder: Path, case: tuple[str, ...]) -> None:
    done = run(folder, *case)

    assert done.returncode == 0 and done.stdout
    assert (folder / "run" / "meta.json").exists() and not list((folder / "elsewhere").iterdir())


@pytest.mark.parametrize("case", [("bound", "mute", "init"), ("simulate", "mute", "units"), ("compare", "chdir")])
def test_results_are_shown_whatever_user_code_does_to_streams_and_folders(folder: Path, case: tuple[str, ...]) -> None:
    done = run(folder, *case)

    assert done.returncode == 0 and done.stdout
    assert case[0] != "compare" or (folder / "runs" / "small" / "summary.json").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_end_the_child_too(folder: Path, number: signal.Signals, code: int) -> None:
    """A terminal sends Ctrl-C to the whole group; `kill` and systems that end a job signal the command alone."""
    with subprocess.Popen(
        command(folder, "simulate", "wait"),
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while not (folder / "waiting").exists():
            time.sleep(0.05)
            assert process.poll() is None
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == code and "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
