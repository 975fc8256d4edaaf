"""The node's half: it keeps its own account of energy, and trains when it is asked and can pay.

torch is imported for training alone, since in a deployment every message starts a process of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from flwr.app import Context, Message, UserConfig
from flwr.clientapp import ClientApp

from ehfl.flower.account import Account, Stale
from ehfl.flower.from_spec import engine_of, fleet_of, run_facts
from ehfl.flower.messages import Answer, Request, in_words
from ehfl.flower.meters import METERS
from ehfl.flower.time_limit import ended_by
from ehfl.validation import InvalidValue, UserError, one_line, whole_number

log = logging.getLogger("ehfl.flower")
STATE = Path("~/.local/state/ehfl")  # where nodes keep their ledgers unless node-config says another folder
_KEYS = ("client-id", "state", "meter", "harvest", "data", "examples", "partition-id", "num-partitions")


@dataclass(frozen=True, slots=True)
class Node:
    """What a device knows of itself, from its node-config."""

    client: int  # which client of the fleet it is
    state: Path  # its own folder for ledgers
    meter: str | None = None  # what its energy is read from, instead of the spec's harvest
    harvest: str | None = None  # its own, instead of the spec's
    data: str | None = None  # where the task's data lie here
    owns_all: bool = False  # whether it trains on all examples that it has, instead of its share of a common set

    @staticmethod
    def read(config: UserConfig, state: Path = STATE) -> Node:
        """Return the node that a node-config describes.

        >>> Node.read({"client-id": 3, "state": "/var/lib/ehfl"}).state.as_posix()
        '/var/lib/ehfl/client-3'
        """
        if unknown := [key for key in config if key not in _KEYS]:
            raise InvalidValue("node-config", f"of {', '.join(_KEYS[:6])}", unknown[0])
        given = config.get("client-id", config.get("partition-id"))  # the latter in Flower's simulation
        if given is None:
            raise InvalidValue("node-config", "one that says which client this is, as in client-id=3", "none")
        client = whole_number("client-id", given, low=0)  # type: ignore[arg-type]  # it refuses what is no number
        if (examples := config.get("examples", "dealt")) not in ("dealt", "all"):
            raise InvalidValue("examples", "dealt or all", examples)
        texts = {key: _text(config, key) for key in ("meter", "harvest", "data")}
        folder = Path(_text(config, "state") or state).expanduser() / f"client-{client}"
        return Node(client, folder, owns_all=examples == "all", **texts)


def _text(config: UserConfig, key: str) -> str | None:
    value = config.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidValue(key, "a text in quotes", value)
    return value


def client_app(state: Path = STATE) -> ClientApp:
    """Return Flower's ClientApp; nodes keep their ledgers in folders of their own below `state`."""
    app = ClientApp()

    @app.query()
    def query(message: Message, context: Context) -> Message:
        return _answered(message, context, state, report)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        return _answered(message, context, state, trained)

    return app


def _answered(message: Message, context: Context, state: Path, work: Callable[[Request, Node], Answer]) -> Message:
    """Answer a message; a node that cannot do what it was asked to says why, which is no failure of its app."""
    answer = Answer(run="", round=0, client=0)  # of whom nothing is known yet
    try:
        request = Request.read(message.content)
        answer = replace(answer, run=request.run, round=request.round)
        node = Node.read(context.node_config, state)
        answer = replace(answer, client=node.client)
        with ended_by(message.metadata.ttl):
            answer = work(request, node)
    except (UserError, OSError) as error:  # a full disk, a folder that cannot be written to, data that are not there
        now = error.round if isinstance(error, Stale) else answer.round
        answer = replace(answer, round=now, refused=in_words(one_line(error)))
        log.warning("a message is refused: %s", answer.refused)
    return Message(answer.content(), reply_to=message)


def report(request: Request, node: Node) -> Answer:
    """Return what the node holds at the start of the round."""
    stated = _account(request, node).at(request.round)
    return Answer(request.run, request.round, node.client, stated.energy, stated.totals)


def trained(request: Request, node: Node) -> Answer:
    """Return what training made of the model; it is paid for when it is certain to begin, and before it does."""
    import torch

    from ehfl.learning.device import pick_threads, thread_limit

    if request.weights is None:
        raise InvalidValue("the message", "one with a model to train", "none")
    engine = engine_of(request.spec, node.data, owns_all=node.owns_all)
    if request.weights.size != engine.model.weights.numel():
        there = f"a model of {request.weights.size} weights"
        raise InvalidValue("the message", f"one with a model of {engine.model.weights.numel()} weights", there)
    stated = _account(request, node).pay(request.round, mains_powered=request.mains_powered)
    x = torch.from_numpy(request.weights.copy())  # Flower's array cannot be written to
    with thread_limit(pick_threads(None, x.numel())):  # as in one process, a small model is trained on one
        update = engine.local_update(x, node.client, request.round, request.eta)
    return Answer(
        request.run,
        request.round,
        node.client,
        stated.energy,
        stated.totals,
        loss=update.loss,
        steps=update.steps,
        examples=update.examples,
        weights=update.weights.cpu().numpy(),
    )


def _account(request: Request, node: Node) -> Account:
    run = run_facts(request.spec)
    fleet = fleet_of(request.spec, node.harvest)
    whole_number("client-id", node.client, low=0, high=fleet.clients - 1)
    meter = None if node.meter is None else METERS.make(node.meter, "meter")
    return Account(node.state, request.run, fleet, node.client, run["rounds"], run["seeds"][0], meter)
