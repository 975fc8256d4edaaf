"""How a run on devices stands, read from its folder: the same whoever started its server, and however often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ehfl.history import Devices, Record, Tail


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node, as far as the rounds say."""

    heard: bool = False  # in the last round
    running: bool = True  # whether its process is, where it is one of this machine
    energy: int | None = None  # what it reported last [units]
    took_part: int = 0  # rounds
    lost: int = 0  # rounds in which it was asked and its work did not count
    reason: str = ""  # why, the last time


@dataclass(frozen=True, slots=True)
class Status:
    """A run on devices: how far it has come, and its nodes."""

    rounds: int  # played
    total: int  # to play
    metric: float | None  # of the last evaluation
    nodes: tuple[NodeStatus, ...]
    earlier: int = 0  # rounds that were played before the watching began
    stopping: bool = False  # whether its processes are being ended


class Watcher:
    """Reads what was added to a run's rounds.jsonl since it last looked."""

    def __init__(self, rounds: Path, total: int, n_clients: int) -> None:
        self._tail = Tail(rounds)
        self._total = total
        self._earlier: int | None = None
        self._fresh = self._nodes = (NodeStatus(),) * n_clients

    def look(self, running: Mapping[int, bool] | None = None) -> Status:
        """Return the run as it stands; `running` says which nodes' processes are."""
        for record in self._tail.read():
            self._take(record)
        if self._earlier is None:
            self._earlier = self._tail.rounds
        alive = running or {}
        nodes = (replace(node, running=alive.get(client, True)) for client, node in enumerate(self._nodes))
        return Status(self._tail.rounds, self._total, self._tail.metric, tuple(nodes), self._earlier)

    def _take(self, record: Record) -> None:
        before = self._fresh if record.round == 0 else self._nodes  # a file that was cut back is read from its start
        if record.devices is not None:
            seen = record.devices
            self._nodes = tuple(_after(node, client, seen) for client, node in enumerate(before))


def _after(node: NodeStatus, client: int, seen: Devices) -> NodeStatus:
    """Return a node after one more round."""
    energy = seen.energy[client]
    reason = seen.lost.get(client)
    return NodeStatus(
        heard=energy is not None,
        energy=node.energy if energy is None else energy,
        took_part=node.took_part + (client in seen.took_part),
        lost=node.lost + (reason is not None),
        reason=node.reason if reason is None else reason,
    )
