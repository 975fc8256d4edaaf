from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ehfl.learning.checkpoint import NAME
from ehfl.runs import read_history
from waiting import Start

SCRIPT = Path(__file__).with_name("killed_run.py")


# Two instants a line; four a checkpoint (file, two renames, folder), three for the first, which has none before it; one
# more for the lines that every checkpoint but the first waits for.
@pytest.mark.parametrize(
    ("kind", "instants"),
    [
        # 7 rounds; checkpoints at 0, 2, 4, 6 and 7
        pytest.param("played", 7 * 2 + 5 * 5 - 2, marks=pytest.mark.slow),
        # 6 rounds; checkpoints at 0, 2, 4 and 6
        pytest.param("lockstep", 6 * 2 + 4 * 5 - 2, marks=pytest.mark.slow),
    ],
)
def test_killed_at_every_instant_a_run_ends_as_if_left_alone(tmp_path: Path, kind: str, instants: int) -> None:
    command = [sys.executable, str(SCRIPT), "sweep", str(tmp_path), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["instants"] == instants
    assert report["different"] == []


@pytest.mark.slow
def test_killed_from_outside_and_started_again_a_run_ends_with_the_same_bits(
    tmp_path: Path, start_process: Start
) -> None:
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    subprocess.run([sys.executable, SCRIPT, "train", alone], check=True)

    for lines in (7, 31):
        _kill_after(lines, killed, start_process)
    subprocess.run([sys.executable, SCRIPT, "train", killed], check=True)

    assert (killed / NAME).read_bytes() == (alone / NAME).read_bytes()
    assert read_history(killed / "rounds.jsonl") == read_history(alone / "rounds.jsonl")


def _kill_after(lines: int, folder: Path, start_process: Start) -> None:
    run = start_process([sys.executable, SCRIPT, "train", folder])
    path = folder / "rounds.jsonl"
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        if run.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"the run was over before it could be killed at line {lines}")
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
