"""The node's half: it keeps its energy account, and trains on request if it has enough energy.

torch is imported only for training, because a deployment starts a new process for every message.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flwr.app import Context, Message, UserConfig
from flwr.clientapp import ClientApp

from ehfl.flower.app.bundle import Bundle, NodeRun
from ehfl.flower.node.account import Account, Stale
from ehfl.flower.node.meters import METERS
from ehfl.flower.node.setup import fleet_of, trainer_of
from ehfl.flower.wire.messages import Answer, Request, Weights
from ehfl.runs import as_reason
from ehfl.validation import InvalidValue, UserError, one_line, whole_number

if TYPE_CHECKING:
    from torch import Tensor

    from ehfl.learning.aggregation.contract import Order
    from ehfl.learning.engine.flat import FlatModel

log = logging.getLogger("ehfl.flower")
STATE = Path("~/.local/state/ehfl")  # default folder of nodes' accounts
_KEYS = ("client-id", "state", "meter", "harvest", "data", "examples", "partition-id", "num-partitions")


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """The configuration of a device."""

    client: int  # its number in the fleet
    state: Path  # the folder of its energy accounts
    meter: str | None = None  # measures its energy; replaces the spec's harvest
    harvest: str | None = None  # replaces the spec's harvest
    data: str | None = None  # path of the task's data on this device
    owns_all: bool = False  # whether it trains on all its examples instead of its share of a common set

    @staticmethod
    def read(config: UserConfig, state: Path = STATE) -> NodeConfig:
        """Return the node that a node-config describes.

        >>> NodeConfig.read({"client-id": 3, "state": "/var/lib/ehfl"}).state.as_posix()
        '/var/lib/ehfl/client-3'
        """
        if unknown := [key for key in config if key not in _KEYS]:
            raise InvalidValue("node-config", f"of {', '.join(_KEYS[:6])}", unknown[0])
        given = config.get("client-id", config.get("partition-id"))  # the latter in Flower's simulation
        if given is None:
            raise InvalidValue("node-config", "one that says which client this is, as in client-id=3", "none")
        client = whole_number("client-id", given, low=0)  # type: ignore[arg-type]  # it raises an error for other types
        if (examples := config.get("examples", "dealt")) not in ("dealt", "all"):
            raise InvalidValue("examples", "dealt or all", examples)
        texts = {key: _text(config, key) for key in ("meter", "harvest", "data")}
        folder = Path(_text(config, "state") or state).expanduser() / f"client-{client}"
        return NodeConfig(client, folder, owns_all=examples == "all", **texts)


def _text(config: UserConfig, key: str) -> str | None:
    value = config.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidValue(key, "a text in quotes", value)
    return value


def client_app(spec: Path | Bundle, state: Path = STATE) -> ClientApp:
    """Return Flower's ClientApp; each node keeps its accounts in a folder below `state`.

    `spec` is the spec that nodes have: the file `arms.toml` of an app, or what stands in one.
    """
    app, bundle = ClientApp(), spec if isinstance(spec, Bundle) else Bundle.read(spec)

    @app.query()
    def query(message: Message, context: Context) -> Message:
        return _answered(message, context, bundle, state, report)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        return _answered(message, context, bundle, state, trained)

    return app


def _answered(
    message: Message,
    context: Context,
    bundle: Bundle,
    state: Path,
    work: Callable[[Request, NodeRun, NodeConfig], Answer],
) -> Message:
    """Answer a message; a node that cannot do what it was asked to says why, which is no failure of its app."""
    answer = Answer(run="", round=0, client=0)  # of whom nothing is known yet
    try:
        request = Request.read(message.content)
        answer = replace(answer, run=request.run, round=request.round)
        node = NodeConfig.read(context.node_config, state)
        answer = replace(answer, client=node.client)
        run = bundle.run(request.arm, request.seed, request.digest)
        with ended_by(message.metadata.ttl):
            answer = work(request, run, node)
    except (UserError, OSError) as error:  # a full disk, a folder that cannot be written to, data that are not there
        now = error.round if isinstance(error, Stale) else answer.round
        answer = replace(answer, round=now, refused=as_reason(one_line(error)))
        log.warning("a message is refused: %s", answer.refused)
    return Message(answer.content(), reply_to=message)


def report(request: Request, run: NodeRun, node: NodeConfig) -> Answer:
    """Return what the node holds at the start of the round."""
    stated = _account(request, run, node).at(request.round)
    return Answer(request.run, request.round, node.client, stated.energy, stated.totals, owns_data=node.owns_all)


def trained(request: Request, run: NodeRun, node: NodeConfig) -> Answer:
    """Return what training made of the model; it is paid for when it is certain to begin, and before it does."""
    from ehfl.learning.engine.device import one_thread

    account, (engine, model) = _account(request, run, node), trainer_of(run, node.data, owns_all=node.owns_all)
    every = engine.rule.steps_of(engine.parts[node.client].size)
    steps = whole_number("steps of the message", request.steps, low=0, high=every) or None
    order = _order(request, node.client, steps or every, run.seed, model)
    stated = account.pay(request.round, mains_powered=request.mains_powered, steps=steps)
    with one_thread():  # one thread an operation, as in one process: a device comes to the same bits
        update = engine.train(order, model)
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
        owns_data=node.owns_all,
        start_loss=update.start_loss,
        buffers=None if update.buffers is None else update.buffers.cpu().numpy(),
    )


def _order(request: Request, client: int, steps: int, seed: int, model: FlatModel) -> Order:
    """Return what the client shall train, where the node's model is."""
    from ehfl.learning.aggregation.contract import Order

    if request.weights is None:
        raise InvalidValue("the message", "one with a model to train", "none")
    like, own = model.weights, model.buffers()
    if (own is None) != (request.buffers is None):
        raise InvalidValue("the message", f"one {'without' if own is None else 'with'} buffers", "another")
    shift = None if request.shift is None else _vector("shift", request.shift, like)
    buffers = None if own is None or request.buffers is None else _vector("buffers", request.buffers, own)
    start = _vector("model", request.weights, like)
    return Order(client, request.round, start, steps, request.eta, seed, request.pull, shift, buffers)


def _vector(name: str, sent: Weights, like: Tensor) -> Tensor:
    import torch

    if sent.size != like.numel():
        raise InvalidValue(
            "the message", f"one with a {name} of {like.numel()} weights", f"a {name} of {sent.size} weights"
        )
    return torch.from_numpy(sent.copy()).to(like)  # Flower's array cannot be written to


def _account(request: Request, run: NodeRun, node: NodeConfig) -> Account:
    fleet, rounds = fleet_of(run, node.harvest), run.facts()["rounds"]
    whole_number("client-id", node.client, low=0, high=fleet.clients - 1)
    meter = None if node.meter is None else METERS.make(node.meter, "meter")
    return Account(node.state, request.run, fleet, node.client, rounds, run.seed, meter)


class TookTooLong(UserError):
    """Work on a message whose answer is no longer accepted."""


@contextmanager
def ended_by(seconds: float) -> Iterator[None]:
    """Raise TookTooLong inside the block after `seconds` [s].

    It uses the system's alarm signal, which interrupts Python code and waits in the main thread, where Flower runs
    client apps. In another thread, and on Windows, there is no limit.

    >>> import time
    >>> with ended_by(0.01):
    ...     time.sleep(10)
    Traceback (most recent call last):
    ehfl.flower.node.client_app.TookTooLong: it took more than 0.01 s: the server no longer accepts an answer
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: object) -> None:
        raise TookTooLong(f"it took more than {seconds:g} s: the server no longer accepts an answer")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
