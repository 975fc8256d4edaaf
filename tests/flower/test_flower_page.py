"""docs/flower.md: the nodes that it starts connect, copied as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from flwr.common.config import parse_config_args
from flwr.superlink.cli.flower_superlink import _parse_args_run_superlink as superlink
from flwr.supernode.cli.flower_supernode import _parse_args_run_supernode as supernode

from ehfl.flower import Deployment
from ehfl.flower.local.deployment import NAME, ask, free_port
from ehfl.flower.local.processes import Process, flower_environment, program
from ehfl.flower.node.client_app import NodeConfig
from waiting import wait_for

PAGE = (Path(__file__).parents[2] / "docs" / "flower.md").read_text(encoding="utf-8")
LINES = re.findall(r"^flower-supernode .*$", PAGE, re.MULTILINE)


def test_the_page_names_the_superlinks_address_and_options_that_nodes_have() -> None:
    listening = superlink().parse_args([*re.findall(r"`flower-superlink (.*?)`", PAGE)[0].split()])
    assert len(LINES) == 5
    ports = set()
    for line in LINES:
        told = supernode().parse_args(shlex.split(line)[1:])
        NodeConfig.read(parse_config_args([told.node_config]))
        assert told.superlink == f"{listening.host}:{listening.port}"
        assert told.insecure == listening.insecure
        ports.add(told.port)
    assert len(ports) == len(LINES)


@pytest.mark.slow
@pytest.mark.deployment
def test_nodes_that_are_started_as_the_page_says_connect(tmp_path: Path) -> None:
    started: list[Process] = []
    with Deployment(tmp_path / "up") as up:
        home = up.folder / "homes" / "flwr"

        def online() -> int:
            nodes: list[dict[str, Any]] = ask(home, "supernode", "list", NAME)["nodes"]
            return sum(node["status"] == "online" for node in nodes)

        try:
            for number, line in enumerate(LINES):
                # Other ports and folders than a user's: another test may have these.
                said = line.replace("127.0.0.1:8000", up.address).replace(
                    f"--port {9100 + number}", f"--port {free_port()}"
                )
                name, *options = shlex.split(said.replace("/var/lib/ehfl", str(tmp_path)))
                environment = flower_environment(tmp_path / f"home-{number}")
                started.append(Process([program(name), *options], environment, tmp_path / f"{number}.log", 8.0))
            wait_for(lambda: online() == len(LINES), 90, f"all nodes: {[one.last_words() for one in started]}")
        finally:
            for one in started:
                one.kill()
