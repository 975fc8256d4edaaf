"""Guards leave nothing of a program behind, however it ends and whatever it has started."""

from __future__ import annotations

import os
import signal
import sys
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from ehfl.flower.local.deployment import free_port
from ehfl.flower.local.processes import Process, flower_environment
from waiting import Start

# A program that starts another in a session of its own, as the SuperLink does, and does not listen to SIGTERM.
STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('child', flush=True); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[2] == "deaf" else signal.SIG_DFL)
aside = pathlib.Path(sys.argv[1] + ".part")
aside.write_text(f"{os.getpid()} {child.pid}")
aside.rename(sys.argv[1])
print("the last line", flush=True)
time.sleep(60)
"""


def command(told: Path, kind: str) -> list[str]:
    return [sys.executable, "-S", "-c", STUBBORN, str(told), kind]


def process_ids(told: Path) -> list[int]:
    deadline = time.monotonic() + 20
    while not told.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return [int(word) for word in told.read_text().split()]


def started(folder: Path, kind: str, patience: float = 5.0) -> tuple[Process, list[int]]:
    process = Process(command(folder / "told", kind), os.environ, folder / "log" / "one.log", patience)
    return process, process_ids(folder / "told")


def left(ids: list[int], seconds: float = 0.0) -> list[int]:
    """Return which of these processes run still, after so many seconds at most."""
    deadline = time.monotonic() + seconds
    while (running := [one for one in ids if _runs(one)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return running


def _runs(process: int) -> bool:
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(("kind", "patience"), [("gentle", 5.0), ("deaf", 0.2)])
def test_stopping_a_program_ends_what_it_started_in_other_sessions(tmp_path: Path, kind: str, patience: float) -> None:
    process, ids = started(tmp_path, kind, patience)
    assert {one.pid for one in process.descendants()} == set(ids)

    process.stop()

    assert not process.alive
    assert left(ids) == []
    assert process.last_words() == "the last line"


def test_a_killed_program_takes_all_with_it(tmp_path: Path) -> None:
    process, ids = started(tmp_path, "deaf")

    process.kill()

    assert left(ids) == []


def test_a_program_that_dies_alone_is_noticed_and_its_children_end(tmp_path: Path) -> None:
    process, ids = started(tmp_path, "deaf")

    os.kill(ids[0], signal.SIGKILL)

    assert left(ids, seconds=10) == []
    process.stop()


def test_whoever_started_it_may_be_killed(tmp_path: Path, start_process: Start) -> None:
    code = (
        "import os, time; from pathlib import Path; from ehfl.flower.local.processes import Process;"
        f"Process({command(tmp_path / 'told', 'deaf')!r}, os.environ, Path({str(tmp_path / 'log')!r}), 0.2);"
        "time.sleep(60)"
    )
    parent = start_process([sys.executable, "-c", code])
    ids = process_ids(tmp_path / "told")

    parent.kill()
    parent.wait()

    assert left(ids, seconds=10) == []


def test_the_environment_is_private_and_says_nothing_to_anyone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLWR_DATABASE", "mine.db")
    monkeypatch.setenv("NO_PROXY", "example.org")
    monkeypatch.delenv("no_proxy", raising=False)

    made = flower_environment(tmp_path, {"OMP_NUM_THREADS": "1"})

    assert {name: value for name, value in made.items() if name.startswith("FLWR_")} == {
        "FLWR_HOME": str(tmp_path),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
    }
    assert made["NO_PROXY"] == "example.org,127.0.0.1,localhost"
    assert made["OMP_NUM_THREADS"] == "1"
    assert made["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)


def test_loopback_goes_through_no_proxy_whichever_way_the_user_spells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example.org:3128")
    monkeypatch.setenv("no_proxy", "example.org")  # libraries look at this one first
    monkeypatch.delenv("NO_PROXY", raising=False)
    made = flower_environment(tmp_path)

    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, made[name])
    assert urllib.request.proxy_bypass("127.0.0.1:9000")
    assert urllib.request.proxy_bypass("example.org")
    assert not urllib.request.proxy_bypass("flower.ai")


def test_ports_are_free_below_those_of_outgoing_connections_and_different() -> None:
    found = [free_port() for _ in range(5)]

    assert len(set(found)) == 5
    assert all(20_000 <= port < 32_000 for port in found)
