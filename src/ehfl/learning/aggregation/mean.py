"""The mean of the participants' models: plain, the paper's aggregation, or weighted by their data.

`moved` and `weighted_sum` are the step of other aggregations: along a direction, from updates one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import State, Update


@dataclass(frozen=True, slots=True)
class Mean:
    """x_{t+1} = (1/n_t) sum of x_{t,K}^i over the participants (paper, section 2).

    An empty round leaves the model unchanged.
    """

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember nothing."""
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the plain mean of the participants' models."""
        return mean_of_models(x, updates, lambda examples: 1), state


def mean_of_models(x: Tensor, updates: Iterable[Update], share: Callable[[int], float]) -> Tensor:
    """Return the weighted mean of models, as a running sum; x without updates.

    It averages models instead of updates, because float32 would round each update once more.
    """
    total = torch.zeros_like(x, dtype=exact_on(x.device))  # updates come one at a time and are not kept
    weight = 0.0
    for update in updates:
        total.add_(update.weights, alpha=share(update.examples))
        weight += share(update.examples)
    return total.div_(weight).to(x.dtype) if weight else x


def exact_on(device: torch.device) -> torch.dtype:
    """Return the dtype for sums of float32: float64, where sums of equal models are exact; MPS lacks float64."""
    return torch.float32 if device.type == "mps" else torch.float64


@dataclass(frozen=True, slots=True)
class Weighted:
    """x_{t+1} = sum of D_i x_{t,K}^i / sum of D_i over the participants: FedAvg's mean, weighted by examples.

    H. B. McMahan et al., AISTATS 2017. An empty round leaves the model unchanged.
    """

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember nothing."""
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the mean of the participants' models, weighted by their numbers of examples."""
        return mean_of_models(x, updates, self.share), state

    def share(self, examples: int) -> float:
        """Return D_i, which also weights the round's training loss."""
        return examples


def moved(x: Tensor, direction: Tensor, length: float) -> Tensor:
    """Return x + length * direction in the precision of the direction, rounded once.

    >>> import torch
    >>> moved(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 0.0], dtype=torch.float64), 0.5).tolist()
    [2.0, 2.0]
    """
    return x.to(direction.dtype).add(direction, alpha=length).to(x.dtype)


def weighted_sum(
    x: Tensor, updates: Iterable[Update], weight_of: Callable[[Update], float]
) -> tuple[Tensor, list[int]]:
    """Return the sum of w_i Delta_i over the updates, as a running sum, and their clients."""
    total, clients = torch.zeros_like(x, dtype=exact_on(x.device)), []
    for update in updates:
        # Add both models in float64 instead of `update.delta`, which is rounded to float32.
        weight = weight_of(update)
        total.add_(update.weights, alpha=weight).sub_(update.start, alpha=weight)
        clients.append(update.client)
    return total, clients
