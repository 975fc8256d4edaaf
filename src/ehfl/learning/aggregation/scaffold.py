"""Scaffold: every client is told how it differs from the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import Assignment, State, Update
from ehfl.learning.aggregation.server_step import moved
from ehfl.learning.rows import Rows
from ehfl.validation import positive_number


@dataclass(frozen=True, slots=True)
class Scaffold:
    """x_{t+1} = x_t + server_step * mean of Delta_i, where each gradient at client i is corrected by c - c_i.

    At the participants c_i' = c_i - c - Delta_i / (K eta_t) (option II), and c' = c + (1/N) sum of c_i' - c_i, from
    0 on. So c_i is the mean of the gradients of i's last turn before their correction, clipped and with weight decay
    where there is any.

    S. P. Karimireddy et al., "SCAFFOLD: stochastic controlled averaging for federated learning", ICML 2020, arXiv
    1910.06378, algorithm 1. As published, a turn sends two models each way, x and c down, Delta_i and that of c_i up,
    and so it is counted. Here the server sends x and c - c_i and works c_i' out of Delta_i: devices need no memory.

    An empty round leaves the model as it is, and all c_i: the paper's sums are over nobody.
    """

    models_down: ClassVar[int] = 2
    models_up: ClassVar[int] = 2
    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember the control variates, c_i of each client and c, their mean."""
        return {"controls": Rows(n_clients, n_params), "mean": torch.zeros(n_params, dtype=torch.float64)}

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Let the client correct its gradients by c - c_i."""
        control, mean = state["controls"][client], state["mean"]
        return Assignment(x, shift=(mean - control.to(mean)).to(x.dtype))

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the mean of the updates, and the control variates of the participants anew."""
        controls, mean = state["controls"].copy(), state["mean"]
        total, change, count = torch.zeros_like(mean), torch.zeros_like(mean), 0
        for update in updates:
            delta, count = update.delta.to(mean.dtype), count + 1
            total += delta
            if update.eta > 0:  # without a step there is no gradient to be seen
                before = controls[update.client].to(mean)
                after = before - mean - delta / (update.steps * update.eta)
                change += after - before
                controls[update.client] = after
        state = {"controls": controls, "mean": mean + change / controls.n_clients}
        return moved(x, total, self.server_step / max(count, 1)), state
