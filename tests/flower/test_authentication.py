"""TLS and node keys on: a node whose key the SuperLink knows is let in, any other is refused and never listed.

The authority, the certificate and the keys are made by the commands of docs/deploy.md.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ehfl.flower.local.deployment import NAME, Deployment, ask
from waiting import wait_for

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
CLIENT, STRANGER, NAMELESS = 0, 1, 2


def run_block_of_page(name: str, folder: Path) -> None:
    """Run the block of docs/deploy.md that begins with this name."""
    block = re.search(rf"^```bash\n(# {name}\n.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert block, name
    subprocess.run(["sh", "-eu", "-c", block[1]], cwd=folder, check=True, capture_output=True, text=True)


def flwr(up: Deployment, *words: str) -> dict[str, Any]:
    return ask(up.folder / "homes" / "flwr", *words, NAME)


def listed(up: Deployment) -> dict[int, str]:
    """Return the status of every node that the SuperLink knows."""
    return {int(node["node-id"]): node["status"] for node in flwr(up, "supernode", "list", "--verbose")["nodes"]}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with what docs/deploy.md makes: ca.crt, server.crt, server.key, and a node's key for each device."""
    (tmp_path / "keys").mkdir()
    run_block_of_page("certificates.sh", tmp_path / "keys")
    for device in ("known", "stranger"):
        (tmp_path / "keys" / device).mkdir()
        run_block_of_page("node-key.sh", tmp_path / "keys" / device)
    return tmp_path / "keys"


@pytest.mark.slow
@pytest.mark.deployment
def test_a_registered_key_is_let_in_and_no_other_whatever_it_says(tmp_path: Path, keys: Path) -> None:
    tls = [word for part in ("ca-certfile", "certfile", "keyfile") for word in (f"--ssl-{part}", _file(keys, part))]
    trust = ["--root-certificates", str(keys / "ca.crt")]
    with Deployment(
        tmp_path / "up",
        database=tmp_path / "state.db",
        superlink_options=[*tls, "--enable-supernode-auth"],
        connection={"root-certificates": str(keys / "ca.crt")},
    ) as up:
        known = int(flwr(up, "supernode", "register", str(keys / "known" / "node.key.pub"))["node-id"])
        assert listed(up) == {known: "registered"}

        up.start_node(CLIENT, options=[*trust, *_key(keys / "known")])
        up.start_node(STRANGER, options=[*trust, *_key(keys / "stranger")])
        up.start_node(NAMELESS, options=trust)
        wait_for(lambda: not up.nodes[STRANGER].alive and not up.nodes[NAMELESS].alive, 40, "strangers to give up")
        assert "Failed to activate SuperNode" in up.nodes[STRANGER].log.read_text()
        assert "All SuperNodes must be registered" in up.nodes[NAMELESS].log.read_text()
        wait_for(lambda: listed(up) == {known: "online"}, 40, f"the node: {up.nodes[CLIENT].last_words()}")

        assert up.superlink is not None
        up.superlink.kill()  # keys are in the database: who was known is known again, and nobody else
        up.start_superlink()
        up.start_node(STRANGER, options=[*trust, *_key(keys / "stranger")])
        wait_for(lambda: not up.nodes[STRANGER].alive, 40, "the stranger to give up")
        assert up.nodes[CLIENT].alive
        assert listed(up) == {known: "online"}


@pytest.mark.slow
@pytest.mark.deployment
def test_a_node_does_not_talk_to_a_superlink_of_another_authority(tmp_path: Path, keys: Path) -> None:
    (tmp_path / "other").mkdir()
    run_block_of_page("certificates.sh", tmp_path / "other")
    tls = [word for part in ("ca-certfile", "certfile", "keyfile") for word in (f"--ssl-{part}", _file(keys, part))]
    with Deployment(
        tmp_path / "up", superlink_options=tls, connection={"root-certificates": str(keys / "ca.crt")}
    ) as up:
        up.start_node(CLIENT, options=["--root-certificates", str(tmp_path / "other" / "ca.crt")])

        wait_for(lambda: not up.nodes[CLIENT].alive, 40, "the node to give up")
        assert "CERTIFICATE_VERIFY_FAILED" in up.nodes[CLIENT].log.read_text()
        assert listed(up) == {}


def _file(keys: Path, part: str) -> str:
    return str(keys / {"ca-certfile": "ca.crt", "certfile": "server.crt", "keyfile": "server.key"}[part])


def _key(folder: Path) -> Sequence[str]:
    return "--auth-supernode-private-key", str(folder / "node.key")
