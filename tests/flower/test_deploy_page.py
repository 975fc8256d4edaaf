"""docs/deploy.md: its command lines are ones that Flower takes, its meter prints joules."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from flwr.common.config import parse_config_args
from flwr.supercore.cli.flower_superexec import _parse_args as superexec
from flwr.superlink.cli.flower_superlink import _parse_args_run_superlink as superlink
from flwr.supernode.cli.flower_supernode import _parse_args_run_supernode as supernode

from ehfl.flower.node.client_app import NodeConfig

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")


def block(name: str) -> str:
    found = re.search(rf"^```\w+\n((?:#!.*\n)?# {re.escape(name)}\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


def words_of(unit: str) -> list[str]:
    """Return the command line of a unit, as systemd splits it."""
    started = re.search(r"^ExecStart=((?:.*\\\n)*.*)$", block(f"/etc/systemd/system/{unit}"), re.MULTILINE)
    assert started, unit
    return shlex.split(started[1].replace("\\\n", " "))


@pytest.mark.parametrize(
    ("unit", "program", "parser"),
    [
        ("fleet-superlink.service", "flower-superlink", superlink),
        ("fleet-superexec.service", "flower-superexec", superexec),
        ("fleet-node.service", "flower-supernode", supernode),
    ],
)
def test_units_start_programs_with_options_that_they_have(
    unit: str, program: str, parser: Callable[[], argparse.ArgumentParser]
) -> None:
    command, *options = words_of(unit)

    told = parser().parse_args(options)  # it ends the process where it does not know one

    assert command == f"/opt/ehfl/bin/{program}"
    assert not getattr(told, "insecure", False)
    assert getattr(told, "host", "127.0.0.1") == "127.0.0.1"


def test_node_config_of_the_page_is_one_that_nodes_understand() -> None:
    told = supernode().parse_args(words_of("fleet-node.service")[1:])

    node = NodeConfig.read(parse_config_args([told.node_config]))

    assert (node.client, node.state) == (0, Path("/var/lib/fleet/ledgers/client-0"))


@pytest.mark.parametrize(("millivolts", "joules"), [(8400, 97200), (7200, 48600), (5000, 0), (9000, 97200)])
def test_the_meter_of_the_page_prints_joules(tmp_path: Path, millivolts: int, joules: int) -> None:
    script = tmp_path / "stored-joules"
    script.write_text(block("stored-joules"))
    script.chmod(0o755)
    for number, sensor in enumerate(("cpu_thermal", "ina219")):
        (tmp_path / f"hwmon{number}").mkdir()
        (tmp_path / f"hwmon{number}" / "name").write_text(f"{sensor}\n")
        (tmp_path / f"hwmon{number}" / "in1_input").write_text(f"{millivolts if sensor == 'ina219' else 1}\n")

    said = subprocess.run([str(script), str(tmp_path)], capture_output=True, text=True, check=True)

    assert said.stdout == f"{joules}\n"  # 27 Wh = 97,200 J between 6.0 and 8.4 V
