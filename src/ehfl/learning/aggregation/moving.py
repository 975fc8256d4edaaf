"""The server's step: moves the model along the direction that an aggregation computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import Update
from ehfl.learning.aggregation.mean import exact_on


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
