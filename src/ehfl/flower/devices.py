"""Devices as the clients of a run: asked for their energy, chosen by the scheduler, sent the model, heard or not."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from statistics import median_low

import numpy as np
import torch
from flwr.app import RecordDict
from torch import Tensor

from ehfl.arrays import Clients, Levels
from ehfl.experiment import Run, building, write_spec
from ehfl.flower.exchange import Exchange
from ehfl.flower.messages import Answer, BadMessage, Request, Weights, fault_of, in_words
from ehfl.flower.rounds import participation_of
from ehfl.history import Devices, Record
from ehfl.learning import Update
from ehfl.run_folder import OtherRun
from ehfl.scheduling import Decider, Participation, wants_losses

log = logging.getLogger("ehfl.flower")
_LOOK_SECONDS = 1.0  # between looks for nodes while too few are connected


class OnDevices:
    """The nodes of a Flower federation as the clients of a run.

    A round begins when enough nodes have answered, and each question ends by the deadline, whatever nodes do. Who has
    not answered is not chosen; whoever was chosen and does not bring back a model as it must be is left out, and named.
    """

    def __init__(self, run: Run, token: str, exchange: Exchange) -> None:
        setting = run.setting
        self._run, self._token, self._exchange, self._rules = run, token, exchange, setting.flower
        self._fleet, self._scheduler = building.fleet_of(setting), building.scheduler_of(setting)
        self._decider = Decider(self._fleet, self._scheduler, run.seed, building.target_of(setting))
        self._spec = write_spec(run.facts())
        self.rounds, self.n_clients = setting.rounds, self._fleet.clients
        self.keeps_losses = wants_losses(self._scheduler)
        self._seen: list[Devices] = []  # past rounds
        self._node_of: dict[int, int] = {}  # client -> Flower's id of its node, as of this round
        self._energy: dict[int, int] = {}  # client -> what it said at the start of this round
        self._spent = [0] * self.n_clients  # what each client has paid since the first round, as far as it said so
        self._asked: set[int] = set()
        self._lost: dict[int, str] = {}
        self._began: float | None = None  # when the last round did
        self._usual_norm: float | None = None  # of the updates of the last round

    def clients(self, t: int) -> Clients:
        """Ask all nodes for their energy, and let the scheduler choose among those that have answered."""
        self._wait_for_pace()
        self._wait_for_nodes()
        while len(self._hear(t)) < self._rules.least_nodes:
            log.warning("round %d waits: %d nodes answered, %d must", t, len(self._energy), self._rules.least_nodes)
            self._wait_for_nodes()
        energy: Levels = np.zeros(self.n_clients, np.int32)  # who was not heard has nothing to spend
        energy[list(self._energy)] = list(self._energy.values())
        chosen = self._decider.decide(t, energy)
        self._check_paid(t, chosen)
        self._asked, self._lost = set(), {}
        present: Clients = np.array([client for client in chosen.tolist() if client in self._energy], np.int32)
        return present

    def updates(self, x: Tensor, clients: Clients, t: int, eta: float) -> Iterator[Update]:
        """Send the model to these clients, and some to spare; yield what the first of them bring back, by client."""
        if not clients.size:
            return
        kept = self._trained(x, clients, t, eta)
        for client in sorted(kept):
            answer = kept.pop(client)
            weights = torch.from_numpy(answer.model).to(x.device)
            yield Update(client, x, weights, answer.loss, steps=answer.steps, examples=answer.examples)

    def report(self, t: int, losses: Sequence[float]) -> Devices:
        """Take down who took part; return what was seen of all devices in the round."""
        energy = tuple(self._energy.get(client) for client in range(self.n_clients))
        seen = Devices(energy, tuple(sorted(self._asked)), dict(self._lost), tuple(self._spent))
        self._decider.note(t, np.array(seen.took_part, np.int32), losses)
        self._seen.append(seen)
        return seen

    def again(self, record: Record) -> int:
        """Take a past round from its record: devices cannot be asked for it again."""
        seen = record.devices
        if seen is None or len(seen.energy) != self.n_clients:
            raise OtherRun(f"the rounds so far belong to another run: round {record.round} was not played on devices")
        self._decider.note(record.round, np.array(seen.took_part, np.int32), record.losses or ())
        self._spent = list(seen.spent)
        self._seen.append(seen)
        return len(seen.took_part)

    def participation(self) -> Participation:
        """Ask for the levels after the last round, and return all rounds."""
        heard = self._hear(self.rounds)
        totals = {client: answer.totals for client, answer in heard.items()}
        return participation_of(
            self._seen,
            self._energy,
            totals,
            self._fleet,
            target=self._decider.target,
            scheduler=repr(self._scheduler),
            seed=self._run.seed,
            mains_powered=self._decider.mains_powered,
        )

    def _wait_for_pace(self) -> None:
        if self._began is not None:
            self._exchange.sleep(max(0.0, self._began + self._rules.pace - time.monotonic()))
        self._began = time.monotonic()

    def _wait_for_nodes(self) -> None:
        """Wait until enough nodes are connected; before the first round a little longer, for all of them."""
        give_up = time.monotonic() + (0 if self._node_of else self._rules.deadline)
        waited = False
        while (there := len(self._exchange.nodes())) < self._rules.least_nodes or (
            there < self.n_clients and time.monotonic() < give_up
        ):
            if not waited:
                log.info("%d nodes are connected, of %d; %d must be", there, self.n_clients, self._rules.least_nodes)
            waited = True
            self._exchange.sleep(_LOOK_SECONDS)

    def _hear(self, t: int) -> dict[int, Answer]:
        """Ask every connected node for its energy in round t; return what they said, by client."""
        request = Request(self._token, t, self._spec).content()
        contents = {node.node_id: request for node in self._exchange.nodes()}
        heard: dict[int, Answer] = {}
        self._node_of, self._energy = {}, {}
        for reply in self._exchange.ask("query", contents, self._rules.deadline, group=str(t)):
            try:
                answer = self._checked(reply.content, reply.error, t)
            except BadMessage as error:
                log.warning("round %d: node %d does not count: %s", t, reply.node, error)
                continue
            if answer.client in heard:
                log.warning("round %d: node %d says that it is client %d, as node %d does: it does not count",
                            t, reply.node, answer.client, self._node_of[answer.client])  # fmt: skip
                continue
            heard[answer.client] = answer
            self._node_of[answer.client], self._energy[answer.client] = reply.node, answer.energy
            self._note_spent(answer)
        return heard

    def _checked(self, content: RecordDict | None, error: str | None, t: int) -> Answer:
        """Return an answer to a question of this run and round, or raise BadMessage saying why it is none."""
        if content is None:
            raise BadMessage(error or "no reply")
        answer = Answer.read(content)
        if answer.run != self._token or answer.round != t:
            raise BadMessage(
                f"it answers for round {answer.round}" + ("" if answer.run == self._token else " of another run")
            )
        if answer.refused:
            raise BadMessage(answer.refused)
        if answer.client >= self.n_clients:
            raise BadMessage(f"it says that it is client {answer.client} of {self.n_clients}")
        return answer

    def _check_paid(self, t: int, chosen: Clients) -> None:
        """Blame a scheduler that chooses a client which says that it cannot pay; in one process the ledger does so."""
        if self._decider.mains_powered:
            return
        costs = np.broadcast_to(self._fleet.costs, (self.n_clients,))
        for client in chosen.tolist():
            if self._energy.get(client, 0) < costs[client]:
                self._decider.blame(t, client, self._energy.get(client, 0))

    def _trained(self, x: Tensor, clients: Clients, t: int, eta: float) -> dict[int, Answer]:
        """Return what came back as it must be, of the first as many as were chosen; the others are lost, and named."""
        self._asked = {*clients.tolist(), *self._spare(clients)}
        weights = x.cpu().numpy()
        request = Request(self._token, t, self._spec, eta, self._decider.mains_powered, weights).content()
        client_of = {self._node_of[client]: client for client in self._asked}
        kept: dict[int, Answer] = {}
        replies = self._exchange.ask("train", dict.fromkeys(client_of, request), self._rules.deadline, group=str(t))
        for reply in replies:
            client = client_of[reply.node]
            try:
                kept[client] = self._checked_model(self._checked(reply.content, reply.error, t), client, x.numel())
            except BadMessage as error:
                self._lose(t, client, str(error))
            if len(kept) == clients.size:
                break
        replies.close()
        for client in self._asked - kept.keys() - self._lost.keys():
            self._lose(t, client, f"not needed: {len(kept)} others were first")
        self._refuse_outliers(t, kept, weights)
        return kept

    def _spare(self, clients: Clients) -> list[int]:
        """Return whom to ask beyond those that were chosen: the longest queues among the others that can pay."""
        costs = np.broadcast_to(self._fleet.costs, (self.n_clients,))
        able = [
            client for client, level in self._energy.items() if level >= costs[client] or self._decider.mains_powered
        ]
        others = sorted(set(able) - set(clients.tolist()), key=lambda client: (-self._energy[client], client))
        return others[: self._rules.spare]

    def _checked_model(self, answer: Answer, client: int, n_parameters: int) -> Answer:
        self._note_spent(answer)  # it has paid, whatever its model is like
        if answer.client != client:
            raise BadMessage(f"it says that it is client {answer.client}")
        if fault := fault_of(answer, n_parameters):
            raise BadMessage(fault)
        return answer

    def _refuse_outliers(self, t: int, kept: dict[int, Answer], weights: Weights) -> None:
        """Leave out updates much longer than the median of their round, or of the round before where there is one."""
        limit = self._rules.norm_limit
        if limit is None or not kept:
            return
        norms = {client: float(np.linalg.norm(answer.model - weights)) for client, answer in kept.items()}
        usual = median_low(norms.values()) if len(norms) > 1 or self._usual_norm is None else self._usual_norm
        for client, norm in norms.items():
            if norm > limit * usual:
                del kept[client]
                self._lose(t, client, f"an update of length {norm:.3g}, {norm / usual:.3g} times the usual")
        self._usual_norm = usual

    def _lose(self, t: int, client: int, reason: str) -> None:
        self._lost[client] = in_words(reason)
        log.warning("round %d: client %d is left out: %s", t, client, self._lost[client])

    def _note_spent(self, answer: Answer) -> None:
        """Take down what a client has paid so far; a ledger never gives anything back."""
        paid = answer.totals.spent + answer.totals.mains
        self._spent[answer.client] = max(self._spent[answer.client], paid)
