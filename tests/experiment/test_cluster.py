"""`ehfl compare --on ray` on two nodes of which one is killed: no run is lost, none is run twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from ehfl.experiment import read_spec, run_all
from ehfl.runs import read_history
from ehfl.scheduling import Participation
from waiting import Start

ROUNDS = 60
CHANGES = [
    "name=x",
    f"rounds={ROUNDS}",
    "seeds=3",
    "learning.local_steps=10",
    "arms=[{scheduler = 'greedy'}, {label = 'choosy', scheduler = 'power-of-choice', step_size = 'nominal-causal'}]",
]


@dataclass(frozen=True)
class Nodes:
    """Two nodes; the second, of which the raylet's number is known, can be killed."""

    environment: dict[str, str]
    raylet: int
    process: subprocess.Popen[str]

    def kill_second(self) -> None:
        stdin: IO[str] | Any = self.process.stdin
        stdin.write("kill\n")
        stdin.flush()
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "killed\n"


@pytest.fixture
def nodes(start_process: Start) -> Iterator[Nodes]:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'ehfl[ray]'")
    place = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # sockets lie there, whose names must be short
    loopback = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": place}
    # Ray's workers give way to everything else, which other tests are.
    environment = os.environ | loopback | {"RAY_worker_niceness": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    process = start_process(
        [sys.executable, str(Path(__file__).with_name("two_nodes.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address, raylet = process.stdout.readline().split()
        yield Nodes(environment | {"RAY_ADDRESS": address}, int(raylet), process)
    finally:
        process.communicate(timeout=60)
        shutil.rmtree(place, ignore_errors=True)


def starts(folder: Path) -> list[dict[str, Any]]:
    path = folder / "meta.json"
    return list(json.loads(path.read_bytes()).get("starts", [])) if path.exists() else []


def finished(folder: Path) -> bool:
    path = folder / "meta.json"
    return path.exists() and json.loads(path.read_bytes())["status"] == "finished"


def parent(process: int) -> int | None:
    """Return the parent of a process, None if it has ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def lines(folder: Path) -> list[bytes]:
    path = folder / "rounds.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []


def under_way_at(raylet: int, experiment: Path) -> list[Path]:
    """Return the runs that a node has in hand, and that are past their first checkpoint."""
    runs = [path for path in sorted(experiment.glob("*-s*")) if starts(path) and not finished(path)]
    mine = [path for path in runs if parent(starts(path)[-1]["process"]) == raylet]
    return [path for path in mine if 10 < len(lines(path)) < ROUNDS - 15]


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while not happened():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"it ended with {process.poll()}, or it did not happen")
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.deployment
def test_when_a_node_is_killed_no_run_is_lost_and_none_is_run_twice(
    nodes: Nodes, tmp_path: Path, start_process: Start
) -> None:
    place, alone = tmp_path / "x", tmp_path / "alone"
    options = [word for change in CHANGES for word in ("-o", change)]
    command = [sys.executable, "-m", "ehfl", "compare", "--on", "ray", "--json", "--runs", str(tmp_path), *options]
    pipe = subprocess.PIPE
    process = start_process(command, stdout=pipe, stderr=pipe, text=True, env=nodes.environment)

    def in_the_middle() -> bool:
        return any(map(finished, place.glob("*-s*"))) and bool(under_way_at(nodes.raylet, place))

    wait_for(in_the_middle, process)
    cut_short = under_way_at(nodes.raylet, place)
    done = {path: (path / "meta.json").read_bytes() for path in place.glob("*-s*") if finished(path)}
    kept = {path: lines(path)[:10] for path in cut_short}  # up to the first checkpoint, times included
    nodes.kill_second()
    out, err = process.communicate(timeout=600)

    assert process.returncode == 0, err
    assert {row["arm"] for row in json.loads(out)["arms"]} == {"greedy", "choosy"}
    runs = sorted(place.glob("*-s*"))
    assert len(runs) == 6
    assert all(map(finished, runs))
    for run in runs:
        assert [json.loads(line)["round"] for line in lines(run)] == list(range(ROUNDS))
    # What was finished was left alone; what was cut short was started once more and went on from its checkpoint.
    assert {path: (path / "meta.json").read_bytes() for path in done} == done
    assert all(len(starts(run)) == 2 for run in cut_short)
    assert all(lines(run)[:10] == kept[run] for run in cut_short)
    assert sum(len(starts(run)) for run in runs) <= len(runs) + 2  # the node had two cores
    assert all(parent(start["process"]) != nodes.raylet for run in runs for start in starts(run))

    assert [outcome.error for outcome in run_all(read_spec(overrides=CHANGES), alone, jobs=1)] == [None] * 6
    for run in runs:
        same = alone / run.name
        assert read_history(run / "rounds.jsonl") == read_history(same / "rounds.jsonl")
        assert (run / "checkpoint.safetensors").read_bytes() == (same / "checkpoint.safetensors").read_bytes()
        one, other = (Participation.load(path / "participation.npz") for path in (run, same))
        assert [one.clients(t).tolist() for t in range(ROUNDS)] == [other.clients(t).tolist() for t in range(ROUNDS)]
