"""A user's own aggregation, with something to remember: `aggregation="server_momentum:ServerMomentum"`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning import State, Update


@dataclass(frozen=True, slots=True)
class ServerMomentum:
    """v_{t+1} = beta v_t + mean of Delta_i,  x_{t+1} = x_t + v_{t+1}  (FedAvgM: T.-M. H. Hsu et al., arXiv 1909.06335).

    An empty round moves the model by beta v_t: the server rolls on.
    """

    beta: float = 0.5

    def init(self, n_clients: int, n_params: int) -> State:
        return {"velocity": torch.zeros(n_params), "rounds": torch.tensor(0)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        total, count = torch.zeros_like(x), 0
        for update in updates:
            total += update.delta
            count += 1
        velocity = self.beta * state["velocity"] + total / max(count, 1)
        return x + velocity, {"velocity": velocity, "rounds": state["rounds"] + 1}

    def share(self, examples: int) -> float:
        return 1
