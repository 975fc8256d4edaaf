"""The nodes of a federation: the server waits until enough are connected, and asks each for client and energy."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing

from flwr.app import RecordDict

from ehfl.experiment.spec.models import FlowerSpec
from ehfl.flower.server.screening import Ahead, Screening
from ehfl.flower.wire.exchange import Exchange, Reply
from ehfl.flower.wire.messages import Answer, BadMessage
from ehfl.runs import OtherRun

log = logging.getLogger("ehfl.flower")
_LOOK_SECONDS = 1.0  # between polls while too few nodes are connected
_AGAIN_SECONDS = 5.0  # before a retry after too few nodes have answered


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
