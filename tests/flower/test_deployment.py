"""A real SuperLink and SuperNodes on loopback: they come up, nodes can be killed, and nothing is left of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ehfl.flower.local.deployment import Deployment, key_value_pairs
from ehfl.runs import InUse
from ehfl.validation import InvalidValue, UserError
from waiting import Start, still_running, wait_for

TESTS = Path(__file__).parent
PROJECT = """[project]
name = "tiny"
version = "1.0.0"
[tool.flwr.app]
publisher = "tests"
[tool.flwr.app.components]
serverapp = "tiny.server_app:app"
clientapp = "tiny.client_app:app"
[tool.flwr.app.config]
out = ""
fault = ""
"""
# Asks every node once who it is, writes down the answers, and waits until it is ended.
SERVER = """import json, os, time
from flwr.app import Message, RecordDict
from flwr.serverapp import ServerApp

app = ServerApp()

@app.main()
def main(grid, context):
    if context.run_config["fault"]:
        raise ValueError(context.run_config["fault"])
    asked, heard, ids = set(), {}, []
    while set(heard) != {0, 1}:  # a killed node is counted as connected for a while
        new = set(grid.get_node_ids()) - asked
        asked |= new
        ids += list(grid.push_messages([Message(RecordDict(), node, "query") for node in new]))
        for reply in grid.pull_messages(ids):
            if reply.has_content():
                heard[reply.content["tiny"]["client"]] = dict(reply.content["tiny"])
        time.sleep(0.2)
    out = context.run_config["out"]
    with open(out + ".part", "w") as file:
        json.dump([heard[0], heard[1]], file)
    os.replace(out + ".part", out)
    time.sleep(600)
"""
CLIENT = """import os
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()

@app.query()
def query(message, context):
    told = {"client": context.node_config["client-id"], "state": context.node_config["state"],
            "threads": os.environ["OMP_NUM_THREADS"], "home": os.environ["FLWR_HOME"]}
    return Message(RecordDict({"tiny": ConfigRecord(told)}), reply_to=message)
"""


def tiny_app(folder: Path) -> Path:
    (folder / "tiny").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    for name, text in {"__init__": "", "server_app": SERVER, "client_app": CLIENT}.items():
        (folder / "tiny" / f"{name}.py").write_text(text)
    return folder


def all_processes(up: Deployment) -> list[psutil.Process]:
    assert up.superlink is not None
    return [one for process in (up.superlink, *up.nodes.values()) for one in process.descendants()]


@pytest.mark.slow
@pytest.mark.deployment
def test_nodes_answer_a_server_a_killed_one_comes_back_and_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    app, out = tiny_app(tmp_path / "app"), tmp_path / "out.json"
    seen: list[psutil.Process] = []
    with pytest.raises(KeyboardInterrupt), Deployment(tmp_path / "up") as up:
        with pytest.raises(InUse, match="in use by another process"), Deployment(tmp_path / "up"):
            pass
        for client in range(2):
            up.start_node(client, state=str(tmp_path / f"node {client}"))
        failing = up.submit(app, fault="no sun today")
        run = up.submit(app, out=str(out))
        wait_for(out.exists, 60, "the server's answers")
        assert up.state(run) == ("running", "N/A")
        status, details = up.state(failing)
        assert status == "finished:failed"
        assert "no sun today" in details

        seen += all_processes(up)
        up.nodes[0].kill()
        assert not up.nodes[0].alive
        assert up.nodes[1].alive
        up.start_node(0, state=str(tmp_path / "node 0"))
        with pytest.raises(InvalidValue, match="one whose node does not run"):
            up.start_node(0, state="")
        again = up.submit(app, out=str(tmp_path / "again.json"))
        wait_for((tmp_path / "again.json").exists, 60, f"run {again}")
        seen += all_processes(up)
        raise KeyboardInterrupt

    assert still_running(seen) == []
    answers = json.loads(out.read_text())
    assert [(one["client"], one["state"], one["threads"]) for one in answers] == [
        (client, str(tmp_path / f"node {client}"), "1") for client in range(2)
    ]
    assert len({one["home"] for one in answers}) == 2  # each unpacks the app for itself


@pytest.mark.slow
@pytest.mark.deployment
def test_a_deployment_ends_when_the_process_that_began_it_is_killed(tmp_path: Path, start_process: Start) -> None:
    code = f"""
import time
from pathlib import Path
from ehfl.flower.local.deployment import Deployment
with Deployment(Path({str(tmp_path / "up")!r})) as up:
    up.start_node(0, state="x")
    before, found = None, []
    while found != before or len(found) < 4:  # processes that come and go while these start are not meant
        time.sleep(1)
        before, found = found, [one.pid for process in (up.superlink, up.nodes[0]) for one in process.descendants()]
    print(*found, flush=True)
    time.sleep(600)
"""
    parent = start_process([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    seen = [psutil.Process(int(word)) for word in parent.stdout.readline().split()]
    assert len(seen) == 4  # SuperLink, SuperNode, and what each of them runs apps with

    parent.kill()
    parent.wait()
    parent.stdout.close()

    wait_for(lambda: not still_running(seen), 20, "all processes to end")


def test_a_superlink_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match=r"the SuperLink did not start: .*nosuch"),
        Deployment(tmp_path, superlink_options=["--nosuch"]),
    ):
        pass


def test_what_nodes_are_told_survives_the_command_line() -> None:
    from flwr.common.config import parse_config_args

    told: dict[str, str | int | float] = {"client-id": 3, "state": "/tmp/a b", "meter": "it's 5 o'clock", "rate": 0.5}

    assert parse_config_args([key_value_pairs(told)]) == told


@pytest.mark.parametrize("value", ["both ' and \"", "two\nlines", "it's a \\"])
def test_texts_that_flower_would_cut_are_refused(value: str) -> None:
    with pytest.raises(InvalidValue, match="meter must be a text in which"):
        key_value_pairs({"meter": value})
