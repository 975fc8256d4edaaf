"""Devices as the clients of a run: asked for their energy, chosen by the scheduler, sent the model, heard or not."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import numpy as np
import torch
from flwr.app import RecordDict

from ehfl.arrays import Clients, IntArray, Levels
from ehfl.experiment import Run, building, write_spec
from ehfl.flower.exchange import Exchange
from ehfl.flower.messages import Answer, BadMessage, Request, Weights
from ehfl.flower.nodes import Nodes
from ehfl.flower.participation import participation_of
from ehfl.flower.screening import Screening, check_model, length_of, outliers
from ehfl.history import Devices, Record, as_reason
from ehfl.learning import Update
from ehfl.learning.aggregation import Assign
from ehfl.run_folder import OtherRun
from ehfl.scheduling import Decider, Participation, wants_losses

log = logging.getLogger("ehfl.flower")


class OnDevices:
    """The nodes of a Flower federation as the clients of a run.

    A round begins when enough nodes have answered, and each question ends by the deadline, whatever nodes do. Who has
    not answered is not chosen; whoever was chosen and does not bring back a model as it must be is left out, and named.
    """

    def __init__(self, run: Run, token: str, exchange: Exchange, labels: IntArray | None = None) -> None:
        """Prepare for the first round; `labels` counts what clients hold if their data are the common set's."""
        setting = run.setting
        self._run, self._token, self._exchange, self._rules = run, token, exchange, setting.flower
        self._fleet, self._scheduler = building.fleet_of(setting), building.scheduler_of(setting)
        self._decider = Decider(self._fleet, self._scheduler, run.seed, building.target_of(setting))
        self._spec = write_spec(run.facts())
        self.rounds, self.n_clients = setting.rounds, self._fleet.clients
        self.keeps_losses = wants_losses(self._scheduler)
        self._screening = Screening(token, self._fleet)
        self._nodes = Nodes(exchange, self._screening, setting.flower)
        self._dealt_labels, self._own_data = labels, False  # whether any client has said that its data are its own
        self._seen: list[Devices] = []  # past rounds
        self._energy: dict[int, int] = {}  # client -> what it said at the start of this round
        self._spent = [0] * self.n_clients  # what each client has paid since the first round, as far as is known
        self._asked: set[int] = set()
        self._lost: dict[int, str] = {}
        self._began: float | None = None  # when the last round did
        self._usual_length: float | None = None  # of updates, as of the last round

    @property
    def labels(self) -> IntArray | None:
        """The label counts of the deal, None where they are not known, or a client has data of its own."""
        return None if self._own_data else self._dealt_labels

    def clients(self, t: int) -> Clients:
        """Ask all nodes for their energy, and let the scheduler choose among those that have answered."""
        self._wait_for_pace()
        self._asked, self._lost = set(), {}
        self._note_answers(self._nodes.answers(t, self._question(t)))
        energy: Levels = np.zeros(self.n_clients, np.int32)  # who was not heard has nothing to spend
        energy[list(self._energy)] = list(self._energy.values())
        chosen = self._decider.decide(t, energy)
        if not self._decider.mains_powered:
            self._check_paid(t, chosen)
        present: Clients = np.array([client for client in chosen.tolist() if client in self._energy], np.int32)
        return present

    def updates(self, assign: Assign, clients: Clients, t: int, eta: float) -> Iterator[Update]:
        """Send the model to these clients, and some to spare; yield what the first of them bring back, by client."""
        if not clients.size:
            return
        x = assign(int(clients[0])).start
        weights = x.cpu().numpy()
        kept = self._trained(weights, clients, t, eta)
        self._refuse_outliers(t, kept, weights)
        for client in sorted(kept):
            # A turn that counts has cost what it costs, though an account that was lost may not know of it.
            self._spent[client] = max(self._spent[client], self._paid_before(client) + self._fleet.cost_of(client))
            answer = kept.pop(client)
            trained = torch.from_numpy(answer.model).to(x.device)
            yield Update(client, x, trained, answer.loss, answer.steps, answer.examples, eta)

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
        heard = self._nodes.last_answers(self.rounds, self._question(self.rounds))
        return participation_of(
            self._seen,
            {client: answer.energy for client, answer in heard.items()},
            {client: answer.totals for client, answer in heard.items()},
            self._fleet,
            target=self._decider.target,
            scheduler=repr(self._scheduler),
            seed=self._run.seed,
            mains_powered=self._decider.mains_powered,
        )

    def _wait_for_pace(self) -> None:
        if self._began is not None:
            self._exchange.sleep(max(0.0, self._began + self._rules.pace - self._exchange.clock()))
        self._began = self._exchange.clock()

    def _question(self, t: int) -> RecordDict:
        return Request(self._token, t, self._spec).content()

    def _note_answers(self, heard: Mapping[int, Answer]) -> None:
        """Take down what clients have, and what they have paid so far."""
        self._energy = {client: answer.energy for client, answer in heard.items()}
        self._own_data |= any(answer.owns_data for answer in heard.values())
        for client, answer in heard.items():
            if answer.totals.paid < self._spent[client]:
                log.warning("client %d has paid %d so far and its account knows of %d: it was begun anew",
                            client, self._spent[client], answer.totals.paid)  # fmt: skip
            self._note_paid(answer)

    def _note_paid(self, answer: Answer) -> None:
        self._spent[answer.client] = max(self._spent[answer.client], answer.totals.paid)

    def _paid_before(self, client: int) -> int:
        return self._seen[-1].spent[client] if self._seen else 0

    def _check_paid(self, t: int, chosen: Clients) -> None:
        """Blame a scheduler that chooses a client which says that it cannot pay; in one process the ledger does so."""
        for client in chosen.tolist():
            if self._energy.get(client, 0) < self._fleet.cost_of(client):
                self._decider.blame(t, client, self._energy.get(client, 0))

    def _trained(self, weights: Weights, clients: Clients, t: int, eta: float) -> dict[int, Answer]:
        """Return what came back as it must be, of the first as many as were chosen; the others are lost, and named."""
        self._asked = {*clients.tolist(), *self._spare(clients)}
        request = Request(self._token, t, self._spec, eta, self._decider.mains_powered, weights).content()
        kept: dict[int, Answer] = {}
        with closing(self._nodes.trained(t, request, self._asked)) as replies:
            for client, reply in replies:
                try:
                    answer = self._screening.answer(reply, t, client)
                    self._note_paid(answer)  # whatever its model is like
                    check_model(answer, weights.size)
                except BadMessage as error:
                    self._lose(t, client, str(error))
                    continue
                kept[client] = answer
                if len(kept) == clients.size:
                    break
        for client in sorted(self._asked - kept.keys() - self._lost.keys()):
            self._lose(t, client, "not needed: others were faster")
        return kept

    def _spare(self, clients: Clients) -> list[int]:
        """Return whom to ask beyond those that were chosen: the longest queues among the others that can pay."""
        others = self._energy.keys() - set(clients.tolist())
        free = self._decider.mains_powered
        able = [client for client in others if free or self._energy[client] >= self._fleet.cost_of(client)]
        return sorted(able, key=lambda client: (-self._energy[client], client))[: self._rules.spare]

    def _refuse_outliers(self, t: int, kept: dict[int, Answer], weights: Weights) -> None:
        """Leave out updates that are much longer than usual, where a limit is set."""
        if self._rules.norm_limit is None or not kept:
            return
        lengths = {client: length_of(answer.model, weights) for client, answer in kept.items()}
        too_long, self._usual_length = outliers(lengths, self._rules.norm_limit, self._usual_length)
        for client, reason in too_long.items():
            del kept[client]
            self._lose(t, client, reason)

    def _lose(self, t: int, client: int, reason: str) -> None:
        self._lost[client] = as_reason(reason)
        log.warning("round %d: client %d is left out: %s", t, client, self._lost[client])
