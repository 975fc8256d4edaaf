"""Mean: the paper's aggregation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import State, Update


@dataclass(frozen=True, slots=True)
class Mean:
    """x_{t+1} = (1/n_t) sum of x_{t,K}^i over the participants (paper, section 2).

    An empty round leaves the model as it is.
    """

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember nothing."""
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the plain mean of the participants' models."""
        return mean_of_models(x, updates, lambda examples: 1), state


def mean_of_models(x: Tensor, updates: Iterable[Update], share: Callable[[int], float]) -> Tensor:
    """Return the mean of models with these shares, as a running sum; x where there is none.

    It is a mean of models and not of updates, because float32 would round each update once more.
    """
    total = torch.zeros_like(x, dtype=exact_on(x.device))  # updates come one at a time and are not kept
    weight = 0.0
    for update in updates:
        total.add_(update.weights, alpha=share(update.examples))
        weight += share(update.examples)
    return total.div_(weight).to(x.dtype) if weight else x


def exact_on(device: torch.device) -> torch.dtype:
    """Return what sums of float32 are taken in: in float64 they are exact for equal clients; MPS has none."""
    return torch.float32 if device.type == "mps" else torch.float64
