"""Mifa: everyone's last word counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import State, Update
from ehfl.learning.aggregation.server_step import moved
from ehfl.learning.rows import Rows
from ehfl.validation import positive_number


@dataclass(frozen=True, slots=True)
class Mifa:
    """x_{t+1} = x_t + (server_step / N) sum of G_i over all clients, G_i being Delta_i of i's last turn, else 0.

    X. Gu, K. Huang, J. Zhang and L. Huang, "Fast federated learning in the presence of arbitrary device
    unavailability", NeurIPS 2021, arXiv 2106.04159, algorithm 1. There the server keeps Delta_i / eta_t and multiplies
    by the step size of the round in which it is used: the same, where steps do not change. It also waits for an update
    of every client before its first step; here, as in its authors' second variant, G_i = 0 stands for who was not yet
    heard, since some clients may never be able to pay. The paper has no server step.

    An empty round moves the model, too, by what is remembered, as in the algorithm: those who are away still count.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember an update of each client, and their sum."""
        return {"memory": Rows(n_clients, n_params), "total": torch.zeros(n_params, dtype=torch.float64)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the mean of all that is remembered, this round's updates included."""
        memory, total = state["memory"].copy(), state["total"].clone()
        for update in updates:
            delta = update.delta
            total += delta.to(total.dtype) - memory[update.client].to(total)
            memory[update.client] = delta
        return moved(x, total, self.server_step / memory.n_clients), {"memory": memory, "total": total}
