"""The nodes of a federation: the server waits until enough are connected, asks each for client and energy, and checks.

An answer must match run and round, and contain a possible energy and a valid model.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from statistics import median_low

import numpy as np
from flwr.app import RecordDict

from ehfl.energy import Fleet
from ehfl.experiment.spec.models import FlowerSpec
from ehfl.flower.wire.exchange import Exchange, Reply
from ehfl.flower.wire.messages import Answer, BadMessage, Weights
from ehfl.runs import OtherRun, as_reason
from ehfl.validation import UserError

log = logging.getLogger("ehfl.flower")
_LOOK_SECONDS = 1.0  # between polls while too few nodes are connected
_AGAIN_SECONDS = 5.0  # before a retry after too few nodes have answered
LARGEST = 1e9  # maximum weight or loss; healthy models stay below, and one such answer would make the run diverge
_SHORT = 1e-3  # relative to the model: shorter updates are never outliers


class Nodes:
    """The connected nodes as clients of a run. The mapping from clients to nodes is updated in every round."""

    def __init__(self, exchange: Exchange, screening: Screening, rules: FlowerSpec) -> None:
        self._exchange, self._screening, self._rules = exchange, screening, rules
        self._node_of: dict[int, int] = {}  # client -> Flower's id of its node, as of this round
        self._ahead: list[str] = []  # errors of nodes that have already played this round
        self._began: float | None = None  # when the last round did

    def answers(self, t: int, question: RecordDict) -> dict[int, Answer]:
        """Begin a round: ask for energy until enough nodes have answered; return the answers by client."""
        self._keep_pace()
        self._wait(self._rules.least_nodes)
        while len(heard := self.heard(t, question)) < self._rules.least_nodes:
            # Accounts never go back, so do not wait if most nodes are ahead; a single node may be wrong or lie.
            if 2 * len(self._ahead) > self._screening.fleet.clients:
                behind = f"the folder is of an earlier state than its nodes are: {self._ahead[-1]}"
                raise OtherRun(f"{behind}: put back a newer copy of it, or play the run under another name")
            log.warning("round %d waits: %d nodes answered within the deadline of %g s, %d must",
                        t, len(heard), self._rules.deadline, self._rules.least_nodes)  # fmt: skip
            self._exchange.sleep(_AGAIN_SECONDS)
            self._wait(self._rules.least_nodes)
        return heard

    def last_answers(self, t: int, question: RecordDict) -> dict[int, Answer]:
        """Ask for energy after the last round; a restarted server first gives nodes time to connect."""
        self._wait(0)
        return self.heard(t, question)

    def heard(self, t: int, question: RecordDict) -> dict[int, Answer]:
        """Ask every connected node once for its energy in round t; return the valid answers by client."""
        nodes = [node.node_id for node in self._exchange.nodes()]
        heard: dict[int, Answer] = {}
        before, self._node_of, self._ahead = self._node_of, {}, []
        for reply in self._exchange.ask("query", nodes, lambda _: question, self._rules.deadline, group=str(t)):
            try:
                answer = self._screening.answer(reply, t)
            except BadMessage as error:
                log.warning("round %d: node %d does not count: %s", t, reply.node, error)
                self._ahead += [str(error)] if isinstance(error, Ahead) else []
                continue
            if self._is_client(answer.client, reply.node, t, before):
                heard[answer.client], self._node_of[answer.client] = answer, reply.node
        return heard

    def _is_client(self, client: int, node: int, t: int, before: Mapping[int, int]) -> bool:
        """Return whether to accept the node as that client; of two claimants, the node of the last round wins."""
        other = self._node_of.get(client)
        if other is None:
            return True
        left = other if before.get(client) == node else node
        log.warning("round %d: nodes %d and %d say that they are client %d: node %d does not count",
                    t, other, node, client, left)  # fmt: skip
        return left == other

    def trained(
        self, t: int, clients: Iterable[int], order: Callable[[int], RecordDict]
    ) -> Generator[tuple[int, Reply], None, None]:
        """Send these clients their orders; yield each reply or error as it arrives."""
        client_of = {self._node_of[client]: client for client in clients}
        asked = self._exchange.ask(
            "train", client_of, lambda node: order(client_of[node]), self._rules.deadline, group=str(t)
        )
        with closing(asked) as replies:  # a caller with enough replies stops waiting
            yield from ((client_of[reply.node], reply) for reply in replies)

    def _keep_pace(self) -> None:
        """Wait until the round may begin."""
        if self._began is not None:
            self._exchange.sleep(max(0.0, self._began + self._rules.pace - self._exchange.clock()))
        self._began = self._exchange.clock()

    def _wait(self, least: int) -> None:
        """Wait until enough nodes are connected; before the first answer, wait a little longer for all of them."""
        clients = self._screening.fleet.clients
        give_up = self._exchange.clock() + (0 if self._node_of else self._rules.deadline)
        there = len(self._exchange.nodes())
        if there < least:
            log.warning("%d nodes are connected, and the server waits for %d", there, least)
        while there < least or (there < clients and self._exchange.clock() < give_up):
            self._exchange.sleep(_LOOK_SECONDS)
            there = len(self._exchange.nodes())


class Ahead(BadMessage):
    """The node's account is at a later round of this run."""


@dataclass(frozen=True, eq=False, slots=True)
class Screening:
    """The rules for answers in a run; the first broken rule is raised as BadMessage.

    Only impossible values are rejected: a node that reports less than its true energy cannot be detected.
    """

    token: str  # the run's
    fleet: Fleet

    def answer(self, reply: Reply, t: int, client: int | None = None) -> Answer:
        """Return a node's valid answer in round t, from this client or from any."""
        if reply.content is None:
            raise BadMessage(reply.error or "no reply")
        answer = Answer.read(reply.content)
        if answer.refused:
            raise (Ahead if answer.run == self.token and answer.round > t else BadMessage)(as_reason(answer.refused))
        if answer.run != self.token:
            raise BadMessage(f"it answers for round {answer.round} of another run")
        if answer.round != t:
            raise BadMessage(f"it answers for round {answer.round}")
        if answer.client >= self.fleet.clients:
            raise BadMessage(f"it says that it is client {answer.client} of {self.fleet.clients}")
        if client not in (None, answer.client):
            raise BadMessage(f"it says that it is client {answer.client}")
        self._check_energy(answer, t)
        return answer

    def _check_energy(self, answer: Answer, t: int) -> None:
        """Raise BadMessage for impossible energy; a level above the capacity would be selected before all others."""
        fleet, cost, most = self.fleet, self.fleet.cost_of(answer.client), self.fleet.ceiling_of(answer.client)
        if answer.energy > most:
            has, holds = fleet.amount(answer.energy), fleet.amount(most, named=False)
            raise BadMessage(f"it says that it has {has}, and its battery holds {holds}")
        if answer.totals.paid > cost * (t + 1):
            paid, each = fleet.amount(answer.totals.paid), fleet.amount(cost, named=False)
            raise BadMessage(f"it says that it has paid {paid} in {t + 1} rounds of {each}")
        try:
            answer.totals.check()
        except UserError as error:
            raise BadMessage(str(error)) from None


def check_model(answer: Answer, n_parameters: int, steps: int | None, examples: int | None, n_buffers: int = 0) -> None:
    """Raise BadMessage if a model cannot be averaged, or if steps or examples differ from the order.

    `examples` is None for a node that trains on its own data, and `steps` where they follow these.

    >>> answer = Answer("a", 0, 1, loss=0.5, steps=5, examples=9, weights=np.zeros(3, np.float32))
    >>> check_model(answer, n_parameters=4, steps=5, examples=9)
    Traceback (most recent call last):
    ehfl.flower.wire.messages.BadMessage: a model of 3 weights, not 4
    """
    if answer.weights is None:
        raise BadMessage("no model came back")
    if answer.weights.size != n_parameters:
        raise BadMessage(f"a model of {answer.weights.size} weights, not {n_parameters}")
    buffers = np.zeros(0, np.float32) if answer.buffers is None else answer.buffers
    if buffers.size != n_buffers:
        raise BadMessage(f"a model with buffers of {buffers.size} numbers, not {n_buffers}")
    numbers = np.concatenate([answer.weights, buffers])
    losses_finite = math.isfinite(answer.loss) and math.isfinite(answer.start_loss)
    if not losses_finite or not np.isfinite(numbers).all():
        raise BadMessage("a model or a loss that is not finite")
    largest = max(float(np.abs(numbers).max()), abs(answer.loss), abs(answer.start_loss))
    if largest > LARGEST:
        raise BadMessage(f"a weight or a loss of {largest:.3g}, beyond {LARGEST:g}")
    if answer.steps < 1 or steps not in (None, answer.steps):
        raise BadMessage(f"{answer.steps} steps, not the {steps or 'at least 1'} that it was asked for")
    if answer.examples < 1 or examples not in (None, answer.examples):
        raise BadMessage(f"{answer.examples} examples, not the {examples or 'at least 1'} that it was dealt")


class Lengths:
    """A filter for updates longer than `limit` times the usual length; None disables it.

    The usual length is the lower median of the round, and at least a thousandth of the norm of the model that the
    client started from: clients at their optimum do not make the others outliers. A single update is compared with the
    usual length of the round before, and in the first round with its model's norm (if not 0).

    >>> lengths, start = Lengths(limit=10), np.array([3.0], np.float32)
    >>> lengths.too_long({0: start + 1, 1: start + 2, 2: start + 90}, lambda client: start)
    {2: 'an update of length 90, more than 10 times the usual 2'}
    >>> lengths.too_long({1: start + 90}, lambda client: start)
    {1: 'an update of length 90, more than 10 times the usual 1'}
    """

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._usual: float | None = None  # as of the last round

    def too_long(self, models: Mapping[int, Weights], start_of: Callable[[int], Weights]) -> dict[int, str]:
        """Return the reason for each update that is too long, by client."""
        if self._limit is None or not models:
            return {}
        lengths, sizes, found = {}, {}, {}
        for client, model in models.items():
            start = start_of(client)
            lengths[client], sizes[client] = _length(model, start), _length(start, np.zeros_like(start))
        first = len(lengths) == 1 and self._usual is None
        usual = median_low(lengths.values()) if len(lengths) > 1 or self._usual is None else self._usual
        for client, length in lengths.items():
            compared = (sizes[client] or length) if first else max(usual, _SHORT * sizes[client])
            if length > self._limit * compared:
                more = f"more than {self._limit:g} times the usual {compared:.3g}"
                found[client] = f"an update of length {length:.3g}, {more}"
        kept = [length for client, length in lengths.items() if client not in found]
        self._usual = median_low(kept) if kept else (None if first else usual)
        return found


def _length(model: Weights, start: Weights) -> float:
    """Return the length of an update, in float64 because squares of large weights overflow float32."""
    return float(np.linalg.norm(np.subtract(model, start, dtype=np.float64)))
