"""Nodes that fail in every way there is, on a real deployment: the others' work counts, and each is charged once."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployed import Running, faulty_spec, running
from ehfl.flower import for_flower
from waiting import wait_for

DEADLINE = 30.0  # [s] for an answer: a client app needs a few seconds to begin, and more on a busy machine
SILENT = f"no reply in {DEADLINE:g} s"
SPEC = f"""
rounds = 60
scheduler = "greedy"
fleet = {{ clients = 3, rate = 1.0, initial = 1, capacity = 3 }}
flower.deadline = {DEADLINE}
"""


def wait_until_lost(deployed: Running, client: int, reason: str) -> int:
    """Wait for a round in which a client's work was lost for this reason, and return it."""

    def found() -> list[int]:
        return [t for t, seen in enumerate(deployed.devices()) if reason in seen.lost.get(client, "")]

    wait_for(found, 120, f"client {client} to be left out with '{reason}'\n{deployed.told()}")
    return found()[-1]


def wait_until_back(deployed: Running, client: int, after: int, seconds: float) -> None:
    def found() -> bool:
        return any(client in seen.took_part for seen in deployed.devices()[after + 1 :])

    wait_for(found, seconds, f"client {client} to take part again\n{deployed.told()}")


@pytest.mark.slow
@pytest.mark.deployment
def test_clients_that_raise_hang_send_nan_or_are_killed_cost_the_others_nothing(tmp_path: Path) -> None:
    orders = tmp_path / "orders"
    spec = for_flower(faulty_spec(tmp_path, "faults_of_nodes", SPEC))
    (orders / "node-1.hang").touch()
    (orders / "node-2.raise").touch()
    with running(tmp_path, spec) as deployed:
        raised = wait_until_lost(deployed, 2, "the sun went down")
        hung = wait_until_lost(deployed, 1, SILENT)
        assert raised == hung == 0

        (orders / "node-2.nan").touch()
        mad = wait_until_lost(deployed, 2, "not finite")

        (orders / "node-2.hold").touch()
        wait_for(lambda: deployed.ledger(2)["paid"] and deployed.ledger(2)["round"] > mad, 120, "client 2 to pay")
        ledger = deployed.ledger(2)
        deployed.up.nodes[2].kill()  # in mid-round: it has paid, and trains
        assert deployed.ledger(2) == ledger
        (orders / "node-2.hold").unlink()
        killed = ledger["round"]
        deployed.wait_for_rounds(killed + 1)
        assert deployed.devices()[killed].lost[2] == SILENT
        assert deployed.ledger(2) == ledger  # as it was, for as long as the node is away

        deployed.start_node(2)
        wait_until_back(deployed, 2, killed, 120)
        wait_until_back(deployed, 1, hung, 120)  # its app was ended, since nobody waits for it any more
        deployed.up.stop_servers()
        seen, records, log = deployed.devices(), deployed.records(), deployed.log()
        spent = {client: deployed.ledger(client)["totals"]["spent"] for client in deployed.clients}

    # The rounds in which something failed: the others' work counts, and the round ends by its deadline.
    for t in (raised, mad, killed):
        assert 0 in seen[t].took_part
        assert records[t].train_loss is not None
    assert all(record.seconds < DEADLINE + 10 for record in records)
    assert f"round {mad}: client 2 is left out: a model or a loss that is not finite" in log
    for client in deployed.clients:  # charged once for each round that it was asked to train in, whatever became of it
        asked = sum(client in one.asked for one in seen)
        assert asked <= spent[client] <= asked + 1  # a round that was under way has no record
