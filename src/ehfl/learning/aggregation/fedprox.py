"""FedProx: the mean of models that are held back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from ehfl.learning.aggregation.contract import Assignment, State, Update
from ehfl.learning.aggregation.mean import mean_of_models
from ehfl.validation import number_in


@dataclass(frozen=True, slots=True)
class FedProx:
    """The plain mean of models, each trained on f_i(y) + (mu / 2) |y - x_t|^2: mu (y - x_t) is added to each gradient.

    T. Li et al., "Federated optimization in heterogeneous networks", MLSys 2020, arXiv 1812.06127, algorithm 2. The
    paper draws clients in proportion to their data, and slow ones stop early; here the scheduler chooses, and all take
    K steps. With mu = 0 it is the mean, and with K = 1, since the first step starts from x_t.

    An empty round leaves the model as it is: there is no model to take a mean of.
    """

    mu: float = 0.1

    def __post_init__(self) -> None:
        number_in("mu", self.mu, "[0, 1e30]")

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember nothing."""
        return {}

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Hold the client back towards x."""
        return Assignment(x, pull=self.mu)

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the plain mean of the participants' models."""
        return mean_of_models(x, updates, lambda examples: 1), state
