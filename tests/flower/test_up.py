"""`ehfl flower up` with real processes: stopped, refused while it runs, gone on with, and what it says of a failure."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ehfl.runs import RunFolder, read_history
from waiting import Start, still_running, wait_for

EHFL = str(Path(sys.executable).with_name("ehfl"))
SPEC = """
rounds = 3
seeds = [3]
schedulers = ["greedy"]
fleet = { clients = 2, initial = 1 }
learning = { task = "quadratic", step_size = "nominal-causal", local_steps = 1 }
evaluation.every = 2
"""
# It fails in processes of Flower's alone, so that the trial before the run does not show it.
SUNLESS = """import os
import numpy as np
class Sunless:
    def select(self, view):
        if view.round == 1 and "FLWR_HOME" in os.environ:
            raise ValueError("no sun in round 1")
        return np.flatnonzero(view.energy >= view.cost)
"""


@pytest.fixture
def up(start_process: Start, tmp_path: Path) -> Start:
    def start(*words: str) -> subprocess.Popen[str]:
        command = [EHFL, "flower", "up", *words]
        return start_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)

    return start


def wait_for_rounds(run: RunFolder, rounds: int, process: subprocess.Popen[str]) -> None:
    def found() -> bool:
        assert process.poll() is None, process.communicate()
        return len(read_history(run.rounds)) >= rounds

    wait_for(found, 180, f"round {rounds}")


@pytest.mark.slow
@pytest.mark.deployment
def test_a_stopped_run_leaves_no_process_and_the_same_command_goes_on(tmp_path: Path, up: Start) -> None:
    (tmp_path / "two.toml").write_text(SPEC)
    run = RunFolder(tmp_path / "runs" / "two-flower" / "greedy-on-flower-s3")
    slowly = ["two.toml", "-o", "flower.pace=120"]  # so that there is time to stop it
    first = up(*slowly)
    wait_for_rounds(run, 1, first)

    second = up(*slowly)
    assert second.communicate(timeout=180)[1].endswith("is in use by another process; wait for it, or stop it\n")
    assert second.returncode == 2

    everything = psutil.Process(first.pid).children(recursive=True)
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=180)[1].splitlines()[-1]
    assert (first.returncode, said) == (130, "stopped; the same command goes on from here")
    assert still_running(everything) == []
    before = read_history(run.rounds)
    assert len(before) == 1

    again = up("two.toml", "--json")
    out, said_again = again.communicate(timeout=180)
    assert again.returncode == 0, said_again
    assert "greedy on Flower" in json.dumps(json.loads(out))
    after = read_history(run.rounds)
    assert after[: len(before)] == before
    subprocess.run([EHFL, "compare", "two.toml"], cwd=tmp_path, capture_output=True, check=True)
    in_process = read_history(tmp_path / "runs" / "two" / "greedy-s3" / "rounds.jsonl")
    assert [one.participants for one in after] == [one.participants for one in in_process]
    assert [one.test_loss for one in after] == pytest.approx([one.test_loss for one in in_process], nan_ok=True)

    longer = up("two.toml", "-o", "rounds=4")
    said_longer = longer.communicate(timeout=180)[1]
    assert longer.returncode == 0, said_longer
    assert read_history(run.rounds)[: len(after)] == after and len(read_history(run.rounds)) == 4


@pytest.mark.slow
@pytest.mark.deployment
def test_a_server_that_fails_is_one_line_and_exit_code_1(tmp_path: Path, up: Start) -> None:
    (tmp_path / "dark.toml").write_text(SPEC.replace('"greedy"', '"sunless:Sunless"'))
    (tmp_path / "sunless.py").write_text(SUNLESS)

    dark = up("dark.toml")
    said = dark.communicate(timeout=180)[1].splitlines()[-1]

    assert dark.returncode == 1
    assert said.startswith("ehfl: error: sunless:Sunless on Flower seed 3 failed: ")
    assert "no sun in round 1" in said
