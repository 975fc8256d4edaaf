"""Everybody dark: empty batteries, all nodes killed, the SuperLink killed. No round is lost, and none is burnt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deployed import Running, assert_same_run, faulty_spec, played_in_process, running
from ehfl.flower import for_flower
from ehfl.flower.local.processes import Process, flower_environment, program
from waiting import wait_for

# Both clients train in round 0; rounds 1 to 5 find every battery empty.
SPEC = """
rounds = 7
scheduler = "greedy"
evaluation.every = 1
fleet = { clients = 2, initial = 1, harvest = { name = "replay", arrivals = ARRIVALS } }
flower = { deadline = 30, least_nodes = 2 }
""".replace("ARRIVALS", str([[0, 0]] * 5 + [[1, 1]] * 2))


@contextmanager
def server_apps(deployed: Running) -> Iterator[Process]:
    """Run server apps apart from the SuperLink, as docs/deploy.md has it."""
    command = [program("flower-superexec"), "--insecure", "--runtime-api-address", deployed.up.address]
    environment = flower_environment(deployed.folder / "up" / "homes" / "superexec")
    process = Process(command, environment, deployed.folder / "up" / "superexec.log", patience=5.0)
    try:
        yield process
    finally:
        process.kill()


@pytest.mark.slow
@pytest.mark.deployment
def test_five_dark_rounds_dead_nodes_and_a_dead_superlink_leave_the_run_as_it_would_have_been(tmp_path: Path) -> None:
    spec = faulty_spec(tmp_path, "faults_of_all", SPEC)
    alone = played_in_process(spec, tmp_path)
    isolated = running(tmp_path, for_flower(spec), "--isolation", "process")
    with isolated as deployed, server_apps(deployed) as apps:
        deployed.wait_for_rounds(2)
        for client in deployed.clients:
            deployed.up.nodes[client].kill()
        before = len(deployed.records())
        # Flower counts them as online for a minute more, so they are asked; nobody answers, and the round waits.
        wait_for(lambda: f"round {before} waits: 0 nodes answered" in deployed.log(), 90, "the server to wait")
        assert len(deployed.records()) == before
        for client in deployed.clients:
            deployed.start_node(client)
        deployed.wait_for_rounds(before + 1)

        servers = apps.descendants()[1:]
        assert deployed.up.superlink is not None
        deployed.up.superlink.kill()
        deployed.up.start_superlink()
        deployed.wait_for_rounds(before + 2)
        assert servers and all(one.is_running() for one in servers)  # it lived on, and goes on by itself
        deployed.wait_for_end(180)

    assert_same_run(deployed.run, alone)
    records = deployed.records()
    assert [record.participants for record in records] == [2, 0, 0, 0, 0, 0, 2]
    assert len({record.test_loss for record in records[:6]}) == 1  # the model is as round 0 left it
    assert records[6].test_loss != records[5].test_loss
