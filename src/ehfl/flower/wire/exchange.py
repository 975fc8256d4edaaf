"""Requests to many nodes: at the deadline each node has answered, failed or stayed silent.

**Whom to wait for.** Flower counts a node as connected for two heartbeat intervals (60 s) after its last heartbeat. In
that minute a killed node would delay every round to its deadline, so ehfl checks the heartbeat itself. The SuperLink's
clock stamps heartbeats and the server's clock reads them; both are the same, as Flower starts the server on the
SuperLink's machine.

**How replies are fetched.** A node announces its reply before the upload, and Flower's `pull_messages` then waits for
the upload: up to three minutes for a node that died during it, longer for a slow one. All replies requested in the same
call wait with it. The call also retries for ever while the SuperLink is down. With real nodes, therefore, up to 16
threads each fetch the replies of a few nodes: a late node delays no deadline and few other nodes.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from ehfl.flower.internals import HEARTBEAT_INTERVAL_INF, HEARTBEAT_PATIENCE, SUPERLINK_NODE_ID, NodeInfo
from ehfl.validation import one_line, shown

log = logging.getLogger("ehfl.flower")
GRACE_SECONDS = 5.0  # wait for stale nodes if there are no others
SLACK_SECONDS = 1.0  # messages outlive the deadline, so that the last poll still finds replies
STALE_INTERVALS = 1.2  # nodes send a heartbeat every 18 to 23 s of an interval of 30 s, and retry when that fails
THREADS = 16
REQUESTS_PER_SECOND = 20  # of all threads together, so that the SuperLink has time for the nodes


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a request to a node: its content, or one line with the reason for its absence."""

    node: int  # Flower's id of the node
    content: RecordDict | None
    error: str | None = None


class Exchange:
    """Sends requests to nodes through Flower's grid, with a deadline.

    Errors of the grid (the SuperLink is down, its database is full) are logged, and the call is retried until the
    deadline; a node that has not answered by then is silent. Flower's grid blocks instead of raising while it cannot
    connect: the deadline applies to awaiting replies, but listing nodes and sending messages block until the SuperLink
    is back. A stopped run raises Flower's RunNotRunningException (not an Exception), which ends the server.

    `clock` measures durations, `wall` is the wall-clock time for the age of heartbeats, both in seconds.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._grid = grid
        self.clock = clock
        self._wall = wall
        self.sleep = sleep
        self._silent: dict[int, float] = {}  # node -> time of its last silence [s since 1970]

    def nodes(self) -> list[Node]:
        """Return the nodes that Flower counts as connected, with the age of their heartbeat; none on an error."""
        return self._looked_up() or []

    def ask(
        self, kind: str, nodes: Collection[int], content_of: Callable[[int], RecordDict], deadline: float, group: str
    ) -> Generator[Reply, None, None]:
        """Send each node its content and yield one reply per node, as they arrive, within the deadline [s].

        Contents are made on demand and not kept; consecutive nodes with the identical object share one send. Sending
        starts with the first `next`; the caller may close the generator when it has enough replies.
        Replies are matched by the id of the message that they answer. A node whose heartbeat is overdue, or that had
        none since it last stayed silent, gets the message, but the generator ends without its reply once all other
        nodes have answered (after 5 s if there are no others).
        """
        if not nodes:
            return
        known = self._looked_up()
        end = self.clock() + deadline
        excuses = self._excuses(nodes, known)
        pending, failure = self._push(_alike(nodes, content_of), kind, end, group)
        reached = set(pending.values())
        yield from (Reply(node, None, failure) for node in nodes if node not in reached)
        waited = reached - excuses.keys()
        if not waited:
            end = min(end, self.clock() + GRACE_SECONDS)
        yield from self._answers(self._source(known, pending), pending, waited, end)
        for node in waited.intersection(pending.values()):
            self._silent[node] = self._wall()
        yield from (Reply(node, None, excuses.get(node, f"no reply in {deadline:g} s")) for node in pending.values())

    def _looked_up(self) -> list[Node] | None:
        try:
            return [node_of(info, self._wall()) for info in self._grid.get_nodes()]
        except Exception as error:
            log.warning("the nodes could not be listed: %s", one_line(error))
            return None

    def _excuses(self, asked: Iterable[int], nodes: list[Node] | None) -> dict[int, str]:
        """Return the reason for each node that is not worth waiting for; none if the nodes could not be listed."""
        if nodes is None:
            return {}
        known = {node.node_id: node for node in nodes}
        silent, now = self._silent, self._wall()
        excuses = {node: not_worth_waiting(known.get(node), silent.get(node, -math.inf), now) for node in asked}
        return {node: excuse for node, excuse in excuses.items() if excuse is not None}

    def _push(
        self, batches: Iterable[tuple[RecordDict, Sequence[int]]], kind: str, end: float, group: str
    ) -> tuple[dict[str, int], str]:
        """Send all messages; return the nodes by message id, and the error for the others."""
        ttl = max(end - self.clock(), 0.0) + SLACK_SECONDS
        pending: dict[str, int] = {}
        for content, nodes in batches:
            messages = [Message(content, node, kind, ttl=ttl, group_id=group) for node in nodes]
            stored, failure = self._pushed(messages, end)
            pending |= stored
            if failure:  # by now the deadline is over
                return pending, failure
        return pending, "Flower does not know the node"

    def _pushed(self, messages: Sequence[Message], end: float) -> tuple[dict[str, int], str]:
        """Send these messages, with retries until the deadline; return the nodes by message id, and any failure."""
        start = self.clock()
        while True:
            try:
                # The id is the message's digest, so a retry does not deliver a message twice.
                return _stored(messages, self._grid.push_messages(messages)), ""
            except Exception as error:
                failure = f"could not be asked, {one_line(error)}"
            log.warning("nodes %s", failure)
            if self.clock() >= end:
                return {}, failure
            self.sleep(pause(self.clock() - start))

    def _source(self, nodes: list[Node] | None, pending: Mapping[str, int]) -> Direct | Background:
        """Return the source of replies: direct calls in simulation, background threads for real nodes."""
        if nodes and all(node.simulated for node in nodes):
            return Direct(self._grid)
        return Background(self._grid, list(pending))

    def _answers(
        self, source: Direct | Background, pending: dict[str, int], waited: set[int], end: float
    ) -> Iterator[Reply]:
        """Yield replies and remove them from `pending`, until no awaited node is left or the deadline has passed."""
        start = self.clock()
        wanted = waited or set(pending.values())  # without such nodes, wait briefly for all
        try:
            while not wanted.isdisjoint(pending.values()):
                now = self.clock()
                self.sleep(min(pause(now - start), max(end - now, 0.0)))
                over = self.clock() >= end
                replies = self._accepted(source.arrived(pending.keys()), pending)
                while replies:  # replies carry models: drop each one after its yield, to free memory
                    yield replies.pop(0)
                if over:
                    return
        finally:
            source.close()

    def _accepted(self, messages: list[Message], pending: dict[str, int]) -> list[Reply]:
        """Return the replies of pending nodes and remove them from `pending`; discard all other replies."""
        replies = []
        for message in messages:
            asked, sender = message.metadata.reply_to_message_id, message.metadata.src_node_id
            # The SuperLink answers for nodes that it cannot reach, but only with errors.
            known = sender == pending.get(asked) or (sender == SUPERLINK_NODE_ID and message.has_error())
            if asked in pending and known:
                replies.append(self._reply(pending.pop(asked), message))
            else:
                log.warning("discarded an unexpected reply of node %d to message %s", sender, shown(asked))
        return replies

    def _reply(self, node: int, message: Message) -> Reply:
        if message.metadata.src_node_id == node:
            self._silent.pop(node, None)
        if message.has_error():
            return Reply(node, None, shown(message.error.reason or f"error {message.error.code}"))
        return Reply(node, message.content)


def _alike(nodes: Iterable[int], content_of: Callable[[int], RecordDict]) -> Iterator[tuple[RecordDict, Sequence[int]]]:
    """Yield each content with the consecutive nodes that share it, as Flower serialises it once for all of them."""
    last, waiting = None, []
    for node in nodes:
        content = content_of(node)
        if last is not None and content is not last:
            yield last, waiting
            waiting = []
        last = content
        waiting.append(node)
    if last is not None:
        yield last, waiting


def _stored(messages: Sequence[Message], message_ids: Iterable[str]) -> dict[str, int]:
    """Return the nodes whose message was stored, by message id; Flower returns no id, or an empty one, for the others.

    Flower's grids write the id into the message, so the result does not depend on their order of return.
    """
    stored = set(message_ids)
    pairs = [(message.metadata.message_id, message.metadata.dst_node_id) for message in messages]
    return {message_id: node for message_id, node in pairs if message_id in stored}


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


def not_worth_waiting(node: Node | None, silent_since: float, now: float) -> str | None:
    """Return why the node (None: not connected) is not worth waiting for, or None if it is.

    A heartbeat that is newer than its last silence, at `silent_since`, makes a node worth waiting for.
    """
    if node is None:
        return "not connected"
    if node.stale:
        return f"not waited for, its last heartbeat was {node.heartbeat_age:.0f} s ago"
    if not node.simulated and now - node.heartbeat_age <= silent_since:
        return "not waited for, no heartbeat since it last stayed silent"
    return None


def pause(elapsed: float) -> float:
    """Return the time to the next poll [s], `elapsed` seconds after the request: a twentieth of it, in [0.02, 0.5].

    >>> pause(0), pause(2), pause(60)
    (0.02, 0.1, 0.5)
    """
    return min(max(0.05 * elapsed, 0.02), 0.5)


def pull(grid: Grid, message_ids: Collection[str]) -> list[Message]:
    """Return the available replies; on an error of the grid, log it and return none."""
    try:
        return list(grid.pull_messages(list(message_ids)))
    except Exception as error:
        log.warning("replies could not be fetched, trying again: %s", one_line(error))
        return []


class Direct:
    """Fetches replies in the calling thread; for simulation, where this never blocks."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def arrived(self, pending: Collection[str]) -> list[Message]:
        """Return the available replies to these messages."""
        return pull(self._grid, pending)

    def close(self) -> None:
        """Do nothing: there are no threads to stop."""


class Background:
    """Threads that each fetch the replies of a few nodes; `close` abandons a thread that is stuck in Flower."""

    def __init__(self, grid: Grid, message_ids: Sequence[str]) -> None:
        self._grid = grid
        self._queue: SimpleQueue[Message | BaseException] = SimpleQueue()
        self._closed = threading.Event()
        threads = min(len(message_ids), THREADS)
        self._least_pause = threads / REQUESTS_PER_SECOND
        for first in range(threads):
            mine = set(message_ids[first::threads])
            threading.Thread(target=self._fetch, args=(mine,), name="ehfl-replies", daemon=True).start()

    def arrived(self, pending: Collection[str]) -> list[Message]:
        """Return the replies fetched since the last call; re-raise an exception that ended a thread."""
        messages: list[Message] = []
        while True:
            try:
                item = self._queue.get_nowait()
            except Empty:
                return messages
            if isinstance(item, BaseException):  # Flower's signal that the run was stopped
                raise item
            messages.append(item)

    def close(self) -> None:
        """Let every thread end after its current call."""
        self._closed.set()

    def _fetch(self, message_ids: set[str]) -> None:
        elapsed = 0.0
        try:
            while message_ids and not self._closed.wait(wait := max(pause(elapsed), self._least_pause)):
                elapsed += wait
                self._fetch_once(message_ids)
        except BaseException as error:
            self._queue.put(error)

    def _fetch_once(self, message_ids: set[str]) -> None:
        for message in pull(self._grid, message_ids):
            # Flower delivers a reply once; afterwards its message id is unknown.
            message_ids.discard(message.metadata.reply_to_message_id)
            self._queue.put(message)
