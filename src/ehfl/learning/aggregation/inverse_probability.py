"""InverseProbability: whoever is heard rarely counts for more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from ehfl.arrays import real_numbers
from ehfl.learning.aggregation.contract import State, Update
from ehfl.learning.aggregation.server_step import moved, weighted_sum
from ehfl.validation import InvalidValue, is_word, positive_number

_LEAST = 1e-30  # what is divided by it must fit into float32


@dataclass(frozen=True, slots=True)
class InverseProbability:
    """Each update is divided by how likely its client was to take part, so that on average all count alike.

    x_{t+1} = x_t + (server_step/N) sum_S Delta_i / p_i,   p_i = P(i in S_t).

    The expectation of the step is then the mean over all N clients, whoever could pay (Horvitz and Thompson, JASA 1952;
    a baseline of arXiv 2306.03401). Participation is known before training, so in a comparison "auto" stands for the
    p_i of fleet and scheduler.

    An empty round leaves the model as it is: its step is the sum over nobody, and the other rounds' weights, which are
    larger than those of a mean, make up for it.
    """

    probabilities: tuple[float, ...] | Literal["auto"] = "auto"  # p_i in (0, 1], one per client
    server_step: float = 1.0

    def __post_init__(self) -> None:
        if not is_word(self.probabilities, "auto"):
            object.__setattr__(self, "probabilities", _checked(self.probabilities))
        positive_number("server_step", self.server_step)

    @property
    def wants_probabilities(self) -> bool:
        """Whether they are still to be found out."""
        return isinstance(self.probabilities, str)

    def informed(self, probabilities: Sequence[float]) -> InverseProbability:
        """Return the same with these probabilities."""
        return replace(self, probabilities=tuple(probabilities))

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember nothing; probabilities that do not fit the clients are refused."""
        if isinstance(self.probabilities, str):
            allowed = "given, one in (0, 1] per client: chances(fleet, scheduler, rounds).turns; auto is for specs"
            raise InvalidValue("probabilities", allowed, "auto")
        if len(self.probabilities) != n_clients:
            raise InvalidValue("probabilities", f"one per client ({n_clients})", f"a list of {len(self.probabilities)}")
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the step by updates that are divided by their clients' probabilities."""
        chances = self.probabilities
        assert not isinstance(chances, str), "init has refused it"
        total, _ = weighted_sum(x, updates, lambda update: 1 / chances[update.client])
        return moved(x, total, self.server_step / len(chances)), state


def _checked(given: object) -> tuple[float, ...]:
    """Return probabilities as a tuple, or say which of them is none."""
    allowed = "auto or one number in (0, 1] per client"
    found = real_numbers("probabilities", given, allowed)
    if found.ndim != 1 or not found.size:
        raise InvalidValue("probabilities", allowed, f"an array of shape {found.shape}" if found.size else repr(given))
    for client, chance in enumerate(found.tolist()):
        if 0 <= chance < _LEAST:
            why = f"client {client} never takes part: its weight would be infinite"
            raise InvalidValue("probabilities", allowed, f"{chance} ({why})")
        if not 0 < chance <= 1:
            raise InvalidValue("probabilities", allowed, f"{chance} for client {client}")
    return tuple(found.tolist())
