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

import numpy as np
import psutil
import pytest
from flwr.app import Context, RecordDict
from flwr.serverapp import ServerApp

from ehfl.experiment import read_spec, run_all
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
OWN_MODEL = """
from torch import nn
from ehfl.learning.tasks.digits import Digits

class Modern(Digits):
    def model(self, rng):
        first = nn.Conv2d(1, 4, 3, stride=2, bias=False)
        return nn.Sequential(first, nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(36, 10))
"""
OWN_SPEC = """
name = "modern"
rounds = 3
seeds = [3]
schedulers = ["greedy"]

[fleet]
clients = 4
rate = 0.8
initial = 1

[flower]
deadline = 300

[learning]
task = "models_simulated:Modern"
local = "adamw:weight_decay=0.01,eps=1e-6"
step_size = 0.005
"""


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
def test_the_simulation_trains_batch_norm_dropout_and_adamw_as_one_process_does(
    tmp_path: Path, start_process: Start
) -> None:
    (tmp_path / "models_simulated.py").write_text(OWN_MODEL)
    spec = tmp_path / "modern.toml"
    spec.write_text(OWN_SPEC)
    ended_here = run_all(read_spec(spec), tmp_path / "modern", jobs=1)
    assert [outcome.error for outcome in ended_here] == [None]
    command = [sys.executable, "-m", "ehfl", "flower", "simulate", str(spec), "--runs", str(tmp_path)]
    running = start_process(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _, err = running.communicate(timeout=600)

    assert running.returncode == 0, err
    here, there = tmp_path / "modern/greedy-s3", tmp_path / "modern-flower/greedy-on-flower-s3"
    assert Participation.load(here / "participation.npz").counts.sum() > 3
    one, other = (read_checkpoint(folder / NAME).model for folder in (here, there))
    assert np.abs(one["1.running_mean"]).max() > 0.01  # it is 0 in the first model
    for name, weights in one.items():
        # A dozen steps; with Adam, a gradient of 1e-3 that is off by 6e-8 moves a step of 0.005 by some 1e-6.
        np.testing.assert_allclose(other[name], weights, rtol=0, atol=1e-4, err_msg=name)


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
