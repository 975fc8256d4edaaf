"""FedAU: weights from past gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import State, Update
from ehfl.learning.aggregation.server_step import moved, weighted_sum
from ehfl.validation import positive_number, whole_number


@dataclass(frozen=True, slots=True)
class FedAu:
    """Each update counts as often as its client is away: 1/p_i, estimated by the mean of its past gaps.

    x_{t+1} = x_t + (server_step/N) sum_S omega_i Delta_i,   omega_i = mean length of i's intervals before round t.

    S. Wang and M. Ji, "A lightweight method for tackling unknown participation statistics in federated averaging", ICLR
    2024, arXiv 2306.03401. An interval ends with a turn, or after `cutoff` rounds without one (K; the authors' is 50):
    the weights of clients that are hardly ever heard stay bounded by it. The weight of round t comes from earlier
    rounds alone, and is 1 before the first interval has ended; both as in the authors' code (IBM/fedau).

    An empty round leaves the model as it is, and lengthens every client's gap: it is a round in which all were away.
    """

    cutoff: int = 50
    server_step: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutoff", whole_number("cutoff", self.cutoff, low=1, high=2**31))
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember of each client its present gap (S_n), its past intervals (M_n) and their rounds together."""
        return {name: torch.zeros(n_clients, dtype=torch.int64) for name in ("gap", "intervals", "rounds")}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the step by weighted updates, and the gaps with this round in them."""
        # Counts, not means, are remembered: they have no rounding that could add up.
        intervals, rounds = (state[name].tolist() for name in ("intervals", "rounds"))
        omega = [total / count if count else 1.0 for total, count in zip(rounds, intervals, strict=True)]
        total, clients = weighted_sum(x, updates, lambda update: omega[update.client])
        return moved(x, total, self.server_step / len(omega)), self._counted(state, clients)

    def _counted(self, state: State, took_part: list[int]) -> State:
        gap = state["gap"] + 1
        ended = gap >= self.cutoff
        ended[took_part] = True
        return {
            "gap": torch.where(ended, 0, gap),
            "intervals": state["intervals"] + ended,
            "rounds": state["rounds"] + torch.where(ended, gap, 0),
        }
