"""The heartbeats of nodes, and whether a reply from a node is worth waiting for.

Flower counts a node as connected for two heartbeat intervals (60 s) after its last heartbeat. In that minute a killed
node would delay every round to its deadline, so ehfl checks the heartbeat itself. The SuperLink's clock stamps
heartbeats and the server's clock reads them; both are the same, as Flower starts the server on the SuperLink's machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from ehfl.flower.internals import HEARTBEAT_INTERVAL_INF, HEARTBEAT_PATIENCE, NodeInfo

STALE_INTERVALS = 1.2  # nodes send a heartbeat every 18 to 23 s of an interval of 30 s, and retry when that fails


@dataclass(frozen=True, slots=True)
class Node:
    """A connected node: its id in Flower and the age of its last heartbeat [s]; 0 for simulated nodes."""

    node_id: int
    heartbeat_age: float  # [s]
    interval: float  # between heartbeats [s]; infinite in simulation

    @property
    def simulated(self) -> bool:
        """Whether the node is part of Flower's simulation, where no node is ever lost."""
        return self.interval == float("inf")

    @property
    def stale(self) -> bool:
        """Whether a heartbeat is overdue."""
        return self.heartbeat_age > STALE_INTERVALS * self.interval


def node_of(info: NodeInfo, now: float) -> Node:
    """Return the node of Flower's `info` at time `now` [s since 1970]; `online_until` is heartbeat + 2 intervals."""
    interval = info.heartbeat_interval
    if interval >= HEARTBEAT_INTERVAL_INF:
        return Node(info.node_id, 0.0, float("inf"))
    last = info.online_until - HEARTBEAT_PATIENCE * interval
    return Node(info.node_id, max(now - last, 0.0), interval)


class Silences:
    """The nodes that stayed silent until a deadline, with the time; a newer heartbeat makes them worth waiting for."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}  # node -> time of its last silence [s since 1970]

    def note(self, node_id: int, now: float) -> None:
        """Record that an awaited node has not answered."""
        self._since[node_id] = now

    def forget(self, node_id: int) -> None:
        """Remove a node that has answered."""
        self._since.pop(node_id, None)

    def not_worth_waiting(self, node: Node | None, now: float) -> str | None:
        """Return why the node (None: not connected) is not worth waiting for, or None if it is."""
        if node is None:
            return "not connected"
        if node.stale:
            return f"not waited for, its last heartbeat was {node.heartbeat_age:.0f} s ago"
        if not node.simulated and now - node.heartbeat_age <= self._since.get(node.node_id, float("-inf")):
            return "not waited for, no heartbeat since it last stayed silent"
        return None
