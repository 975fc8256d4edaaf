"""Everything goes wrong at once, again and again: rounds end, energy adds up, nobody pays twice."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from ehfl.experiment import Spec
from loopback_grid import (
    Asked,
    Behaviour,
    Delivery,
    Played,
    honest,
    late,
    loopback,
    play,
    saying,
    silent,
    tiny,
    with_model,
)

pytestmark = pytest.mark.usefixtures("in_server", "no_fsync")

ROUNDS, CLIENTS = 10, 5


class Killed(BaseException):
    """The server's process is gone."""


def lost_on_the_way(asked: Asked) -> list[Delivery]:
    return []


def twice(asked: Asked) -> list[Delivery]:
    return [(0.0, asked.honest()), (3.0, asked.honest())]


BOTH: list[Behaviour] = [silent, lost_on_the_way, late(4.0), late(9.0), twice, saying(round=99)]
TRAINED: list[Behaviour] = [
    *BOTH,
    saying(client=0),
    with_model(lambda w: w * np.float32("nan")),
    with_model(lambda w: w[1:]),
]


class Chaos:
    """Nodes that misbehave at random, and remember who has truly been paid for."""

    def __init__(self, seed: int, nodes: Path) -> None:
        self.random, self.nodes = random.Random(seed), nodes
        self.paid: set[tuple[int, int]] = set()  # (client, round)

    def behave(self, asked: Asked) -> list[Delivery]:
        calm = asked.round == ROUNDS or self.random.random() < 0.6
        replies = (honest if calm else self.random.choice(TRAINED if asked.kind == "train" else BOTH))(asked)
        self.note(asked)
        asked.grid.away = {node for node in asked.grid.configs if asked.round < ROUNDS and self.random.random() < 0.1}
        return replies

    def note(self, asked: Asked) -> None:
        """Take down a turn that the node has paid for, from its own file."""
        for file in (self.nodes / f"client-{asked.client}").glob("*.json"):
            facts = json.loads(file.read_text())
            if facts["paid"]:
                self.paid.add((asked.client, facts["round"]))

    def played(self, spec: Spec, runs: Path) -> Played | None:
        """Start the server; return what the run has left, nothing if the server was killed."""
        grid = loopback(self.nodes, CLIENTS, self.behave)

        def kill(_: str) -> None:
            assert grid.clock() < 1e4, "the server waits for ever"
            if self.random.random() < 0.01:
                raise Killed

        grid.step = kill
        try:
            # In the end all nodes are there once more, so that nothing that was paid stays unknown.
            return play(spec, runs, grid, lambda _: grid.away.clear())
        except Killed:
            return None


@pytest.mark.parametrize("seed", range(4))
def test_whatever_goes_wrong_the_run_ends_and_its_energy_adds_up(seed: int, tmp_path: Path) -> None:
    chaos = Chaos(seed, tmp_path / "nodes")
    spec = tiny(
        rounds=ROUNDS,
        scheduler=["myopic", "power-of-choice", "always-on", "greedy"][seed],
        fleet={"clients": CLIENTS, "rate": 0.8, "cost": [1, 1, 2, 1, 1], "capacity": 4},
        flower={"spare": seed % 3, "norm_limit": 50, "least_nodes": 2},
    )
    kills = 0
    while (played := chaos.played(spec, tmp_path / "runs")) is None:
        kills += 1

    assert played.outcome.error is None and kills > 0
    cost = np.array([1, 1, 2, 1, 1])
    for record in played.records:
        seen = record.devices
        assert seen is not None and set(seen.asked) <= set(seen.online)
        assert record.participants == len(seen.took_part)
        assert all((client, record.round) in chaos.paid for client in seen.took_part)
    participation = played.participation  # it was refused if what was spent did not add up
    totals = [json.loads(file.read_text())["totals"] for file in sorted((tmp_path / "nodes").glob("client-*/*.json"))]
    turns = np.bincount([client for client, _ in chaos.paid], minlength=CLIENTS)
    assert [facts["spent"] + facts["mains"] for facts in totals] == (turns * cost).tolist()
    assert participation.spent.sum() == sum(turns * cost)
    assert participation.final_energy.tolist() == [facts["stored"] for facts in totals]
    assert participation.totals.harvested == sum(facts["harvested"] for facts in totals)
