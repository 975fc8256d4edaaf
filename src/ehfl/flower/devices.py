"""Devices as the clients of a run: asked for their energy, chosen by the scheduler, sent the model, heard or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch

from ehfl.arrays import Clients, FloatArray, IntArray
from ehfl.experiment import Run, building
from ehfl.flower.bundle import digest_of_run
from ehfl.flower.exchange import Exchange
from ehfl.flower.messages import Answer, BadMessage
from ehfl.flower.nodes import Nodes
from ehfl.flower.orders import Orders, as_weights
from ehfl.flower.participation import participation_of
from ehfl.flower.screening import Lengths, Screening, check_model
from ehfl.flower.seen import Seen
from ehfl.history import Devices, Record
from ehfl.learning import Update
from ehfl.learning.aggregation import Assign
from ehfl.run_folder import OtherRun
from ehfl.scheduling import Decider, Participation, wants_losses


@dataclass(frozen=True, eq=False, slots=True)
class Dealt:
    """What the common set gives each client."""

    examples: Sequence[int]  # (n_clients,)
    labels: IntArray | None  # their counts, (n_clients, n_labels), where targets are labels


class OnDevices:
    """The nodes of a Flower federation as the clients of a run.

    A round begins when enough nodes have answered, and each question ends by the deadline, whatever nodes do. Who has
    not answered is not chosen; whoever was chosen and does not bring back a model as it must be is left out, and named.
    """

    def __init__(self, run: Run, token: str, exchange: Exchange, dealt: Callable[[], Dealt]) -> None:
        """Prepare for the first round; `dealt` is called where a node trains on its share of the common set."""
        setting = run.setting
        self._seed, self._spares = run.seed, setting.flower.spare
        self._fleet, self._scheduler = building.fleet_of(setting), building.scheduler_of(setting)
        self._decider = Decider(self._fleet, self._scheduler, run.seed, building.target_of(setting))
        self.rounds, self.n_clients = setting.rounds, self._fleet.clients
        self.keeps_losses, self.keeps_steps = wants_losses(self._scheduler), self._decider.brings_steps
        digest = digest_of_run(run.facts())
        self._orders = Orders(token, run.arm.label, run.seed, digest, self._decider.mains_powered)
        self._screening = Screening(token, self._fleet)
        self._nodes = Nodes(exchange, self._screening, setting.flower)
        self._lengths = Lengths(setting.flower.norm_limit)
        self._seen = Seen(self.n_clients)
        self._dealt, self._local_steps = dealt, setting.learning.local_steps
        self._weights: list[FloatArray] = []  # of turns in past rounds, where the scheduler brings any
        self._steps: list[IntArray] = []  # likewise

    @property
    def labels(self) -> IntArray | None:
        """The label counts of the deal, None where they are not known, or a client has data of its own."""
        return None if self._seen.own_data else self._dealt().labels

    def clients(self, t: int) -> Clients:
        """Ask all nodes for their energy, and let the scheduler choose among those that have answered."""
        self._seen.begin(self._nodes.answers(t, self._orders.report(t)))
        chosen = self._decider.decide(t, self._seen.levels)
        if not self._decider.mains_powered:
            self._check_paid(t, chosen)
        present: Clients = np.array([client for client in chosen.tolist() if client in self._seen.energy], np.int32)
        return present

    def updates(self, assign: Assign, clients: Clients, t: int, eta: float) -> Iterator[Update]:
        """Send these clients, and some to spare, what they are assigned; yield what the first bring back, by client."""
        if not clients.size:
            return
        self._seen.asked = {*clients.tolist(), *self._spare(clients)}
        steps = self._steps_of(sorted(self._seen.asked))
        kept = self._trained(t, eta, assign, steps, wanted=clients.size)
        # Assignments are made again where they are needed: to keep all of them may take more memory than there is.
        self._refuse_outliers(kept, assign)
        took_part = np.array(sorted(kept), np.int32)
        found = self._decider.weights(took_part)
        weights = [1.0] * took_part.size if found is None else found.tolist()
        for client, weight in zip(took_part.tolist(), weights, strict=True):
            self._seen.counts(client, self._fleet.cost_of(client, steps.get(client)))
            answer, start = kept.pop(client), assign(client).start
            trained = torch.from_numpy(answer.model).to(start.device)
            yield Update(
                client, start, trained, answer.loss, answer.steps, answer.examples, eta, weight, answer.start_loss
            )

    def report(self, t: int, losses: Sequence[float]) -> Devices:
        """Take down who took part; return what was seen of all devices in the round."""
        seen = self._seen.end()
        self._note(t, seen, losses)
        return seen

    def again(self, record: Record) -> int:
        """Take a past round from its record: devices cannot be asked for it again."""
        seen = record.devices
        if seen is None or len(seen.energy) != self.n_clients:
            raise OtherRun(f"the rounds so far belong to another run: round {record.round} was not played on devices")
        if self._decider.brings_weights or self.keeps_steps:  # they are those of the levels that it decided by
            self._decider.decide(record.round, np.array([level or 0 for level in seen.energy], np.int32))
        self._note(record.round, seen, record.losses or ())
        self._seen.again(seen)
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
        """Take down who took part in a round, how much that counts, and how many steps it had."""
        took_part = np.array(seen.took_part, np.int32)
        weights = self._decider.weights(took_part)
        self._weights += [] if weights is None else [weights]
        steps = self._decider.steps(took_part)
        self._steps += [] if steps is None else [steps]
        self._decider.note(t, took_part, losses)

    def _check_paid(self, t: int, chosen: Clients) -> None:
        """Blame a scheduler that chooses a client which says that it cannot pay; in one process the ledger does so."""
        steps = self._steps_of(chosen.tolist())
        for client in chosen.tolist():
            held, taken = self._seen.energy.get(client, 0), steps.get(client)
            if held < self._fleet.cost_of(client, taken):
                self._decider.blame(t, client, held, taken)

    def _steps_of(self, clients: Sequence[int]) -> dict[int, int]:
        """Return how many local steps turns of these clients have, by client; nothing where all have K."""
        steps = self._decider.steps(np.array(clients, np.int32))
        return {} if steps is None else dict(zip(clients, steps.tolist(), strict=True))

    def _trained(
        self, t: int, eta: float, assign: Assign, steps: Mapping[int, int], *, wanted: int
    ) -> dict[int, Answer]:
        """Return what came back as it must be, of the first `wanted` clients; the others are lost, and named."""
        kept: dict[int, Answer] = {}
        asked = sorted(self._seen.asked)
        n_parameters = assign(asked[0]).start.numel()
        with closing(self._nodes.trained(t, asked, self._orders.train(t, eta, assign, steps))) as replies:
            for client, reply in replies:
                try:
                    answer = self._screening.answer(reply, t, client)
                    self._seen.paid(answer)  # whatever its model is like
                    examples = None if answer.owns_data else self._dealt().examples[client]
                    check_model(answer, n_parameters, steps.get(client, self._local_steps), examples)
                except BadMessage as error:
                    self._seen.lose(client, str(error))
                    continue
                kept[client] = answer
                if len(kept) == wanted:
                    break
        for client in self._seen.unheard(kept):
            self._seen.lose(client, "not needed: others were faster")
        return kept

    def _refuse_outliers(self, kept: dict[int, Answer], assign: Assign) -> None:
        """Leave out updates that are much longer than usual, each from where it started, if a limit is set."""
        models = {client: answer.model for client, answer in kept.items()}
        for client, reason in self._lengths.too_long(models, lambda one: as_weights(assign(one).start)).items():
            del kept[client]
            self._seen.lose(client, reason)

    def _spare(self, clients: Clients) -> list[int]:
        """Return whom to ask beyond those that were chosen: the longest queues among the others that can pay."""
        energy, free = self._seen.energy, self._decider.mains_powered
        others = energy.keys() - set(clients.tolist())
        able = [client for client in others if free or energy[client] >= self._fleet.cost_of(client)]
        return sorted(able, key=lambda client: (-energy[client], client))[: self._spares]
