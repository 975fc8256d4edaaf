"""FedVarp: updates of this round, corrected by what was heard before."""

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
class FedVarp:
    """x_{t+1} = x_t + server_step eta_t (mean of G_i - y_i over the participants + mean of y_i over all clients).

    G_i = Delta_i/eta_t, and y_i is G_i of i's last turn, 0 before its first: the variance that partial participation
    adds is taken out again.

    D. Jhunjhunwala, P. Sharma, A. Nagarkatti and G. Joshi, "FedVARP: tackling the variance due to partial client
    participation in federated learning", UAI 2022, arXiv 2207.14130, algorithm 1. Its step sizes are constant; where
    they vary, only updates divided by their step sizes can be compared. It draws equally many clients at random in
    every round: then the step is right on average. Where some come more often than others it is not, but the error
    goes to 0 with G_i - y_i.

    An empty round leaves the model as it is: every step-size rule has eta_t = 0 in it.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember y_i of each client, and their sum."""
        return {"memory": Rows(n_clients, n_params), "total": torch.zeros(n_params, dtype=torch.float64)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the corrected mean of the updates."""
        memory, before = state["memory"].copy(), state["total"]
        change, count, eta = torch.zeros_like(before), 0, 0.0
        for update in updates:
            eta, gradient = update.eta, update.delta / update.eta
            change += gradient.to(change.dtype) - memory[update.client].to(change)
            memory[update.client] = gradient
            count += 1
        direction = change / max(count, 1) + before / memory.n_clients
        return moved(x, direction, self.server_step * eta), {"memory": memory, "total": before + change}
