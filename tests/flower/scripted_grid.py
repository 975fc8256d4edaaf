"""A grid that answers by a script and a clock that only sleeping moves, for tests of what servers do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from flwr.app import ConfigRecord, Error, Message, RecordDict
from flwr.common.constant import HEARTBEAT_INTERVAL_INF
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.run import Run

from ehfl.flower.wire.exchange import Reply

NOON = 1_800_000_000.0  # the time of day when a test begins [s since 1970]


@dataclass
class Clock:
    elapsed: float = 0.0

    def __call__(self) -> float:
        return self.elapsed

    def wall(self) -> float:
        return NOON + self.elapsed

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.elapsed += seconds


Answer = RecordDict | Error


@dataclass
class ScriptedGrid(Grid):
    """Answers each message of a node by a script: after so many seconds, that."""

    clock: Clock
    script: dict[int, tuple[float, Answer]]
    heartbeats: dict[int, float] = field(default_factory=dict)  # time of day; who has none is simulated
    unknown: set[int] = field(default_factory=set)
    failures: dict[str, list[BaseException]] = field(default_factory=dict)  # what calls raise at first
    strays: list[Message] = field(default_factory=list)  # what a pull brings besides
    pushed: list[Message] = field(default_factory=list)
    pushed_at: dict[str, float] = field(default_factory=dict)
    pulls: list[tuple[float, set[str]]] = field(default_factory=list)

    def fail(self, call: str) -> None:
        if self.failures.get(call):
            raise self.failures[call].pop(0)

    def get_nodes(self) -> Iterable[NodeInfo]:
        self.fail("nodes")
        return [self.info(node) for node in self.script]

    def info(self, node: int) -> NodeInfo:
        if node not in self.heartbeats:
            return NodeInfo(node_id=node, online_until=1e300, heartbeat_interval=HEARTBEAT_INTERVAL_INF)
        return NodeInfo(node_id=node, online_until=self.heartbeats[node] + 60, heartbeat_interval=30)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        self.fail("push")
        ids = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = f"m{len(self.pushed)}"
            self.pushed.append(message)
            self.pushed_at[message.metadata.message_id] = self.clock()
            ids.append("" if message.metadata.dst_node_id in self.unknown else message.metadata.message_id)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        wanted = set(message_ids)
        self.pulls.append((self.clock(), wanted))
        self.fail("pull")
        strays, self.strays = self.strays, []
        due = [message for message in self.pushed if message.metadata.message_id in wanted and self.due(message)]
        return [*strays, *(reply_to(message, self.script[message.metadata.dst_node_id][1]) for message in due)]

    def due(self, message: Message) -> bool:
        delay, _ = self.script.get(message.metadata.dst_node_id, (float("inf"), None))
        return self.clock() >= self.pushed_at[message.metadata.message_id] + delay

    @property
    def run(self) -> Run:
        raise NotImplementedError

    def set_run(self, run: Run) -> None: ...

    def get_node_ids(self) -> Iterable[int]:
        return list(self.script)

    def create_message(self, *_: object, **__: object) -> Message:
        raise NotImplementedError

    def send_and_receive(self, *_: object, **__: object) -> Iterable[Message]:
        raise NotImplementedError


def reply_to(message: Message, answer: Answer) -> Message:
    if isinstance(answer, Error):
        return Message(answer, reply_to=message)
    return Message(answer, reply_to=message)


def words(text: str) -> RecordDict:
    return RecordDict({"ehfl": ConfigRecord({"text": text})})


NOTHING = words("")


def empty(_: int) -> RecordDict:
    """Return the same content for every node."""
    return NOTHING


def text_of(reply: Reply) -> object:
    return reply.content["ehfl"]["text"] if reply.content is not None else None
