"""Weighted: the mean by data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor

from ehfl.learning.aggregation.contract import State, Update
from ehfl.learning.aggregation.mean import mean_of_models


@dataclass(frozen=True, slots=True)
class Weighted:
    """x_{t+1} = sum of D_i x_{t,K}^i / sum of D_i over the participants: FedAvg's mean, by the examples of each.

    H. B. McMahan et al., AISTATS 2017. An empty round leaves the model as it is.
    """

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember nothing."""
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the mean of the participants' models, each as often as it has examples."""
        return mean_of_models(x, updates, self.share), state

    def share(self, examples: int) -> float:
        """Return D_i, by which the round's training loss is weighted as well."""
        return examples
