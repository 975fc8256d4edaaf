"""Nodes in this process: a grid that hands every message to the real client app, and can be told to misbehave."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import HEARTBEAT_INTERVAL_INF
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.run import Run as FlowerRun

from ehfl.experiment import Outcome, Run, Spec, make_spec, run_all
from ehfl.flower.app.specs import bundle_of
from ehfl.flower.node.client_app import client_app
from ehfl.flower.server.server_app import play_on_devices
from ehfl.flower.wire.exchange import Exchange
from ehfl.flower.wire.messages import Answer
from ehfl.runs import Record, RunFolder, read_history
from ehfl.scheduling import Participation
from scripted_grid import Clock


@dataclass(frozen=True)
class Asked:
    """A message on its way to a node."""

    grid: LoopbackGrid
    message: Message

    @property
    def node(self) -> int:
        return self.message.metadata.dst_node_id

    @property
    def client(self) -> int:
        return self.node - 10

    @property
    def kind(self) -> str:
        return self.message.metadata.message_type

    @property
    def round(self) -> int:
        return int(self.message.metadata.group_id)

    def honest(self) -> Message:
        """Return what the client app answers; what it raises becomes an error, as Flower does it."""
        context = Context(7, self.node, self.grid.configs[self.node], RecordDict(), {})
        try:
            assert self.grid.app is not None
            return self.grid.app(self.message, context)
        except Exception as error:
            return self.reply(Error(code=1, reason=f"{type(error).__name__}: {error}"))

    def reply(self, content: RecordDict | Error) -> Message:
        if isinstance(content, Error):
            return Message(content, reply_to=self.message)
        return Message(content, reply_to=self.message)


Delivery = tuple[float, Message]  # after so many seconds, that
Behaviour = Callable[[Asked], list[Delivery]]


def honest(asked: Asked) -> list[Delivery]:
    return [(0.0, asked.honest())]


@dataclass
class LoopbackGrid(Grid):
    """Node 10 + K is client K, unless `configs` says otherwise; `behave` decides what each message leads to."""

    state: Path  # where nodes keep their accounts
    configs: dict[int, dict[str, Any]]  # node-config of every node
    clock: Clock = field(default_factory=Clock)
    app: ClientApp | None = None  # of the spec that is played
    behave: Behaviour = honest
    away: set[int] = field(default_factory=set)  # nodes that are not connected
    arrives: dict[int, float] = field(default_factory=dict)  # when a node first connects [s]
    step: Callable[[str], None] = lambda _: None  # called before everything that the server asks for
    sent: list[Asked] = field(default_factory=list)
    due: list[Delivery] = field(default_factory=list)

    def connected(self, node: int) -> bool:
        return node not in self.away and self.clock() >= self.arrives.get(node, 0.0)

    def get_nodes(self) -> Iterable[NodeInfo]:
        self.step("nodes")
        there = [node for node in self.configs if self.connected(node)]
        return [NodeInfo(node_id=node, online_until=1e300, heartbeat_interval=HEARTBEAT_INTERVAL_INF) for node in there]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        ids = []
        for message in messages:
            self.step("push")
            message.metadata.__dict__["_message_id"] = f"m{len(self.sent)}"
            asked = Asked(self, message)
            self.sent.append(asked)
            ids.append(message.metadata.message_id)
            if self.connected(asked.node):
                self.due += [(self.clock() + delay, reply) for delay, reply in self.behave(asked)]
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Bring all that has arrived, what nobody waits for included, as no Flower does."""
        self.step("pull")
        arrived = [reply for when, reply in self.due if when <= self.clock()]
        self.due = [(when, reply) for when, reply in self.due if when > self.clock()]
        return arrived

    @property
    def run(self) -> FlowerRun:
        raise NotImplementedError

    def set_run(self, run: FlowerRun) -> None: ...

    def get_node_ids(self) -> Iterable[int]:
        raise NotImplementedError

    def create_message(self, *_: object, **__: object) -> Message:
        raise NotImplementedError

    def send_and_receive(self, *_: object, **__: object) -> Iterable[Message]:
        raise NotImplementedError


def loopback(state: Path, clients: int, behave: Behaviour = honest) -> LoopbackGrid:
    configs: dict[int, dict[str, Any]] = {10 + client: {"client-id": client} for client in range(clients)}
    return LoopbackGrid(state, configs, behave=behave)


def when(kind: str, fault: Behaviour, *, client: int | None = None, rounds: Iterable[int] = range(1000)) -> Behaviour:
    """Misbehave when asked for that in one of these rounds, as that client."""
    chosen = set(rounds)

    def behave(asked: Asked) -> list[Delivery]:
        hit = asked.kind == kind and asked.round in chosen and client in (None, asked.client)
        return fault(asked) if hit else honest(asked)

    return behave


def silent(asked: Asked) -> list[Delivery]:
    """Do the work, and lose the answer."""
    asked.honest()
    return []


def late(seconds: float) -> Behaviour:
    return lambda asked: [(seconds, asked.honest())]


def saying(**changes: Any) -> Behaviour:
    """Answer something else than what is true."""

    def behave(asked: Asked) -> list[Delivery]:
        answer = replace(Answer.read(asked.honest().content), **changes)
        return [(0.0, asked.reply(answer.content()))]

    return behave


def with_model(change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Behaviour:
    """Answer with another model, of any kind."""

    def behave(asked: Asked) -> list[Delivery]:
        content = asked.honest().content
        changed = change(Answer.read(content).model.copy())
        content["model"] = ArrayRecord({"weights": Array(changed)})
        return [(0.0, asked.reply(content))]

    return behave


def tiny(**changes: Any) -> Spec:
    """Return a run of four clients on a quadratic, which takes a moment."""
    facts: dict[str, Any] = {
        "name": "tiny", "seeds": [3], "rounds": 6, "scheduler": "myopic", "fleet": {"clients": 4, "rate": 0.6},
        "learning": {"task": "quadratic", "local_steps": 2, "batch_size": 2, "step_size": "nominal-causal"},
        "evaluation": {"every": 2}, "flower": {"deadline": 5},
    }  # fmt: skip
    for key, value in changes.items():
        facts[key] = facts[key] | value if isinstance(value, dict) and isinstance(facts.get(key), dict) else value
    if "harvest" in facts["fleet"]:
        facts["fleet"].pop("rate")
    return make_spec(facts)


@dataclass(frozen=True)
class Played:
    """What a run has left."""

    outcome: Outcome
    folder: RunFolder

    @property
    def records(self) -> list[Record]:
        return read_history(self.folder.rounds)

    @property
    def participation(self) -> Participation:
        return Participation.load(self.folder.participation)

    @property
    def weights(self) -> dict[str, np.ndarray[Any, Any]]:
        from ehfl.learning.checkpoint import NAME, read_checkpoint

        return dict(read_checkpoint(self.folder.path / NAME).model)


def play(spec: Spec, runs: Path, grid: LoopbackGrid, told: Callable[[Record], None] | None = None) -> Played:
    """Play the only run of a spec on a grid's nodes, by the grid's clock; it goes on where it was."""
    grid.app = client_app(bundle_of(spec), grid.state)
    exchange = Exchange(grid, clock=grid.clock, wall=grid.clock.wall, sleep=grid.clock.sleep)

    def on_devices(run: Run, threads: Any, folder: RunFolder, on_round: object) -> Any:
        hook = None if told is None else lambda record, model: told(record)
        return play_on_devices(run, threads, folder, hook, exchange=exchange)

    return _left(spec, runs, partial(run_all, play=on_devices))


def play_here(spec: Spec, runs: Path) -> Played:
    """Play it in one process."""
    return _left(spec, runs, partial(run_all, jobs=1))


def _left(spec: Spec, runs: Path, run: Callable[..., list[Outcome]]) -> Played:
    (outcome,) = run(spec, runs)
    (planned,) = spec.runs()
    return Played(outcome, RunFolder(runs / planned.folder_name))
