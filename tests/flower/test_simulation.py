"""Flower's simulation, really started: the rounds, energies and models of one process, through the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import tomli_w
from brought_page import brought
from flwr.app import Context, RecordDict
from flwr.serverapp import ServerApp

from ehfl.experiment import read_spec, run_all
from ehfl.flower.app.specs import for_flower
from ehfl.flower.local import simulation
from ehfl.learning.checkpoint import NAME, read_checkpoint
from ehfl.scheduling import Participation
from ehfl.validation import UserError
from loopback_grid import loopback, tiny
from waiting import Start, wait_for

SPEC = Path(__file__).parents[2] / "experiments" / "devices.toml"  # digits, 10 clients, 20 rounds
ARMS = """arms = [
    { label = "myopic", scheduler = "myopic" },
    { label = "greedy", scheduler = "greedy", "learning.aggregation" = "scaffold" },
]"""
CHANGES = ["seeds=[3]", "flower.deadline=300"]  # a busy machine is slow to start nodes
BROUGHT_SPEC: dict[str, Any] = {
    "name": "brought", "rounds": 3, "seeds": [3], "fleet": {"clients": 4, "rate": 0.8, "initial": 1},
    "scheduler": "greedy", "learning": {"step_size": 0.1}, "flower": {"deadline": 300},
}  # fmt: skip


def heard_of(running: subprocess.Popen[str], seconds: float = 600) -> set[str]:
    """Return the addresses on which a process and its children listened until it ended."""
    found = set()
    deadline = time.monotonic() + seconds
    while running.poll() is None:
        assert time.monotonic() < deadline
        with suppress(psutil.NoSuchProcess):
            whole = psutil.Process(running.pid)
            for process in (whole, *whole.children(recursive=True)):
                with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    sockets = process.net_connections(kind="tcp")
                    found |= {one.laddr.ip for one in sockets if one.status == psutil.CONN_LISTEN}
        time.sleep(0.5)
    return found


@pytest.mark.slow
def test_the_simulation_has_the_participants_energies_and_models_of_one_process(
    tmp_path: Path, start_process: Start
) -> None:
    spec = tmp_path / "devices.toml"
    spec.write_text(re.sub(r"schedulers = .*", ARMS, SPEC.read_text()))  # the second arm sends each client its own
    ended_here = run_all(read_spec(spec, CHANGES), tmp_path / "devices", jobs=1)
    assert [outcome.error for outcome in ended_here] == [None, None]
    changes = [word for change in CHANGES for word in ("-o", change)]
    simulated = [str(spec), *changes, "--runs", str(tmp_path), "--json"]
    command = [sys.executable, "-m", "ehfl", "flower", "simulate", *simulated]
    # In a process of its own, since Ray leaves open files behind.
    running = start_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    listening = heard_of(running)
    out, err = running.communicate(timeout=60)

    assert running.returncode == 0, err
    assert listening and listening <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
    labels = [row["arm"] for row in json.loads(out)["arms"]]
    assert labels == ["myopic on Flower", "greedy on Flower"]
    for arm in ("myopic", "greedy"):
        here, there = tmp_path / f"devices/{arm}-s3", tmp_path / f"devices-flower/{arm}-on-flower-s3"
        alone, devices = (Participation.load(folder / "participation.npz") for folder in (here, there))
        for name in ("offsets", "indices", "spent", "energy"):
            np.testing.assert_array_equal(getattr(devices, name), getattr(alone, name), err_msg=f"{arm} {name}")
        assert devices.totals == alone.totals
        one, other = (read_checkpoint(folder / NAME).model for folder in (here, there))
        for name, weights in one.items():
            # Some hundred steps in float32, each of which rounds at 6e-8 of weights of order 1.
            np.testing.assert_allclose(other[name], weights, rtol=0, atol=1e-5, err_msg=f"{arm} {name}")


@pytest.mark.slow
def test_the_simulation_trains_every_example_of_the_page_as_one_process_does(
    tmp_path: Path, start_process: Start
) -> None:
    examples = brought(tmp_path)
    arms = [
        {"label": name, "learning.task": f"brought:{kind.__name__}"}
        | {f"learning.{key}": one for key, one in how.items()}
        for name, (kind, how) in examples.items()
    ]
    spec = tmp_path / "brought.toml"
    spec.write_text(tomli_w.dumps(BROUGHT_SPEC | {"arms": arms}))
    ended_here = run_all(read_spec(spec), tmp_path / "brought", jobs=1)
    assert [outcome.error for outcome in ended_here] == [None] * len(examples)
    command = [sys.executable, "-m", "ehfl", "flower", "simulate", str(spec), "--runs", str(tmp_path)]
    running = start_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _, err = running.communicate(timeout=600)

    assert running.returncode == 0, err
    runs, theirs = read_spec(spec).runs(), for_flower(read_spec(spec)).runs()
    for run, simulated in zip(runs, theirs, strict=True):
        here, there = tmp_path / "brought" / run.folder_name, tmp_path / "brought-flower" / simulated.folder_name
        assert Participation.load(here / "participation.npz").counts.sum() > 3
        one, other = (read_checkpoint(folder / NAME).model for folder in (here, there))
        assert one.keys() == other.keys()
        for name, weights in one.items():
            # A dozen steps; with Adam, a gradient of 1e-3 that is off by 6e-8 moves a step of 0.003 by some 1e-6.
            np.testing.assert_allclose(other[name], weights, rtol=0, atol=1e-4, err_msg=f"{run.arm.label} {name}")


def test_a_simulation_that_breaks_down_leaves_no_server_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[threading.Thread] = []

    def breaks_down(server: ServerApp, *_: object, **__: object) -> None:
        context = Context(7, 1, {}, RecordDict(), {})
        servers.append(threading.Thread(target=server, args=(loopback(tmp_path / "nodes", 0), context), daemon=True))
        servers[0].start()  # it waits for nodes, of which there will be none
        raise RuntimeError("Ending simulation") from ConnectionError("Ray could not be started")

    monkeypatch.setattr("flwr.simulation.run_simulation", breaks_down)
    monkeypatch.setattr(simulation, "ENVIRONMENT", {})
    monkeypatch.setattr(simulation, "_start_ray", lambda: None)

    broken = "^Flower's simulation broke down: ConnectionError: Ray could not be started$"
    with pytest.raises(UserError, match=broken):
        simulation.simulate(tiny(), tmp_path)
    servers[0].join(20)
    assert not servers[0].is_alive()


def test_a_server_that_is_stuck_in_user_code_does_not_keep_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, servers = threading.Event(), []

    def interrupted(server: ServerApp, *_: object, **__: object) -> None:
        context = Context(7, 1, {}, RecordDict(), {})
        servers.append(threading.Thread(target=server, args=(loopback(tmp_path / "nodes", 0), context), daemon=True))
        servers[0].start()
        assert stuck.wait(20)
        raise KeyboardInterrupt

    def serve(*_: object, **__: object) -> None:
        stuck.set()
        threading.Event().wait(600)

    monkeypatch.setattr("flwr.simulation.run_simulation", interrupted)
    monkeypatch.setattr("ehfl.flower.server.server_app.serve", serve)
    monkeypatch.setattr(simulation, "ENVIRONMENT", {})
    monkeypatch.setattr(simulation, "_start_ray", lambda: None)
    monkeypatch.setattr(simulation, "_END_SECONDS", 0.1)

    with pytest.raises(KeyboardInterrupt):
        simulation.simulate(tiny(), tmp_path)
    servers[0].join(20)
    assert not servers[0].is_alive()  # the thread of Flower's, which Python would wait for


@pytest.mark.slow
def test_a_simulation_that_is_terminated_says_so_with_its_exit_code(tmp_path: Path, start_process: Start) -> None:
    command = [sys.executable, "-m", "ehfl", "flower", "simulate", str(SPEC), "-n", "2", "-o", "rounds=2000"]
    running = start_process(
        [*command, "--runs", str(tmp_path)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    # By then Ray has started, and taken the handler of the signal if it could.
    wait_for(lambda: any(file.stat().st_size for file in tmp_path.rglob("rounds.jsonl")), 180, "the first round")
    running.terminate()
    _, err = running.communicate(timeout=120)

    assert running.returncode == 143, err
    assert "stopped; the same command goes on from here" in err and "ended Python" not in err
