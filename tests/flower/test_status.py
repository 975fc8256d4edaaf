"""How a run on devices stands, from the rounds in its folder."""

from __future__ import annotations

from pathlib import Path

from ehfl.flower.local.up import NodeStatus, Status, Watcher
from ehfl.runs import Devices, HistoryFile, Record, rewind, rounds_digest


def record(t: int, devices: Devices, metric: float | None = None) -> Record:
    loss = None if metric is None else 1.0
    return Record(t, len(devices.took_part), 0.1, 2.0, test_loss=loss, test_metric=metric, devices=devices)


ROUNDS = [
    record(0, Devices(energy=(2, 1, None), asked=(0, 1), lost={}, spent=(1, 1, 0))),
    record(1, Devices(energy=(1, 4, None), asked=(0, 1), lost={1: "no reply in 30 s"}, spent=(2, 2, 0)), metric=0.5),
    record(2, Devices(energy=(0, None, 3), asked=(2,), lost={2: "sent NaN"}, spent=(2, 2, 1))),
]


def written(path: Path, records: list[Record]) -> None:
    with HistoryFile(path) as file:
        for one in records:
            file.append(one)


def test_before_the_first_round_nobody_has_been_heard(tmp_path: Path) -> None:
    assert Watcher(tmp_path / "rounds.jsonl", 9, 2).look() == Status(0, 9, None, (NodeStatus(), NodeStatus()))


def test_rounds_are_counted_for_each_node(tmp_path: Path) -> None:
    watcher = Watcher(tmp_path / "rounds.jsonl", 9, 3)
    written(tmp_path / "rounds.jsonl", ROUNDS[:2])
    assert watcher.look().nodes[2] == NodeStatus(heard=False)
    written(tmp_path / "rounds.jsonl", ROUNDS[2:])

    status = watcher.look({0: False, 2: True})

    assert (status.rounds, status.total, status.metric, status.earlier) == (3, 9, 0.5, 2)
    assert status.nodes == (
        NodeStatus(heard=True, running=False, energy=0, took_part=2),
        NodeStatus(heard=False, energy=4, took_part=1, lost=1, reason="no reply in 30 s"),  # its last known level
        NodeStatus(heard=True, energy=3, lost=1, reason="sent NaN"),
    )


def test_a_resumed_run_is_counted_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    written(path, ROUNDS)
    watcher = Watcher(path, 9, 3)
    watcher.look()

    rewind(path, 1, rounds_digest(ROUNDS[:1]))

    status = watcher.look()
    assert (status.rounds, status.earlier) == (1, 3)
    assert status.nodes[:2] == (
        NodeStatus(heard=True, energy=2, took_part=1),
        NodeStatus(heard=True, energy=1, took_part=1),
    )
