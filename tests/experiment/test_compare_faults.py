"""`ehfl compare` as a real process: killed, interrupted, without room on the disk, on Ray."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ehfl.analysis import read
from ehfl.experiment import read_spec, run_all
from ehfl.runs import read_history
from ehfl.scheduling import Participation

ROUNDS = 40
ARMS = [
    "{scheduler = 'myopic'}",
    "{scheduler = 'always-on'}",
    "{label = 'choosy', scheduler = 'power-of-choice', step_size = 'nominal-causal'}",  # decided while it is trained
]
COMPARE = [sys.executable, "-m", "ehfl", "compare", "-o", "seeds=1", "-o", "name=x", "--jobs", "2"]


@contextmanager
def started(folder: Path, *more: str, rounds: int = ROUNDS, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a comparison; none of its processes is left at the end, and no pipe is open."""
    pipe = subprocess.PIPE
    command = [*COMPARE, "-o", f"rounds={rounds}", "-o", f"arms=[{', '.join(ARMS)}]", "--runs", str(folder), *more]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def finish(folder: Path) -> tuple[str, str]:
    with started(folder) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out, err


def lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("x/*/rounds.jsonl"))


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not happened():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"it ended with {process.poll()} before it could be stopped")
        time.sleep(0.002)


def numbers(folder: Path) -> dict[str, object]:
    """All that must be the same whatever happened on the way."""
    rounds = {path.parent.name: read_history(path) for path in folder.glob("x/*/rounds.jsonl")}
    models = {path.parent.name: path.read_bytes() for path in folder.glob("x/*/checkpoint.safetensors")}
    files = {name: (folder / "x" / name).read_bytes() for name in ("rounds.csv", "summary.json")}
    rows = read(folder / "x").rows
    return {"rounds": rounds, "models": models, "clients": clients(folder), "rows": rows, **files}


def clients(folder: Path) -> dict[str, list[list[int]]]:
    """Return who took part in each round of each run."""
    played = {path.parent.name: Participation.load(path) for path in folder.glob("x/*/participation.npz")}
    return {name: [one.clients(t).tolist() for t in range(one.rounds)] for name, one in played.items()}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    finish(folder)
    return folder


def more_lines(folder: Path, n: int) -> Callable[[], bool]:
    """Whether so many rounds were played since now."""
    goal = lines(folder) + n
    return lambda: lines(folder) >= goal


def wait_for_the_end_of_all(process: subprocess.Popen[str]) -> None:
    """Wait until the process and its workers are gone; fail if they stay."""
    process.wait(timeout=60)
    deadline = time.monotonic() + 60
    while at_work(process.pid):
        if time.monotonic() > deadline:
            pytest.fail("its workers work on")
        time.sleep(0.05)


def at_work(group: int) -> bool:
    """Whether a process of the group runs; one that is dead and only waits for somebody to notice does not."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # gone meanwhile
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                return True
    return False


def run_without_room(folder: Path) -> None:
    """Start it where no file may grow to a checkpoint's size: every run must say so."""
    small = 8_000  # bytes
    no_torn_modules = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # Python itself does not notice the lack of room

    with started(
        folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (small, small)), env=no_torn_modules
    ) as process:
        _, err = process.communicate(timeout=120)

    assert process.returncode == 1
    assert "myopic seed 0 failed" in err and "choosy seed 0 failed" in err
    assert "File too large" in err
    assert "Traceback" not in err
    assert not list(folder.rglob("report.html"))


def kill_once(happened: Callable[[], bool], folder: Path, *more: str, rounds: int = ROUNDS, after: float = 0.0) -> None:
    """Kill the parent alone: its workers must notice, even those that are only starting."""
    with started(folder, *more, rounds=rounds) as process:
        wait_for(happened, process)
        time.sleep(after)
        process.kill()
        wait_for_the_end_of_all(process)


def interrupt_once(happened: Callable[[], bool], folder: Path) -> None:
    """Press Ctrl-C: the terminal tells parent and workers, and they must go without noise."""
    with started(folder) as process:
        wait_for(happened, process)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)

        assert process.returncode == 130
        assert "Traceback" not in err
        wait_for_the_end_of_all(process)


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_with_the_same_numbers(tmp_path: Path) -> None:
    """On a task so small that it takes seconds; the rest is run in this process."""
    changes = [f"arms=[{', '.join(ARMS)}]", "learning.task=quadratic", "rounds=60", "seeds=1"]
    kill_once(more_lines(tmp_path, 12), tmp_path, "-o", "learning.task=quadratic", rounds=60)
    played = lines(tmp_path)

    for place in (tmp_path / "x", tmp_path / "alone" / "x"):
        assert [outcome.error for outcome in run_all(read_spec(overrides=changes), place, jobs=1)] == [None] * 3

    assert 12 <= played < 3 * 60
    for name in ("myopic-s0", "always-on-s0", "choosy-s0"):
        found, expected = tmp_path / "x" / name, tmp_path / "alone" / "x" / name
        assert read_history(found / "rounds.jsonl") == read_history(expected / "rounds.jsonl")
        assert (found / "checkpoint.safetensors").read_bytes() == (expected / "checkpoint.safetensors").read_bytes()
    assert clients(tmp_path) == clients(tmp_path / "alone")


@pytest.mark.slow
def test_whatever_stops_it_it_finishes_with_the_same_numbers(alone: Path, tmp_path: Path) -> None:
    kill_once((tmp_path / "x" / "spec.toml").exists, tmp_path, after=0.5)  # its workers are starting
    run_without_room(tmp_path)
    interrupt_once(more_lines(tmp_path, 3), tmp_path)
    kill_once(more_lines(tmp_path, 3), tmp_path)
    kill_once(lambda: lines(tmp_path) >= len(ARMS) * ROUNDS - 11, tmp_path)
    kill_once((tmp_path / "x" / "figures").exists, tmp_path)

    out, _ = finish(tmp_path)

    assert "report.html" in out
    assert numbers(tmp_path) == numbers(alone)


def test_a_place_that_cannot_be_written_to_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with started(tmp_path / "file" / "runs") as process:
        _, err = process.communicate(timeout=120)

    assert process.returncode == 2
    assert err == f"ehfl: error: --runs must be a folder, got {tmp_path}/file/runs, and {tmp_path}/file is a file\n"


@pytest.mark.slow
def test_on_ray_the_numbers_are_the_same_though_a_worker_is_killed(alone: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'ehfl[ray]'")
    shutil.copy(Path(__file__).parents[1] / "mortal_scheduler.py", tmp_path)
    arms = ", ".join([*ARMS, "{label = 'mortal', scheduler = 'mortal_scheduler:Mortal'}"])

    command = [*COMPARE, "-o", f"rounds={ROUNDS}", "--runs", str(tmp_path), "--on", "ray", "-o", f"arms=[{arms}]"]
    prompt = {"RAY_worker_niceness": "0"}  # Ray's workers give way to everything else, which other tests are
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, env=os.environ | prompt, cwd=tmp_path
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "died").exists()
    assert "Traceback" not in done.stderr
    for kind in ("rounds", "models", "clients"):
        on_ray = numbers(tmp_path)[kind]
        assert isinstance(on_ray, dict)
        del on_ray["mortal-s0"]
        assert on_ray == numbers(alone)[kind]
