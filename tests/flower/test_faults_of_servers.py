"""The server and the SuperLink killed, between rounds and in one: the run goes on, and ends as one left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployed import assert_same_run, faulty_spec, played_in_process, running
from ehfl.flower import for_flower
from ehfl.scheduling import Participation
from waiting import wait_for

# All nodes must answer, so that none is absent which is still busy with a killed server's question. The pace is for the
# next round of a server that is killed when it has played one: so it is killed between rounds.
SPEC = """
rounds = 3
scheduler = "greedy"
fleet = { clients = 2, rate = 0.7, initial = 2, capacity = 3 }
flower = { deadline = 60, least_nodes = 2, pace = 60 }
"""


@pytest.mark.slow
@pytest.mark.deployment
def test_a_killed_server_goes_on_from_its_checkpoint_and_charges_nobody_twice(tmp_path: Path) -> None:
    spec = faulty_spec(tmp_path, "faults_of_servers", SPEC)
    alone = played_in_process(spec, tmp_path)
    with running(tmp_path, for_flower(spec)) as deployed:
        deployed.wait_for_rounds(1)
        deployed.up.stop_servers()  # between rounds: SIGKILL
        assert len(deployed.records()) == 1
        first = deployed.records()

        (tmp_path / "orders" / "node-0.hold").touch()
        deployed.submit()
        wait_for(lambda: deployed.paid(0, 1), 90, "client 0 to pay for round 1")
        ledger = deployed.ledger(0)
        deployed.up.stop_servers()  # in a round: one client has paid, and trains
        assert deployed.records() == first
        (tmp_path / "orders" / "node-0.hold").unlink()
        deployed.submit()
        deployed.wait_for_rounds(2)
        assert deployed.records()[:1] == first
        assert deployed.devices()[1].spent[0] == ledger["totals"]["spent"]  # it trained twice, and paid once

        assert deployed.up.superlink is not None
        deployed.up.superlink.kill()  # and the server with it
        deployed.up.start_superlink()
        deployed.submit()  # the same command as before
        deployed.wait_for_end(180)
        spent = [deployed.ledger(client)["totals"]["spent"] for client in deployed.clients]

    assert_same_run(deployed.run, alone)
    assert [seen.lost for seen in deployed.devices()] == [{}] * 3
    assert spent == Participation.load(alone.participation).turns().tolist()
