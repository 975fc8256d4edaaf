"""Scheduled: the scheduler says how much each update counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import Aggregation, State, Update
from ehfl.learning.aggregation.server_step import moved, weighted_sum
from ehfl.validation import InvalidValue, positive_number


@dataclass(frozen=True, slots=True)
class Scheduled:
    """x_{t+1} = x_t + (server_step/N) sum_S w_i Delta_i, where w_i is what the scheduler brings for this turn.

    For schedulers that choose clients and weigh them in one, such as F3ast (arXiv 2205.06730), which weighs by how
    rarely it has chosen a client, and EnergyCycles (arXiv 2102.11274), by how many rounds its energy takes.

    An empty round leaves the model as it is: the sum is over nobody. The weights of other rounds make up for it.
    """

    wants_weights: ClassVar[bool] = True
    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember N alone, which no round shows."""
        return {"n_clients": torch.tensor(n_clients)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the step by updates that count as much as the scheduler says."""
        total, _ = weighted_sum(x, updates, lambda update: update.weight)
        return moved(x, total, self.server_step / int(state["n_clients"])), state


def no_weights(aggregation: Aggregation, scheduler: str) -> InvalidValue:
    """Return the error for an aggregation that goes by weights which its scheduler does not bring."""
    allowed = "used with a scheduler that brings weights (f3ast, energy-cycles or one of your own)"
    return InvalidValue("aggregation", allowed, f"{type(aggregation).__name__} with {scheduler}")
