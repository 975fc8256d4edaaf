"""Rounds on nodes that come and go: empty ones, waiting, pace, and clients that are asked to spare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl.arrays import IntArray
from ehfl.experiment.spec import build
from ehfl.runs import Record
from ehfl.scheduling import View
from loopback_grid import Asked, Delivery, LoopbackGrid, Played, honest, late, loopback, play, silent, tiny, when

pytestmark = pytest.mark.usefixtures("in_server", "no_fsync")

ALL = {"scheduler": "greedy", "fleet": {"clients": 3, "rate": 1.0}, "rounds": 3}


def replayed(*rounds: list[int]) -> dict[str, Any]:
    """Return a fleet whose harvest is known."""
    return {"clients": len(rounds[0]), "harvest": {"name": "replay", "arrivals": [list(units) for units in rounds]}}


def asked_in(grid: LoopbackGrid, kind: str) -> list[tuple[int, int]]:
    return [(asked.round, asked.client) for asked in grid.sent if asked.kind == kind]


def test_rounds_without_energy_are_empty_and_the_model_stays(tmp_path: Path) -> None:
    fleet = replayed([1, 1], *[[0, 0]] * 5, [1, 1], [0, 0])
    spec = tiny(scheduler="greedy", rounds=8, fleet=fleet, evaluation={"every": 1})

    played = play(spec, tmp_path / "runs", loopback(tmp_path / "nodes", 2))

    assert [record.participants for record in played.records] == [0, 2, 0, 0, 0, 0, 0, 2]
    assert len({record.test_loss for record in played.records[1:7]}) == 1
    assert all(record.train_loss is None for record in played.records[2:7])
    assert played.participation.spent.tolist() == [0, 2, 0, 0, 0, 0, 0, 2]


def test_nodes_that_are_away_are_not_chosen_and_harvest_all_the_same(tmp_path: Path) -> None:
    grid = loopback(tmp_path / "nodes", 3)

    def leave_and_return(record: Record) -> None:
        grid.away = {0: {12}, 1: {12}}.get(record.round, set())

    played = play(tiny(**ALL | {"rounds": 4}), tmp_path / "runs", grid, leave_and_return)

    seen = [record.devices for record in played.records]
    assert [one.energy for one in seen if one] == [(0, 0, 0), (1, 1, None), (1, 1, None), (1, 1, 3)]
    assert [record.participants for record in played.records] == [0, 2, 2, 3]
    assert played.participation.energy is not None
    assert played.participation.energy[:, 2].tolist() == [0, 0, 0, 3, 3]  # what was last heard


def test_the_log_has_a_line_a_round(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ehfl.flower")
    grid = loopback(tmp_path / "nodes", 3)
    grid.arrives = {12: 1e9}

    play(tiny(**ALL), tmp_path / "runs", grid)

    begun, *rounds = caplog.messages
    assert begun.startswith("greedy seed 3, 3 rounds, in ")
    assert rounds == [
        "round 0 (1 of 3): 2 of 3 clients online, 0 took part, 0 lost",
        "round 1 (2 of 3): 2 of 3 clients online, 2 took part, 0 lost, gap 3.504",
        "round 2 (3 of 3): 2 of 3 clients online, 2 took part, 0 lost, gap 2.358",
    ]


def test_with_too_few_nodes_the_server_waits_and_burns_no_rounds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grid = loopback(tmp_path / "nodes", 3)
    grid.arrives = {10: 40.0, 11: 100.0, 12: 1e9}

    played = play(tiny(**ALL | {"flower": {"least_nodes": 2, "deadline": 5}}), tmp_path / "runs", grid)

    assert [record.participants for record in played.records] == [0, 2, 2]
    assert 100 <= grid.clock() < 110  # and it does not wait for the third
    assert "0 nodes are connected, and the server waits for 2" in caplog.text
    assert asked_in(grid, "query")[:2] == [(0, 0), (0, 1)]


def test_nodes_that_answer_nothing_of_use_are_asked_again_after_a_while(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def deaf_at_first(asked: Asked) -> list[Delivery]:
        return honest(asked) if asked.grid.clock() > 30 else []

    grid = loopback(tmp_path / "nodes", 3, deaf_at_first)

    played = play(tiny(**ALL), tmp_path / "runs", grid)

    assert [record.participants for record in played.records] == [0, 3, 3]
    assert "round 0 waits: 0 nodes answered within the deadline of" in caplog.text
    assert len(asked_in(grid, "query")) < 3 * 10  # some questions, not thousands


def test_rounds_begin_at_their_pace(tmp_path: Path) -> None:
    grid, begun = loopback(tmp_path / "nodes", 3), []

    def began(asked: Asked) -> list[Delivery]:
        if asked.kind == "query" and asked.client == 0:
            begun.append(asked.grid.clock())
        return honest(asked)

    grid.behave = began
    play(tiny(**ALL | {"flower": {"pace": 60}}), tmp_path / "runs", grid)

    np.testing.assert_allclose(np.diff(begun)[:2], 60, atol=0.1)
    assert begun[3] - begun[2] < 1  # the last question is after the last round


def with_spare(tmp_path: Path, grid: LoopbackGrid, fleet: dict[str, Any]) -> Played:
    spec = tiny(scheduler="myopic:1", target=1, rounds=3, fleet=fleet, flower={"spare": 1})
    return play(spec, tmp_path / "runs", grid)


def test_the_first_answers_count_and_the_spare_ones_are_named(tmp_path: Path) -> None:
    # Client 0 has most and is chosen, client 1 is asked to spare and is faster; client 2 has the least.
    grid = loopback(tmp_path / "nodes", 3, when("train", late(2.0), client=0))

    played = with_spare(tmp_path, grid, replayed([3, 2, 1], [0, 0, 0], [0, 0, 0]))

    seen = [record.devices for record in played.records]
    assert [one.asked for one in seen if one] == [(), (0, 1), (0, 1)]
    assert [one.took_part for one in seen if one] == [(), (1,), (1,)]
    assert seen[1] is not None and dict(seen[1].lost) == {0: "not needed: others were faster"}
    # What client 0 paid in vain in round 1 is heard of in round 2, and that of round 2 when all is over.
    assert played.participation.spent.tolist() == [0, 1, 3]
    assert played.participation.final_energy.tolist() == [1, 0, 1]


def test_a_spare_client_stands_in_for_one_that_is_silent(tmp_path: Path) -> None:
    grid = loopback(tmp_path / "nodes", 3, when("train", silent, client=0))

    played = with_spare(tmp_path, grid, replayed([3, 2, 1], [0, 0, 0], [0, 0, 0]))

    assert [record.participants for record in played.records] == [0, 1, 1]
    assert grid.clock() < 5  # nobody waits for the silent one once there are enough


def test_nobody_is_asked_to_spare_who_cannot_pay(tmp_path: Path) -> None:
    grid = loopback(tmp_path / "nodes", 3)

    with_spare(tmp_path, grid, replayed([3, 0, 0], [0, 0, 0], [0, 0, 0]))

    assert asked_in(grid, "train") == [(1, 0), (2, 0)]


def test_a_spare_client_that_stands_in_has_a_weight_of_its_own(tmp_path: Path) -> None:
    """Client 1 takes part in rounds 1 and 2, though client 0, which is silent, has most and was as rare."""
    grid = loopback(tmp_path / "nodes", 2, when("train", silent, client=0))
    fleet = replayed([9, 2], [0, 0], [0, 0])
    spec = tiny(scheduler="f3ast:target=1,rate=0.5", target=1, rounds=3, fleet=fleet, flower={"spare": 1},
                learning={"aggregation": "scheduled"})  # fmt: skip

    played = play(spec, tmp_path / "runs", grid).participation

    # r begins with 1/2 and is 1/4 after the empty round 0; with a turn in round 1 it is 1/8 + 1/2, and then 5/16 + 1/2.
    assert played.indices.tolist() == [1, 1]
    assert played.weights is not None and played.weights.tolist() == pytest.approx([1 / 0.625, 1 / 0.8125])


class Reckless:
    """Chooses client 0, whatever it has."""

    def select(self, view: View) -> IntArray:
        return np.array([0])


def test_a_scheduler_that_chooses_who_cannot_pay_is_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tiny(**ALL)
    monkeypatch.setattr(build, "scheduler_of", lambda _: Reckless())

    played = play(spec, tmp_path / "runs", loopback(tmp_path / "nodes", 3))

    reason = "round 0, client 0 was picked with 0 units and a round costs 1"
    assert played.outcome.error == f"Reckless spends energy that is not there: {reason}"
