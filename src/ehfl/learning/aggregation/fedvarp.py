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
    """x_{t+1} = x_t + server_step (mean of Delta_i - y_i over the participants + mean of y_i over all clients).

    y_i is Delta_i of i's last turn, 0 before its first: a variance that participation brings in is taken out again.

    D. Jhunjhunwala, P. Sharma, A. Nagarkatti and G. Joshi, "FedVARP: tackling the variance due to partial client
    participation in federated learning", UAI 2022, arXiv 2207.14130, algorithm 1, whose step sizes are constant. It
    draws equally many clients at random in every round: then the step is right on average. Where some come more often
    than others it is not, but what is wrong with it goes to 0 with Delta_i - y_i.

    An empty round moves the model by the mean of all y_i, the best that the server knows without anybody to correct it.
    The paper has none; the code of later papers, in which it is a baseline, leaves the model as it is in them.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember an update of each client, and their sum."""
        return {"memory": Rows(n_clients, n_params), "total": torch.zeros(n_params, dtype=torch.float64)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the corrected mean of the updates."""
        memory, before = state["memory"].copy(), state["total"]
        change, count = torch.zeros_like(before), 0
        for update in updates:
            delta = update.delta
            change += delta.to(change.dtype) - memory[update.client].to(change)
            memory[update.client] = delta
            count += 1
        direction = change / max(count, 1) + before / memory.n_clients
        return moved(x, direction, self.server_step), {"memory": memory, "total": before + change}
