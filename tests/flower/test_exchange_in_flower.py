"""Our reading of ids, errors and times to live, checked against Flower's own grid and state."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import cast
from uuid import uuid4

import pytest
from flwr.app import Error, Message
from flwr.app.message import remove_content_from_message
from flwr.common.constant import HEARTBEAT_INTERVAL_INF
from flwr.proto.task_pb2 import Task
from flwr.server.superlink.linkstate import InMemoryLinkState, LinkStateFactory
from flwr.server.superlink.linkstate.in_memory_linkstate import RunRecord
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME, NOOP_FEDERATION_ID
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.superlink.federation import NoOpFederationManager
from flwr.superlink.grid import HttpGrid, InMemoryGrid
from flwr.superlink.servicer.runtime import runtime_handlers

from ehfl.flower.wire.exchange import Exchange, Reply
from scripted_grid import Answer, Clock, empty, reply_to, text_of, words

pytestmark = pytest.mark.usefixtures("in_server")


class Simulation:
    """Flower's own grid and state in memory, as `flwr.simulation` sets them up; its nodes answer when we sleep."""

    def __init__(self, nodes: int) -> None:
        factory = LinkStateFactory(FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), ObjectStoreFactory())
        self.state = cast(InMemoryLinkState, factory.state())
        run = Run.create_empty(run_id=7)
        run.primary_task_id, run.federation_id = 8, NOOP_FEDERATION_ID
        self.state.run_ids[7] = RunRecord(run=run)
        self.state.task_store[8] = Task(task_id=8, run_id=7)
        self.grid = InMemoryGrid(factory)
        self.grid.set_run(run)
        self.nodes = [self.state.create_node("", "", bytes([key]), HEARTBEAT_INTERVAL_INF) for key in range(nodes)]
        for node in self.nodes:
            self.state.acknowledge_node_heartbeat(node, HEARTBEAT_INTERVAL_INF)
        self.clock = Clock()
        self.exchange = Exchange(self.grid, clock=self.clock, sleep=self.sleep)
        self.answers: Callable[[Message], Answer | None] = lambda message: message.content

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        for node in self.nodes:
            for message in self.state.get_message_ins(node, limit=None):
                answer = self.answers(message)
                if answer is not None:
                    reply = reply_to(message, answer)
                    reply.metadata.__dict__["_message_id"] = str(uuid4())
                    assert self.state.store_message_res(reply)


def test_flower_itself_carries_replies_errors_and_ids() -> None:
    flower = Simulation(3)
    first, second, third = flower.nodes
    flower.answers = lambda message: {second: Error(2, "no"), third: None}.get(
        message.metadata.dst_node_id, message.content
    )

    nodes = [*flower.nodes, 999]
    replies = list(flower.exchange.ask("query", nodes, lambda node: words(f"to {node}"), 30, "3"))

    assert replies[0] == Reply(999, None, "Flower does not know the node")
    assert {reply.node: text_of(reply) for reply in replies if reply.error is None} == {first: f"to {first}"}
    assert {reply.node: reply.error for reply in replies[1:] if reply.error} == {
        second: "no",
        third: "no reply in 30 s",
    }
    assert [node.simulated for node in flower.exchange.nodes()] == [True] * 3


def test_flower_takes_no_reply_and_delivers_no_message_after_its_time_to_live() -> None:
    flower = Simulation(1)
    replies = flower.exchange.ask("train", [flower.nodes[0]], empty, 30, "3")

    def expired(message: Message) -> Answer | None:
        assert message.metadata.ttl == 31
        message.metadata.__dict__["_created_at"] -= 32
        return None

    flower.answers = expired
    assert "expired" in (next(replies).error or "")
    assert list(replies) == []


def test_flower_says_at_once_that_a_node_has_gone_offline() -> None:
    flower = Simulation(1)
    (node,) = flower.nodes

    def leave(_: Message) -> None:
        assert flower.state.deactivate_node(node)

    flower.answers = leave
    (reply,) = flower.exchange.ask("query", [node], empty, 30, "3")

    assert "failed to report a heartbeat" in (reply.error or "")
    assert flower.clock() < 1


class Runtime:
    """What Flower's grid talks to in a deployment: the SuperLink's own handlers, without a network between."""

    def __init__(self, flower: Simulation) -> None:
        self._flower = flower

    def __getattr__(self, name: str) -> Callable[[object], object]:
        handler = getattr(runtime_handlers, re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())
        return lambda request: handler(request, self._flower.state, Task(task_id=8, run_id=7))


@pytest.fixture
def deployed() -> tuple[Simulation, HttpGrid]:
    """Return nodes with heartbeats, and the grid that servers are given in deployments."""
    flower = Simulation(2)
    for node in flower.nodes:
        flower.state.acknowledge_node_heartbeat(node, 30)
    grid = HttpGrid(insecure=True, token="any")
    grid.set_run(flower.grid.run)
    grid._client = cast(RuntimeHttpClient, Runtime(flower))
    return flower, grid


def announce(flower: Simulation, node: int) -> Callable[[], None]:
    """Answer a node's message as SuperNodes do, announcing the reply first; return what uploads it."""
    (message,) = flower.state.get_message_ins(node, limit=None)
    reply = Message(words(f"from {node}"), reply_to=message)
    reply.metadata.__dict__["_message_id"] = reply.object_id
    session = flower.state.start_session(7)
    stored, missing = flower.state.store_message_and_object_tree(
        remove_content_from_message(reply), get_object_tree(reply), session
    )
    contents = {key: thing.deflate() for key, thing in get_all_nested_objects(reply).items()}
    assert stored

    def upload() -> None:
        for key in missing:
            flower.state.store_object(7, session, key, contents[key])

    return upload


def test_in_a_deployment_an_upload_that_does_not_end_delays_nobody(
    deployed: tuple[Simulation, HttpGrid], caplog: pytest.LogCaptureFixture
) -> None:
    flower, grid = deployed
    slow, quick = flower.nodes
    uploads: dict[int, Callable[[], None]] = {}

    def upload_at_last() -> None:
        uploads[slow]()

    much_later = threading.Timer(10, upload_at_last)  # who waits for it fails, but not for ever

    def sleep(seconds: float) -> None:
        if not uploads:
            uploads.update({node: announce(flower, node) for node in flower.nodes})
            uploads[quick]()
            much_later.start()
        time.sleep(seconds)

    replies = Exchange(grid, clock=flower.clock, sleep=sleep).ask("train", flower.nodes, empty, 30, "3")
    try:
        assert text_of(next(replies)) == f"from {quick}"
        time.sleep(0.3)  # in which its thread would ask once more
        flower.clock.elapsed = 30
        assert list(replies) == [Reply(slow, None, "no reply in 30 s")]
    finally:
        much_later.cancel()
        upload_at_last()  # ends Flower's own threads
    assert "refused" not in caplog.text  # as Flower's error would be, if a reply was asked for once more


def test_in_a_deployment_a_message_that_is_sent_again_is_not_delivered_twice(
    deployed: tuple[Simulation, HttpGrid], monkeypatch: pytest.MonkeyPatch
) -> None:
    flower, grid = deployed
    push, failures = grid.push_messages, [ConnectionError("lost on the way back")] * 2

    def push_and_fail(messages: list[Message]) -> Iterable[str]:
        message_ids = push(messages)
        if failures:
            raise failures.pop()
        return message_ids

    monkeypatch.setattr(grid, "push_messages", push_and_fail)
    nodes = [flower.nodes[0], 999]
    replies = Exchange(grid).ask("train", nodes, lambda node: words(f"to {node}"), 0.5, "3")

    assert next(replies) == Reply(999, None, "Flower does not know the node")
    assert len(flower.state.get_message_ins(flower.nodes[0], limit=None)) == 1
    replies.close()
