"""One question to many nodes: each answers, fails or stays silent, and by the deadline the asker knows which."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flwr.app import Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.serverapp import Grid

from ehfl.flower.heartbeats import Node, Silences, node_of
from ehfl.flower.pulling import Background, Direct, Replies, pause
from ehfl.validation import one_line, shown

log = logging.getLogger("ehfl.flower")
GRACE_SECONDS = 5.0  # for nodes that are not worth waiting for, when there are no others
SLACK_SECONDS = 1.0  # messages live longer than the deadline by this, so that the last look still finds replies


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of asking a node: either its content, or one line that says why there is none."""

    node: int  # Flower's id of the node
    content: RecordDict | None
    error: str | None = None


class Exchange:
    """Asks nodes through Flower's grid, within a deadline whatever they do.

    What the grid raises (a SuperLink that is down, a full database) goes to the log, and the call is tried again until
    the deadline; whoever has not answered by then is silent. Flower's own grid rather waits than raises while it cannot
    connect: a deadline holds while replies are awaited, but looking for nodes and asking them last until the SuperLink
    is back. That the run was stopped is raised (Flower's RunNotRunningException, no Exception), and ends the server.

    `clock` measures durations, `wall` is the time of day that heartbeats are compared with, both in seconds.
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
        self._silences = Silences()

    def nodes(self) -> list[Node]:
        """Return the nodes that Flower counts as connected, with the age of their heartbeat; none if it cannot tell."""
        return self._looked_up() or []

    def ask(
        self, kind: str, nodes: Collection[int], content_of: Callable[[int], RecordDict], deadline: float, group: str
    ) -> Generator[Reply, None, None]:
        """Send each node its content and yield one reply a node, as they come, within the deadline [s].

        A node's content is made when it is sent and is not kept; nodes in a row that get the very same one are sent it
        at once. Nothing is sent before the first reply is asked for, and whoever has enough may close the generator.
        Replies are told by the id of the message that they answer. A node with an overdue heartbeat, or none since it
        last stayed silent, is asked but not waited for: it is given up when all others have answered (after 5 s if
        there are none).
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
            self._silences.note(node, self._wall())
        yield from (Reply(node, None, excuses.get(node, f"no reply in {deadline:g} s")) for node in pending.values())

    def _looked_up(self) -> list[Node] | None:
        try:
            return [node_of(info, self._wall()) for info in self._grid.get_nodes()]
        except Exception as error:
            log.warning("the nodes could not be listed: %s", one_line(error))
            return None

    def _excuses(self, asked: Iterable[int], nodes: list[Node] | None) -> dict[int, str]:
        """Return, for each node that is not worth waiting for, why; if nothing is known of any, all are."""
        if nodes is None:
            return {}
        known = {node.node_id: node for node in nodes}
        excuses = {node: self._silences.not_worth_waiting(known.get(node), self._wall()) for node in asked}
        return {node: excuse for node, excuse in excuses.items() if excuse is not None}

    def _push(
        self, batches: Iterable[tuple[RecordDict, Sequence[int]]], kind: str, end: float, group: str
    ) -> tuple[dict[str, int], str]:
        """Send all messages; return who was asked by the message's id, and what to say of the others."""
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
        """Send these messages, again and again until the deadline; return who was asked, and why nobody could be."""
        start = self.clock()
        while True:
            try:
                # An id is the message's digest, so that a message that is sent again is not delivered twice.
                return _stored(messages, self._grid.push_messages(messages)), ""
            except Exception as error:
                failure = f"could not be asked, {one_line(error)}"
            log.warning("nodes %s", failure)
            if self.clock() >= end:
                return {}, failure
            self.sleep(pause(self.clock() - start))

    def _source(self, nodes: list[Node] | None, pending: Mapping[str, int]) -> Replies:
        """Return where replies come from: simulated ones are there at once, others are fetched in the background."""
        if nodes and all(node.simulated for node in nodes):
            return Direct(self._grid)
        return Background(self._grid, list(pending))

    def _answers(self, source: Replies, pending: dict[str, int], waited: set[int], end: float) -> Iterator[Reply]:
        """Yield replies, and take them out of `pending`, until nobody is waited for or a last look at the end."""
        start = self.clock()
        wanted = waited or set(pending.values())  # if nobody is worth waiting for, everybody is for a little while
        try:
            while not wanted.isdisjoint(pending.values()):
                now = self.clock()
                self.sleep(min(pause(now - start), max(end - now, 0.0)))
                over = self.clock() >= end
                replies = self._accepted(source.arrived(pending.keys()), pending)
                while replies:  # they carry models, so none is kept once it was yielded
                    yield replies.pop(0)
                if over:
                    return
        finally:
            source.close()

    def _accepted(self, messages: list[Message], pending: dict[str, int]) -> list[Reply]:
        """Return the replies of those who were asked, and take them out of `pending`; the rest is refused."""
        replies = []
        for message in messages:
            asked, sender = message.metadata.reply_to_message_id, message.metadata.src_node_id
            # The SuperLink answers in the name of nodes that it cannot reach, but only with errors.
            known = sender == pending.get(asked) or (sender == SUPERLINK_NODE_ID and message.has_error())
            if asked in pending and known:
                replies.append(self._reply(pending.pop(asked), message))
            else:
                log.warning("refused a reply of node %d that nobody waits for, to message %s", sender, shown(asked))
        return replies

    def _reply(self, node: int, message: Message) -> Reply:
        if message.metadata.src_node_id == node:
            self._silences.forget(node)
        if message.has_error():
            return Reply(node, None, shown(message.error.reason or f"error {message.error.code}"))
        return Reply(node, message.content)


def _alike(nodes: Iterable[int], content_of: Callable[[int], RecordDict]) -> Iterator[tuple[RecordDict, Sequence[int]]]:
    """Yield each content and the nodes in a row that get this very one: Flower puts it into bytes once for them."""
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
    """Return the nodes whose message was stored, by its id: Flower gives no id, or an empty one, for the others.

    Flower's grids write the id into the message, so nothing depends on the order of those that they return.
    """
    stored = set(message_ids)
    pairs = [(message.metadata.message_id, message.metadata.dst_node_id) for message in messages]
    return {message_id: node for message_id, node in pairs if message_id in stored}
