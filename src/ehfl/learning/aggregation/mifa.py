"""Mifa: the mean of every client's last update."""

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
    """Memory of every client's last update; the mean of all of them moves the model.

    x_{t+1} = x_t + server_step (eta_t/N) sum_i G_i,   G_i = Delta_i/eta of i's last turn, 0 before its first.

    X. Gu, K. Huang, J. Zhang and L. Huang, "Fast federated learning in the presence of arbitrary device
    unavailability", NeurIPS 2021, arXiv 2106.04159, algorithm 1. It waits for an update of every client before its
    first step; here, as in its authors' second variant, G_i = 0 stands for clients not yet heard, since some may never
    be able to pay. The paper has no server step.

    An empty round leaves the model as it is: every step-size rule has eta_t = 0 in it.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember G_i of each client, and their sum."""
        return {"memory": Rows(n_clients, n_params), "total": torch.zeros(n_params, dtype=torch.float64)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the mean of all that is remembered, this round's updates included."""
        memory, total, eta = state["memory"].copy(), state["total"].clone(), 0.0
        for update in updates:
            eta, gradient = update.eta, update.delta / update.eta
            total += gradient.to(total.dtype) - memory[update.client].to(total)
            memory[update.client] = gradient
        return moved(x, total, self.server_step * eta / memory.n_clients), {"memory": memory, "total": total}
