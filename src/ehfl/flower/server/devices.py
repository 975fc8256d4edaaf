"""Devices as the clients of a run: they report their energy, the scheduler selects them, and they train the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import torch
from flwr.app import RecordDict
from torch import Tensor

from ehfl.arrays import Clients, FloatArray, IntArray
from ehfl.experiment import Run
from ehfl.experiment.spec import build
from ehfl.flower.app.bundle import digest_of_run
from ehfl.flower.server.nodes import Lengths, Nodes, Screening, check_model
from ehfl.flower.server.seen import Seen, participation_of
from ehfl.flower.wire.exchange import Exchange
from ehfl.flower.wire.messages import Answer, BadMessage, Request, Weights
from ehfl.learning import Task, Update
from ehfl.learning.aggregation.contract import Order, Turns
from ehfl.learning.tasks.contract import label_counts
from ehfl.runs import Devices, OtherRun, Record
from ehfl.scheduling import Decider, Participation, wants_losses


@dataclass(frozen=True, slots=True)
class Orders:
    """The contents of a run's messages to its nodes."""

    token: str  # of the run in the nodes' accounts
    arm: str  # its label
    seed: int
    digest: str  # of the run; a node compares it with that of its own spec
    mains_powered: bool

    def report(self, t: int) -> RecordDict:
        """Return the request for a node's energy in round t."""
        return self._request(t).content()

    def train(self, orders: Mapping[int, Order], *, by_steps: bool = False) -> Callable[[int], RecordDict]:
        """Return a function from a client to its message; with `by_steps` the message sets the number of local steps.

        Consecutive clients with equal orders share one content object, whose model is serialised once; orders that
        differ only outside the model (SCAFFOLD) share the model's bytes.
        """
        last: tuple[Order, int, RecordDict] | None = None

        def content_of(client: int) -> RecordDict:
            nonlocal last
            order, other = orders[client], None
            steps = order.steps if by_steps else 0
            if last is not None and last[0].start is order.start:
                before, taken, other = last
                alike = before.shift is order.shift and before.buffers is order.buffers
                if alike and before.pull == order.pull and taken == steps:
                    return other
            last = order, steps, self._training(order, steps).content(other)
            return last[2]

        return content_of

    def _training(self, order: Order, steps: int) -> Request:
        shift, buffers = (None if one is None else as_weights(one) for one in (order.shift, order.buffers))
        return replace(
            self._request(order.round), eta=order.eta, mains_powered=self.mains_powered,
            weights=as_weights(order.start), pull=float(order.pull), shift=shift, steps=steps, buffers=buffers,
        )  # fmt: skip

    def _request(self, t: int) -> Request:
        return Request(self.token, t, self.arm, self.seed, self.digest)


def as_weights(vector: Tensor) -> Weights:
    """Return a vector in the format of messages."""
    weights: Weights = vector.detach().to("cpu", torch.float32).numpy()
    return weights


class OnDevices:
    """The nodes of a Flower federation as the clients of a run.

    A round begins when enough nodes have answered, and every request ends at the deadline. A client that has not
    answered is not selected; a selected client that returns no valid model is left out, and the log says why.
    """

    def __init__(
        self, run: Run, token: str, exchange: Exchange, task: Task, parts: Callable[[], Sequence[IntArray]]
    ) -> None:
        """Prepare for the first round; `parts`, each client's examples, is called if these are of a common set."""
        setting = run.setting
        self._seed, self._spares = run.seed, setting.flower.spare
        self._fleet, self._scheduler = build.fleet_of(setting), build.scheduler_of(setting)
        self._decider = Decider(self._fleet, self._scheduler, run.seed, build.target_of(setting))
        self.rounds, self.n_clients = setting.rounds, self._fleet.clients
        self.keeps_losses, self.keeps_steps = wants_losses(self._scheduler), self._decider.brings_steps
        digest = digest_of_run(run.facts())
        self._orders = Orders(token, run.arm.label, run.seed, digest, self._decider.mains_powered)
        self._screening = Screening(token, self._fleet)
        self._nodes = Nodes(exchange, self._screening, setting.flower)
        self._lengths = Lengths(setting.flower.norm_limit)
        self._seen = Seen(self.n_clients)
        self._wanted = 0  # number of updates to use in this round
        self._task, self._parts, self._rule = task, parts, build.local_sgd_of(setting)
        self._weights: list[FloatArray] = []  # of turns in past rounds, where the scheduler brings any
        self._steps: list[IntArray] = []  # likewise

    @property
    def labels(self) -> IntArray | None:
        """The clients' label counts, None if they are unknown or a client has its own data."""
        return None if self._seen.own_data else label_counts(self._task, self._parts())

    def choose(self, t: int) -> Turns:
        """Ask all nodes for their energy, and let the scheduler select among those that have answered.

        The result includes spare clients, which replace those that fail.
        """
        self._seen.begin(self._nodes.answers(t, self._orders.report(t)))
        chosen = self._decider.decide(t, self._seen.levels)
        if not self._decider.mains_powered:
            self._check_paid(t, chosen)
        present = [client for client in chosen.tolist() if client in self._seen.energy]
        self._seen.asked = {*present, *self._spare(present)} if present else set()
        asked = np.array(sorted(self._seen.asked), np.int32)
        steps = self._decider.steps(asked)
        self._wanted = len(present)
        return Turns(asked, self._all_steps(asked.tolist()) if steps is None else steps, self._wanted)

    def _all_steps(self, clients: Sequence[int]) -> IntArray:
        """Return K_i of each client; 0 where it follows examples that only the client knows."""
        if self._rule.local_epochs is None:
            return np.full(len(clients), self._rule.local_steps)
        if self._seen.own_data:
            return np.zeros(len(clients), np.int64)
        return np.array([self._rule.steps_of(self._parts()[client].size) for client in clients], np.int64)

    def train(self, orders: Iterator[Order]) -> Iterator[Update]:
        """Send the orders; yield the updates of the first clients to answer, in the order of the clients."""
        sent = {order.client: order for order in orders}
        if not sent:
            return
        kept = self._trained(sent)
        self._refuse_outliers(kept, sent)
        took_part = np.array(sorted(kept), np.int32)
        found = self._decider.weights(took_part)
        weights = [1.0] * took_part.size if found is None else found.tolist()
        for client, weight in zip(took_part.tolist(), weights, strict=True):
            answer, order = kept.pop(client), sent.pop(client)
            steps = order.steps if self.keeps_steps else None
            self._seen.counts(client, self._fleet.cost_of(client, steps))
            trained = torch.from_numpy(answer.model).to(order.start.device)
            eta = self._rule.mean_step(order.eta, answer.steps)
            buffers = None if answer.buffers is None else torch.from_numpy(answer.buffers).to(order.start.device)
            yield Update(client, order.start, trained, answer.loss, answer.steps, answer.examples, eta, weight,
                         answer.start_loss, order.round, order.seed, buffers)  # fmt: skip

    def report(self, t: int, losses: Sequence[float]) -> Devices:
        """Record the participants; return the state of all devices in the round."""
        seen = self._seen.end()
        self._note(t, seen, losses)
        return seen

    def replay(self, record: Record) -> int:
        """Restore a past round from its record, because devices cannot repeat it."""
        seen = record.devices
        if seen is None or len(seen.energy) != self.n_clients:
            raise OtherRun(f"the rounds so far belong to another run: round {record.round} was not played on devices")
        if self._decider.brings_weights or self.keeps_steps:  # they depend on the levels at the decision
            self._decider.decide(record.round, np.array([level or 0 for level in seen.energy], np.int32))
        self._note(record.round, seen, record.losses or ())
        self._seen.replay(seen)
        return len(seen.took_part)

    def participation(self) -> Participation:
        """Ask for the levels after the last round, and return all rounds."""
        heard = self._nodes.last_answers(self.rounds, self._orders.report(self.rounds))
        return participation_of(
            self._seen.past,
            {client: answer.energy for client, answer in heard.items()},
            {client: answer.totals for client, answer in heard.items()},
            self._fleet,
            target=self._decider.target,
            scheduler=repr(self._scheduler),
            seed=self._seed,
            mains_powered=self._decider.mains_powered,
            weights=np.concatenate(self._weights) if self._weights else None,
            steps=np.concatenate(self._steps) if self._steps else None,
        )

    def _note(self, t: int, seen: Devices, losses: Sequence[float]) -> None:
        """Record the participants of a round, their weights and their steps."""
        took_part = np.array(seen.took_part, np.int32)
        weights = self._decider.weights(took_part)
        self._weights += [] if weights is None else [weights]
        steps = self._decider.steps(took_part)
        self._steps += [] if steps is None else [steps]
        self._decider.note(t, took_part, losses)

    def _check_paid(self, t: int, chosen: Clients) -> None:
        """Raise an error if the scheduler selects a client without enough energy, as the ledger does in one process."""
        steps = self._steps_of(chosen.tolist())
        for client in chosen.tolist():
            held, taken = self._seen.energy.get(client, 0), steps.get(client)
            if held < self._fleet.cost_of(client, taken):
                self._decider.blame(t, client, held, taken)

    def _steps_of(self, clients: Sequence[int]) -> dict[int, int]:
        """Return the number of local steps by client; empty if all take K steps."""
        steps = self._decider.steps(np.array(clients, np.int32))
        return {} if steps is None else dict(zip(clients, steps.tolist(), strict=True))

    def _trained(self, sent: Mapping[int, Order]) -> dict[int, Answer]:
        """Return the valid answers of the first `wanted` clients; record the others as lost, with the reason."""
        kept: dict[int, Answer] = {}
        asked = sorted(sent)
        first = sent[asked[0]]
        n_parameters, t = first.start.numel(), first.round
        n_buffers = 0 if first.buffers is None else first.buffers.numel()
        contents = self._orders.train(sent, by_steps=self.keeps_steps)
        with closing(self._nodes.trained(t, asked, contents)) as replies:
            for client, reply in replies:
                try:
                    answer = self._screening.answer(reply, t, client)
                    self._seen.paid(answer)  # also for an invalid model: the client has spent the energy
                    examples = None if answer.owns_data else self._parts()[client].size
                    check_model(answer, n_parameters, sent[client].steps or None, examples, n_buffers)
                except BadMessage as error:
                    self._seen.lose(client, str(error))
                    continue
                kept[client] = answer
                if len(kept) == self._wanted:
                    break
        for client in self._seen.unheard(kept):
            self._seen.lose(client, "not needed: others were faster")
        return kept

    def _refuse_outliers(self, kept: dict[int, Answer], sent: Mapping[int, Order]) -> None:
        """Remove updates that are much longer than usual, if a limit is set."""
        models = {client: answer.model for client, answer in kept.items()}
        for client, reason in self._lengths.too_long(models, lambda one: as_weights(sent[one].start)).items():
            del kept[client]
            self._seen.lose(client, reason)

    def _spare(self, clients: Sequence[int]) -> list[int]:
        """Return the spare clients: those with the most energy among the others that can pay."""
        energy, free = self._seen.energy, self._decider.mains_powered
        others = energy.keys() - set(clients)
        able = [client for client in others if free or energy[client] >= self._fleet.cost_of(client)]
        return sorted(able, key=lambda client: (-energy[client], client))[: self._spares]
