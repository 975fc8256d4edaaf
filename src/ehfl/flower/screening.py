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

LARGEST = 1e9  # of a weight or a loss; a model that learns has none, and one such answer would end the run
_SHORT = 1e-3  # of its model: an update that is no longer is a usual one


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


def check_model(answer: Answer, n_parameters: int, steps: int, examples: int | None) -> None:
    """Refuse a trained model that cannot be averaged, or other steps than ordered, or other examples than dealt.

    `examples` is None for a node that trains on data of its own.

    >>> answer = Answer("a", 0, 1, loss=0.5, steps=5, examples=9, weights=np.zeros(3, np.float32))
    >>> check_model(answer, n_parameters=4, steps=5, examples=9)
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
    largest = max(float(np.abs(answer.weights).max()), abs(answer.loss), abs(answer.start_loss))
    if largest > LARGEST:
        raise BadMessage(f"a weight or a loss of {largest:.3g}, beyond {LARGEST:g}")
    if answer.steps != steps:
        raise BadMessage(f"{answer.steps} steps, not the {steps} that it was asked for")
    if answer.examples < 1 or examples not in (None, answer.examples):
        raise BadMessage(f"{answer.examples} examples, not the {examples or 'at least 1'} that it was dealt")


class Lengths:
    """How long updates are: those longer than `limit` times the usual length are refused, None for no limit."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._usual: float | None = None  # as of the last round

    def too_long(self, models: Mapping[int, Weights], start_of: Callable[[int], Weights]) -> dict[int, str]:
        """Return whose models lie too far from where they started, and why, by client."""
        if self._limit is None or not models:
            return {}
        lengths, sizes = {}, {}
        for client, model in models.items():
            start = start_of(client)
            lengths[client], sizes[client] = length_of(model, start), length_of(start, np.zeros_like(start))
        found, self._usual = outliers(lengths, sizes, self._limit, self._usual)
        return found


def length_of(model: Weights, start: Weights) -> float:
    """Return how far an update has led from its start; squares of large weights fit into no float32."""
    return float(np.linalg.norm(np.subtract(model, start, dtype=np.float64)))


def outliers(
    lengths: Mapping[int, float], sizes: Mapping[int, float], limit: float, usual: float | None
) -> tuple[dict[int, str], float | None]:
    """Return whose updates are too long, and why, and what length is usual now.

    Usual is the median of the round, the lower one of two, and at least a thousandth of the length of the model that
    the client started from (`sizes`): clients that stand at their optimum do not make the others outliers. An update
    that is alone is compared with what was usual in the round before, the very first one with its model (if not 0).

    >>> outliers({0: 1.0, 1: 1.2, 2: 90.0}, {0: 3.0, 1: 3.0, 2: 3.0}, limit=10, usual=None)
    ({2: 'an update of length 90, more than 10 times the usual 1.2'}, 1.0)
    >>> outliers({1: 90.0}, {1: 3.0}, limit=10, usual=1.1)
    ({1: 'an update of length 90, more than 10 times the usual 1.1'}, 1.1)
    """
    first = len(lengths) == 1 and usual is None
    now = median_low(lengths.values()) if len(lengths) > 1 or usual is None else usual
    words = {}
    for client, length in lengths.items():
        compared = (sizes[client] or length) if first else max(now, _SHORT * sizes[client])
        if length > limit * compared:
            words[client] = f"an update of length {length:.3g}, more than {limit:g} times the usual {compared:.3g}"
    kept = [length for client, length in lengths.items() if client not in words]
    return words, median_low(kept) if kept else (None if first else now)
