"""A server that is killed at any step goes on as if nothing had happened, and so does a node."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl.learning import memory
from ehfl.learning.aggregation.contract import Order, Update
from ehfl.learning.checkpoint import NAME, PREVIOUS, Checkpoint, read_checkpoint
from ehfl.learning.engine.engine import Engine
from ehfl.learning.engine.flat import FlatModel
from ehfl.runs import HistoryFile, Record
from ehfl.scheduling import Participation
from loopback_grid import Played, loopback, play, tiny

pytestmark = pytest.mark.usefixtures("in_server", "no_fsync")

ALL = {"scheduler": "greedy", "fleet": {"clients": 2, "rate": 0.7, "initial": 1}, "rounds": 3}


class Killed(BaseException):
    """The process is gone; no handler of errors sees it."""


def ledgers(nodes: Path) -> dict[str, Any]:
    found = {file.parent.name: json.loads(file.read_text()) for file in sorted(nodes.glob("client-*/*.json"))}
    return {
        client: {key: facts[key] for key in ("round", "paid", "energy", "totals")} for client, facts in found.items()
    }


def check_same(one: Played, other: Played) -> None:
    assert one.outcome.error is None and one.records == other.records
    for name in ("offsets", "indices", "spent", "final_energy", "energy", "weights", "steps"):
        np.testing.assert_array_equal(getattr(one.participation, name), getattr(other.participation, name))
    assert one.participation.totals == other.participation.totals
    for name, weights in other.weights.items():
        np.testing.assert_array_equal(one.weights[name], weights)


def stepping(monkeypatch: pytest.MonkeyPatch, step: Callable[[str], None]) -> None:
    """Call `step` before and after everything that the server writes."""
    for owner, name in ((HistoryFile, "append"), (Checkpoint, "write"), (Participation, "save")):
        original = getattr(owner, name)

        def stepped(self: Any, *given: Any, original: Any = original, name: str = name) -> None:
            step(f"before {name}")
            original(self, *given)
            step(f"after {name}")

        monkeypatch.setattr(owner, name, stepped)


def test_a_server_that_is_killed_at_any_step_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tiny(**ALL | {"rounds": 2})  # the second round is like any other
    undisturbed = play(spec, tmp_path / "whole", loopback(tmp_path / "nodes", 2))
    steps: list[str] = []
    last = 0  # the step at which the server is killed

    def step(name: str) -> None:
        steps.append(name)
        if len(steps) == last:
            raise Killed

    stepping(monkeypatch, step)
    while True:
        last, place = last + 1, tmp_path / str(last)
        steps.clear()
        grid = loopback(place / "nodes", 2)
        grid.step = step
        try:
            play(spec, place / "runs", grid)
            break
        except Killed:
            killed_at = steps[-1]
        resumed = play(spec, place / "runs", loopback(place / "nodes", 2))

        check_same(resumed, undisturbed)
        assert ledgers(place / "nodes") == ledgers(tmp_path / "nodes"), killed_at
    assert {"nodes", "push", "pull", "before append", "after append", "before write", "after save"} <= set(steps)
    assert last > 30


@pytest.mark.parametrize(("aggregation", "in_memory"), [("fedawe", 0), ("scaffold", 1e9)])
def test_what_an_aggregation_remembers_of_each_client_outlives_its_server(
    aggregation: str, in_memory: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", in_memory)
    fleet = {"clients": 4, "rate": 0.5, "initial": 1}
    spec = tiny(scheduler="greedy", rounds=5, fleet=fleet, learning={"aggregation": aggregation})
    undisturbed = play(spec, tmp_path / "whole", loopback(tmp_path / "nodes", 4))

    def leave(record: Record) -> None:
        if record.round == 2:
            raise Killed

    with pytest.raises(Killed):
        play(spec, tmp_path / "runs", loopback(tmp_path / "again", 4), leave)
    folder = tmp_path / "runs" / "greedy-s3"
    rows = [name for name in read_checkpoint(folder / NAME).state if name.endswith(("/vectors", "/digests"))]
    assert rows and (folder / "models.rows").exists() == (in_memory == 0)
    resumed = play(spec, tmp_path / "runs", loopback(tmp_path / "again", 4))

    check_same(resumed, undisturbed)
    one, other = (read_checkpoint(played.folder.path / NAME).state for played in (resumed, undisturbed))
    for name, array in other.items():
        np.testing.assert_array_equal(one[name], array, err_msg=name)


@pytest.mark.parametrize("scheduler", ["f3ast:target=2,rate=0.2", "energy-cycles"])
def test_what_a_scheduler_weighs_turns_by_outlives_its_server(scheduler: str, tmp_path: Path) -> None:
    """Weights of past rounds are those of the levels that devices had then, which the record of a round knows."""
    fleet = {"clients": 4, "rate": [0.3, 0.5, 0.8, 1.0], "initial": 1}
    spec = tiny(scheduler=scheduler, rounds=6, fleet=fleet, learning={"aggregation": "scheduled"})
    undisturbed = play(spec, tmp_path / "whole", loopback(tmp_path / "nodes", 4))

    def leave(record: Record) -> None:
        if record.round == 3:
            raise Killed

    with pytest.raises(Killed):
        play(spec, tmp_path / "runs", loopback(tmp_path / "again", 4), leave)
    resumed = play(spec, tmp_path / "runs", loopback(tmp_path / "again", 4))

    check_same(resumed, undisturbed)
    weights = undisturbed.participation.weights
    assert weights is not None and np.unique(weights).size > 2


def test_how_many_steps_turns_had_outlives_the_server(tmp_path: Path) -> None:
    fleet = {"clients": 4, "harvest": "poisson:4.5", "capacity": 12, "cost": 10, "step_cost": 4, "initial": 6}
    spec = tiny(scheduler="adaptive-steps:4", rounds=6, fleet=fleet, learning={"aggregation": "fednova"})
    undisturbed = play(spec, tmp_path / "whole", loopback(tmp_path / "nodes", 4))

    def leave(record: Record) -> None:
        if record.round == 3:
            raise Killed

    with pytest.raises(Killed):
        play(spec, tmp_path / "runs", loopback(tmp_path / "again", 4), leave)
    resumed = play(spec, tmp_path / "runs", loopback(tmp_path / "again", 4))

    check_same(resumed, undisturbed)
    steps = undisturbed.participation.steps
    assert steps is not None and np.unique(steps).size == 2


def failing_once(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let client 1's training fail the first time, when it has paid."""
    original, failures = Engine.train, [error]

    def train(self: Engine, order: Order, model: FlatModel) -> Update:
        if order.client == 1 and failures:
            raise failures.pop()
        return original(self, order, model)

    monkeypatch.setattr(Engine, "train", train)


def test_a_turn_that_both_server_and_node_did_not_survive_is_paid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tiny(**ALL)
    undisturbed = play(spec, tmp_path / "whole", loopback(tmp_path / "nodes", 2))
    failing_once(monkeypatch, Killed())

    with pytest.raises(Killed):
        play(spec, tmp_path / "runs", loopback(tmp_path / "again", 2))
    assert ledgers(tmp_path / "again")["client-1"]["paid"] is True
    resumed = play(spec, tmp_path / "runs", loopback(tmp_path / "again", 2))

    check_same(resumed, undisturbed)
    assert ledgers(tmp_path / "again") == ledgers(tmp_path / "nodes")


def test_an_app_that_fails_when_it_has_paid_gets_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tiny(**ALL)
    undisturbed = play(spec, tmp_path / "whole", loopback(tmp_path / "nodes", 2))
    failing_once(monkeypatch, RuntimeError("out of memory"))

    played = play(spec, tmp_path / "runs", loopback(tmp_path / "again", 2))

    seen = played.records[0].devices
    assert seen is not None and dict(seen.lost) == {1: "RuntimeError: out of memory"}
    assert seen.took_part == (0,)
    # It is heard of when the next round begins; the energies are those of a turn that went well.
    assert undisturbed.participation.spent.tolist() == [2, 1, 1]
    assert played.participation.spent.tolist() == [1, 2, 1]
    assert played.participation.totals == undisturbed.participation.totals
    assert ledgers(tmp_path / "again") == ledgers(tmp_path / "nodes")


def test_what_a_node_had_paid_is_known_though_it_is_gone_when_the_server_comes_back(tmp_path: Path) -> None:
    spec, grid = tiny(**ALL), loopback(tmp_path / "nodes", 2)

    def step(name: str) -> None:
        if name == "nodes" and any(asked.kind == "train" for asked in grid.sent) and not grid.due:
            raise Killed  # the first round is over

    grid.step = step
    with pytest.raises(Killed):
        play(spec, tmp_path / "runs", grid)
    later = loopback(tmp_path / "nodes", 2)
    later.away = {11}
    played = play(spec, tmp_path / "runs", later)

    assert [record.participants for record in played.records] == [2, 0, 1]
    assert played.participation.spent.tolist() == [2, 0, 1]


def test_a_folder_that_is_behind_its_nodes_is_refused_in_one_line(tmp_path: Path) -> None:
    spec, grid = tiny(**ALL), loopback(tmp_path / "nodes", 2)

    def leave(record: Record) -> None:
        if record.round == 1:
            raise Killed

    with pytest.raises(Killed):
        play(spec, tmp_path / "runs", grid, leave)
    folder = tmp_path / "runs" / "greedy-s3"
    (folder / PREVIOUS).replace(folder / NAME)  # as if from a backup: the nodes have paid for round 1 since
    played = play(spec, tmp_path / "runs", loopback(tmp_path / "nodes", 2))

    reason = "round 0 is over: the account of client 1 stands at round 1"
    begun = "the folder is of an earlier state than its nodes are"
    assert played.outcome.error == f"{begun}: {reason}: put back a newer copy of it, or play the run under another name"
