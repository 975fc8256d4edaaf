"""The progress of a run on devices, read from its folder, independent of the server process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ehfl.runs import Devices, Record, Tail


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """The status of one node, from the recorded rounds."""

    heard: bool = False  # whether it answered in the last round
    running: bool = True  # whether its process runs, if it is on this machine
    energy: int | None = None  # last report [units]
    took_part: int = 0  # rounds
    lost: int = 0  # rounds in which its update was not used
    reason: str = ""  # of the last loss


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a run on devices, and its nodes."""

    rounds: int  # played
    total: int  # to play
    metric: float | None  # of the last evaluation
    nodes: tuple[NodeStatus, ...]
    earlier: int = 0  # rounds played before the watcher started
    stopping: bool = False  # whether its processes are being ended


class Watcher:
    """Reads the lines added to a run's rounds.jsonl since the last call."""

    def __init__(self, rounds: Path, total: int, n_clients: int) -> None:
        self._tail = Tail(rounds)
        self._total = total
        self._earlier: int | None = None
        self._fresh = self._nodes = (NodeStatus(),) * n_clients

    def look(self, running: Mapping[int, bool] | None = None) -> Status:
        """Return the run's status; `running` tells which nodes' processes run."""
        for record in self._tail.read():
            self._take(record)
        if self._earlier is None:
            self._earlier = self._tail.rounds
        alive = running or {}
        nodes = (replace(node, running=alive.get(client, True)) for client, node in enumerate(self._nodes))
        return Status(self._tail.rounds, self._total, self._tail.metric, tuple(nodes), self._earlier)

    def _take(self, record: Record) -> None:
        before = self._fresh if record.round == 0 else self._nodes  # a truncated file is read from its start
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
