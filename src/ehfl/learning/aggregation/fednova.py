"""FedNova: a mean over steps, for clients that take different numbers of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from ehfl.learning.aggregation.contract import State, Update
from ehfl.learning.aggregation.server_step import moved, weighted_sum
from ehfl.validation import positive_number


@dataclass(frozen=True, slots=True)
class FedNova:
    """x_{t+1} = x_t + server_step * tau * mean over S of Delta_i / k_i, tau being the mean of the k_i.

    k_i is how many steps client i took. In a plain mean a client counts by its steps, since its update is as long as
    they are together, so the model goes where those who take the most want it. Here each counts by its mean step, and
    the model goes as far as a mean of k_i steps leads. Where all take K steps it is the mean of updates.

    J. Wang, Q. Liu, H. Liang, G. Joshi and H. V. Poor, "Tackling the objective inconsistency problem in heterogeneous
    federated optimization", NeurIPS 2020, arXiv 2007.07481, for plain SGD, where a_i = (1, ..., 1) and its norm is k_i,
    and with tau_eff = sum of p_i k_i (section 4). Here p_i = 1/|S|: participants count alike, whatever data they hold.

    An empty round leaves the model as it is: there is nothing to take a mean of.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember nothing."""
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the mean of the mean steps, times as many as were taken on average."""
        steps: list[int] = []

        def share(update: Update) -> float:
            steps.append(update.steps)
            return 1 / update.steps

        total, _ = weighted_sum(x, updates, share)
        count = max(len(steps), 1)
        return moved(x, total, self.server_step * sum(steps) / count**2), state
