"""What counts of the answers that nodes send: this run's and round's, with energy that can be and a sound model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median_low

import numpy as np

from ehfl.energy import Fleet
from ehfl.flower.exchange import Reply
from ehfl.flower.messages import Answer, BadMessage, Weights
from ehfl.history import as_reason
from ehfl.validation import UserError


class Ahead(BadMessage):
    """A node whose account stands at a later round of this run."""


@dataclass(frozen=True, eq=False, slots=True)
class Screening:
    """What answers to a run's questions must be like; the first rule that one breaks is raised as BadMessage.

    A node that says less than the truth cannot be told from an honest one. What is refused is what cannot be.
    """

    token: str  # the run's
    fleet: Fleet

    def answer(self, reply: Reply, t: int, client: int | None = None) -> Answer:
        """Return what a node says in round t, as this client or as any."""
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
        """Refuse what no account can say; a level beyond the battery's would be chosen before all others."""
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


def check_model(answer: Answer, n_parameters: int, steps: int | None = None) -> None:
    """Refuse a trained model that cannot be averaged, or that took other steps than it was asked for, if it was.

    >>> check_model(Answer("a", 0, 1, loss=0.5, steps=5, examples=9, weights=np.zeros(3, np.float32)), n_parameters=4)
    Traceback (most recent call last):
    ehfl.flower.messages.BadMessage: a model of 3 weights, not 4
    """
    if answer.weights is None:
        raise BadMessage("no model came back")
    if answer.weights.size != n_parameters:
        raise BadMessage(f"a model of {answer.weights.size} weights, not {n_parameters}")
    losses_finite = math.isfinite(answer.loss) and math.isfinite(answer.start_loss)
    if not losses_finite or not np.isfinite(answer.weights).all():
        raise BadMessage("a model or a loss that is not finite")
    if answer.steps < 1 or answer.examples < 1:
        raise BadMessage(f"{answer.steps} steps on {answer.examples} examples")
    if steps is not None and answer.steps != steps:
        raise BadMessage(f"{answer.steps} steps, not the {steps} that it was asked for")


class Lengths:
    """How long updates are: those are refused that are more than so many times longer than usual, if a limit is set."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._usual: float | None = None  # as of the last round

    def too_long(self, models: Mapping[int, Weights], start_of: Callable[[int], Weights]) -> dict[int, str]:
        """Return whose models lie too far from where they started, and why, by client."""
        if self._limit is None or not models:
            return {}
        lengths = {client: length_of(model, start_of(client)) for client, model in models.items()}
        found, self._usual = outliers(lengths, self._limit, self._usual)
        return found


def length_of(model: Weights, start: Weights) -> float:
    """Return how far an update has led from its start; squares of large weights fit into no float32."""
    return float(np.linalg.norm(np.subtract(model, start, dtype=np.float64)))


def outliers(lengths: Mapping[int, float], limit: float, usual: float | None) -> tuple[dict[int, str], float]:
    """Return whose updates are too long, and why, and what length is usual now.

    Usual is the median of the round, the lower one of two. An update that is alone is compared with what was usual in
    the round before; the very first one has nothing that it could be compared with.

    >>> outliers({0: 1.0, 1: 1.2, 2: 90.0}, limit=10, usual=None)
    ({2: 'an update of length 90, more than 10 times the usual 1.2'}, 1.0)
    >>> outliers({1: 90.0}, limit=10, usual=1.1)
    ({1: 'an update of length 90, more than 10 times the usual 1.1'}, 1.1)
    """
    now = median_low(lengths.values()) if len(lengths) > 1 or usual is None else usual
    too_long = {client: length for client, length in lengths.items() if length > limit * now}
    kept = [length for client, length in lengths.items() if client not in too_long]
    words = {
        client: f"an update of length {length:.3g}, more than {limit:g} times the usual {now:.3g}"
        for client, length in too_long.items()
    }
    return words, median_low(kept) if kept else now
