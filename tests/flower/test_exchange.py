"""One question to many nodes: a scripted grid and a clock that only sleeping moves."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from flwr.app import Error, Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.serverapp import Grid
from flwr.supercore.run import RunNotRunningException

from ehfl.flower.wire import exchange
from ehfl.flower.wire import exchange as module
from ehfl.flower.wire.exchange import Direct, Exchange, Reply
from scripted_grid import NOON, Answer, Clock, ScriptedGrid, empty, reply_to, text_of, words

pytestmark = pytest.mark.usefixtures("in_server")


class Recorded(Direct):
    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    """Fetch replies of nodes with heartbeats without threads, so that the test's clock decides alone."""
    made: list[Recorded] = []

    def source(grid: Grid, _: object) -> Recorded:
        made.append(Recorded(grid))
        return made[-1]

    monkeypatch.setattr(module, "Background", source)
    return made


def exchange_of(grid: ScriptedGrid) -> Exchange:
    return Exchange(grid, clock=grid.clock, wall=grid.clock.wall, sleep=grid.clock.sleep)


def asked(exchange: Exchange, *nodes: int, deadline: float = 30) -> list[Reply]:
    return list(exchange.ask("query", nodes, lambda node: words(f"to {node}"), deadline, "3"))


NEVER = (float("inf"), words("never"))


def test_each_node_gets_its_own_message_and_replies_come_as_they_arrive() -> None:
    grid = ScriptedGrid(Clock(), {11: (2, words("late")), 12: (1, words("early"))})

    replies = asked(exchange_of(grid), 11, 12)

    assert [(reply.node, text_of(reply), reply.error) for reply in replies] == [(12, "early", None), (11, "late", None)]
    assert 2 <= grid.clock() < 2.2  # pauses are a twentieth of what has gone by
    sent = [(message.metadata.dst_node_id, message.content["ehfl"]["text"]) for message in grid.pushed]
    assert sent == [(11, "to 11"), (12, "to 12")]
    assert {message.metadata.message_type for message in grid.pushed} == {"query"}
    assert {message.metadata.group_id for message in grid.pushed} == {"3"}
    assert {message.metadata.ttl for message in grid.pushed} == {31.0}  # the deadline and a second
    assert grid.pulls[-1][1] == {"m0"}  # who has answered is not asked for again


def test_contents_are_made_one_at_a_time_and_nodes_in_a_row_share_theirs() -> None:
    grid, made = ScriptedGrid(Clock(), dict.fromkeys([11, 12, 13, 14], (1, words("")))), []
    together, own = words("together"), words("own")

    def content_of(node: int) -> RecordDict:
        made.append((node, len(grid.pushed)))  # how many messages had been sent by then
        return own if node == 13 else together

    list(exchange_of(grid).ask("train", [11, 12, 13, 14], content_of, 30, "3"))

    assert made == [(11, 0), (12, 0), (13, 0), (14, 2)]
    assert [message.content for message in grid.pushed] == [together, together, own, together]


def test_who_was_asked_before_sending_failed_is_heard_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    grid, push = ScriptedGrid(Clock(), dict.fromkeys([11, 12, 13], (1, words("here")))), ScriptedGrid.push_messages

    def fails_for_12(self: ScriptedGrid, messages: list[Message]) -> Iterable[str]:
        if any(message.metadata.dst_node_id == 12 for message in messages):
            raise ConnectionError("away")
        return push(self, messages)

    monkeypatch.setattr(ScriptedGrid, "push_messages", fails_for_12)

    replies = asked(exchange_of(grid), 11, 12, 13, deadline=5)

    failure = "could not be asked, ConnectionError: away"
    assert [(reply.node, reply.error) for reply in replies] == [(12, failure), (13, failure), (11, None)]
    assert 5 <= grid.clock() < 5.3


def test_nothing_is_sent_when_nobody_is_asked() -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER})

    assert asked(exchange_of(grid)) == []
    assert grid.pushed == []


def test_a_silent_node_is_named_at_the_deadline_and_costs_the_others_nothing() -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER, 12: (1, words("here"))})

    first, second = asked(exchange_of(grid), 11, 12)

    assert first.node == 12
    assert second == Reply(11, None, "no reply in 30 s")
    assert grid.clock() == 30


def test_a_reply_that_comes_just_before_the_deadline_is_found_by_the_last_look() -> None:
    grid = ScriptedGrid(Clock(), {11: (29.999, words("just so"))})

    assert [text_of(reply) for reply in asked(exchange_of(grid), 11)] == ["just so"]


def test_replies_that_came_while_the_consumer_was_busy_are_not_lost() -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("first")), 12: (20, words("second"))})
    replies = exchange_of(grid).ask("train", [11, 12], empty, 30, "3")

    assert text_of(next(replies)) == "first"
    grid.clock.sleep(100)

    assert [text_of(reply) for reply in replies] == ["second"]


def test_an_error_is_a_reply_in_one_line() -> None:
    script: dict[int, tuple[float, Answer]] = {
        11: (1, Error(2, "<class 'ValueError'>:<'no\nbattery'>")),
        12: (1, Error(6)),
    }

    replies = asked(exchange_of(ScriptedGrid(Clock(), script)), 11, 12)

    assert replies == [Reply(11, None, "<class 'ValueError'>:<'no battery'>"), Reply(12, None, "error 6")]


def test_replies_that_nobody_asked_for_are_refused_by_name(caplog: pytest.LogCaptureFixture) -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("mine")), 12: (1, words("too"))})
    exchange = exchange_of(grid)
    asked(exchange, 11, 12)  # m0 and m1, both answered
    stale = reply_to(grid.pushed[0], words("to the last question"))
    forged = Message(words("in the name of 11"), 12, "query")
    forged.metadata.__dict__.update(_src_node_id=12, _reply_to_message_id="m2")
    superlink = Message(words("no error"), 11, "query")
    superlink.metadata.__dict__.update(_src_node_id=SUPERLINK_NODE_ID, _reply_to_message_id="m2")
    unasked = Message(Error(5, "gone"), reply_to=superlink)
    unasked.metadata.__dict__.update(_src_node_id=SUPERLINK_NODE_ID, _reply_to_message_id="m9")
    grid.strays = [stale, forged, superlink, unasked]

    replies = asked(exchange, 11)

    assert [text_of(reply) for reply in replies] == ["mine"]
    assert [record.name for record in caplog.records] == ["ehfl.flower"] * 4
    assert [record.getMessage() for record in caplog.records] == [
        "discarded an unexpected reply of node 11 to message m0",
        "discarded an unexpected reply of node 12 to message m2",
        f"discarded an unexpected reply of node {SUPERLINK_NODE_ID} to message m2",
        f"discarded an unexpected reply of node {SUPERLINK_NODE_ID} to message m9",
    ]


def test_a_second_reply_to_the_same_message_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    grid = ScriptedGrid(Clock(), {11: (0, words("one")), 12: (1, words("other"))})
    replies = exchange_of(grid).ask("query", [11, 12], empty, 30, "3")
    first = next(replies)
    grid.strays = [reply_to(grid.pushed[0], words("two"))]

    assert [text_of(reply) for reply in [first, *replies]] == ["one", "other"]
    assert "discarded an unexpected reply of node 11" in caplog.text


def test_the_superlink_may_say_that_a_node_is_gone() -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER})
    gone = Message(Error(5, "Node Unavailable"), reply_to=Message(words(""), 11, "query"))
    gone.metadata.__dict__.update(_src_node_id=SUPERLINK_NODE_ID, _reply_to_message_id="m0")
    grid.strays = [gone]

    assert asked(exchange_of(grid), 11) == [Reply(11, None, "Node Unavailable")]


def test_a_message_that_is_not_stored_makes_its_node_unavailable_at_once() -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("here")), 12: NEVER}, unknown={12})
    replies = exchange_of(grid).ask("query", [11, 12], empty, 30, "3")

    assert next(replies) == Reply(12, None, "Flower does not know the node")
    assert grid.clock() == 0
    assert [text_of(reply) for reply in replies] == ["here"]


def test_who_has_enough_stops_and_those_left_are_not_called_silent(at_once: list[Recorded]) -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("enough")), 12: (1.5, words("too late"))}, {11: NOON, 12: NOON})
    exchange = exchange_of(grid)
    replies = exchange.ask("train", [11, 12], empty, 30, "3")
    assert text_of(next(replies)) == "enough"

    replies.close()

    assert [source.closed for source in at_once] == [True]
    assert [text_of(reply) for reply in asked(exchange, 12)] == ["too late"]  # it is waited for as before


def test_a_reply_is_not_kept_once_it_was_yielded() -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("large")), 12: (1, words("large too"))})
    replies = exchange_of(grid).ask("train", [11, 12], empty, 30, "3")
    content = weakref.ref(next(replies).content)
    grid.script[11] = NEVER  # the grid forgets it, too

    assert content() is None
    assert [text_of(reply) for reply in replies] == ["large too"]


def test_the_age_of_a_heartbeat_is_reckoned_from_how_long_flower_counts_a_node_as_online() -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER, 12: NEVER, 13: NEVER}, {11: NOON - 8, 12: NOON + 2})

    nodes = exchange_of(grid).nodes()

    assert [node.node_id for node in nodes] == [11, 12, 13]
    assert [node.heartbeat_age for node in nodes] == [8, 0, 0]  # a clock that is a little ahead makes no negative age
    assert [node.simulated for node in nodes] == [False, False, True]


@pytest.mark.usefixtures("at_once")
def test_a_node_with_a_stale_heartbeat_is_asked_but_not_waited_for() -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER, 12: (3, words("here"))}, {11: NOON - 41, 12: NOON - 35})

    replies = asked(exchange_of(grid), 11, 12)

    assert [reply.node for reply in replies] == [12, 11]
    assert replies[1].error == "not waited for, its last heartbeat was 41 s ago"
    assert 3 <= grid.clock() < 3.2
    assert len(grid.pushed) == 2


@pytest.mark.usefixtures("at_once")
def test_a_node_that_is_not_waited_for_may_still_answer() -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("alive")), 12: (3, words("here"))}, {11: NOON - 50, 12: NOON})

    assert [text_of(reply) for reply in asked(exchange_of(grid), 11, 12)] == ["alive", "here"]


@pytest.mark.usefixtures("at_once")
def test_a_silent_node_is_waited_for_again_after_a_newer_heartbeat() -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER, 12: (1, words("here"))}, {11: NOON + 25, 12: NOON + 60})
    exchange = exchange_of(grid)
    assert asked(exchange, 11, 12)[1].error == "no reply in 30 s"
    began = grid.clock()

    again = asked(exchange, 11, 12)

    assert again[1] == Reply(11, None, "not waited for, no heartbeat since it last stayed silent")
    assert grid.clock() < began + 1.2
    grid.heartbeats[11] = grid.clock.wall()
    grid.script[11] = (9, words("back"))
    assert [text_of(reply) for reply in asked(exchange, 11, 12)] == ["here", "back"]


@pytest.mark.usefixtures("at_once")
def test_an_answer_makes_up_for_a_silence() -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER}, {11: NOON + 20})
    exchange = exchange_of(grid)
    asked(exchange, 11)
    grid.script[11] = (2, words("in the grace"))
    assert [text_of(reply) for reply in asked(exchange, 11)] == ["in the grace"]
    grid.script[11] = (10, words("slow"))

    assert [text_of(reply) for reply in asked(exchange, 11)] == ["slow"]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("deadline", "given_up"), [(30, 5), (2, 2)])
def test_when_nobody_is_worth_waiting_for_there_is_a_short_grace(deadline: float, given_up: float) -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER, 12: (1, words("after all"))}, {11: NOON - 50, 12: NOON - 50})

    replies = asked(exchange_of(grid), 11, 12, deadline=deadline)

    assert [text_of(reply) for reply in replies] == ["after all", None]
    assert grid.clock() == given_up


@pytest.mark.usefixtures("at_once")
def test_a_node_that_is_no_longer_connected_is_not_waited_for() -> None:
    grid = ScriptedGrid(Clock(), {12: (1, words("here"))}, {12: NOON})

    assert asked(exchange_of(grid), 11, 12)[1] == Reply(11, None, "not connected")
    assert grid.clock() < 1.2


def test_simulated_nodes_are_always_waited_for() -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER})
    exchange = exchange_of(grid)
    asked(exchange, 11)

    assert asked(exchange, 11) == [Reply(11, None, "no reply in 30 s")]
    assert grid.clock() == 60


def test_a_superlink_that_is_away_for_a_moment_costs_no_reply(caplog: pytest.LogCaptureFixture) -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("here"))})
    grid.failures = {"push": [ConnectionError("refused")] * 3, "pull": [ConnectionError("refused")] * 3}

    assert [text_of(reply) for reply in asked(exchange_of(grid), 11)] == ["here"]
    assert caplog.messages == [
        *["nodes could not be asked, ConnectionError: refused"] * 3,
        *["replies could not be fetched, trying again: ConnectionError: refused"] * 3,
    ]


def test_a_superlink_that_stays_away_makes_everybody_silent_by_the_deadline() -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("unheard"))}, failures={"pull": [ConnectionError("refused")] * 999})

    assert asked(exchange_of(grid), 11) == [Reply(11, None, "no reply in 30 s")]
    assert grid.clock() == 30


def test_messages_that_cannot_be_sent_are_tried_until_the_deadline() -> None:
    grid = ScriptedGrid(Clock(), {11: (1, words("unasked"))}, failures={"push": [ConnectionError("refused")] * 999})

    assert asked(exchange_of(grid), 11) == [Reply(11, None, "could not be asked, ConnectionError: refused")]
    assert 30 <= grid.clock() < 31


@pytest.mark.usefixtures("at_once")
def test_when_the_nodes_cannot_be_listed_everybody_is_waited_for() -> None:
    grid = ScriptedGrid(Clock(), {11: (20, words("here"))}, {11: NOON - 50}, failures={"nodes": [OSError("down")] * 2})
    exchange = exchange_of(grid)

    assert exchange.nodes() == []
    assert [text_of(reply) for reply in asked(exchange, 11)] == ["here"]


@pytest.mark.parametrize("call", ["nodes", "push", "pull"])
@pytest.mark.parametrize("heartbeats", [{}, {11: NOON}], ids=["simulated", "real"])
def test_a_stopped_run_ends_the_server(call: str, heartbeats: dict[int, float]) -> None:
    grid = ScriptedGrid(Clock(), {11: NEVER}, heartbeats, failures={call: [RunNotRunningException()]})

    with pytest.raises(RunNotRunningException):
        list(Exchange(grid, wall=grid.clock.wall).ask("query", [11], empty, 30, "3"))


@dataclass
class Uploading(ScriptedGrid):
    """A grid that waits, as Flower's does, until a reply that was announced has been uploaded."""

    slow: int = 0
    uploaded: threading.Event = field(default_factory=threading.Event)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        replies = list(super().pull_messages(message_ids))
        if self.slow in {reply.metadata.src_node_id for reply in replies}:
            self.uploaded.wait(20)
        return replies


def test_a_reply_that_is_uploaded_slowly_delays_neither_the_others_nor_the_deadline() -> None:
    script: dict[int, tuple[float, Answer]] = {node: (0, words(f"from {node}")) for node in (11, 12, 13)}
    grid = Uploading(Clock(), script, dict.fromkeys(script, NOON), slow=11)
    exchange = Exchange(grid, clock=grid.clock, wall=grid.clock.wall)  # which sleeps while threads work
    replies = exchange.ask("train", script, empty, 30, "3")
    try:
        assert {text_of(next(replies)), text_of(next(replies))} == {"from 12", "from 13"}
        grid.clock.elapsed = 30
        assert list(replies) == [Reply(11, None, "no reply in 30 s")]
    finally:
        grid.uploaded.set()


def test_replies_of_more_nodes_than_threads_are_all_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "THREADS", 2)
    script: dict[int, tuple[float, Answer]] = {node: (0, words(f"from {node}")) for node in range(20, 25)}
    grid = ScriptedGrid(Clock(), script, dict.fromkeys(script, NOON))

    replies = list(Exchange(grid, wall=grid.clock.wall).ask("query", script, empty, 20, "3"))

    assert {reply.node: text_of(reply) for reply in replies} == {node: f"from {node}" for node in script}
