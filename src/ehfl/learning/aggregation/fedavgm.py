"""FedAvgM: momentum at the server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import State, Update
from ehfl.learning.aggregation.server_step import moved, weighted_sum
from ehfl.validation import number_in, positive_number


@dataclass(frozen=True, slots=True)
class FedAvgM:
    """v_{t+1} = momentum v_t + mean of Delta_i over the participants,   x_{t+1} = x_t + server_step v_{t+1}.

    T.-M. H. Hsu, H. Qi and M. Brown, "Measuring the effects of non-identical data distribution for federated visual
    classification", arXiv 1909.06335: with 0.9, what the last ten rounds or so agree on counts ten times, so the same
    local step size goes ten times as far. The paper's mean is by the sizes of data; here each participant counts alike.
    With momentum 0 and a step of 1 it is the mean.

    An empty round leaves the model as it is, and the velocity: nobody was heard, so there is nothing to average. The
    paper draws participants in every round; Flower's FedAvgM also goes on from the last round that had some.
    """

    momentum: float = 0.9
    server_step: float = 1.0

    def __post_init__(self) -> None:
        number_in("momentum", self.momentum, "[0, 1)")
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember the velocity."""
        return {"velocity": torch.zeros(n_params, dtype=torch.float64)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the velocity, which the mean of the updates has been added to."""
        total, clients = weighted_sum(x, updates, lambda update: 1.0)
        if not clients:
            return x, state
        velocity = self.momentum * state["velocity"] + total / len(clients)
        return moved(x, velocity, self.server_step), {"velocity": velocity}
