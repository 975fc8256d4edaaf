"""The server's own step: how far the model moves along what an aggregation has found."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import Update
from ehfl.learning.aggregation.mean import exact_on
from ehfl.validation import InvalidValue, is_number


def check_server_step(value: float) -> None:
    """Refuse a step that would leave the model where it is, climb, or leave float32."""
    if not (is_number(value) and 1e-30 <= value <= 1e30):
        raise InvalidValue("server_step", "a number in [1e-30, 1e30]", value if is_number(value) else repr(value))


def moved(x: Tensor, direction: Tensor, length: float) -> Tensor:
    """Return x + length * direction in the precision of the direction, rounded once.

    >>> import torch
    >>> moved(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 0.0], dtype=torch.float64), 0.5).tolist()
    [2.0, 2.0]
    """
    return x.to(direction.dtype).add(direction, alpha=length).to(x.dtype)


def weighted_step(x: Tensor, updates: Iterable[Update], weight_of: Callable[[Update], float], scale: float) -> Tensor:
    """Return x + scale * sum of w_i Delta_i over the updates, as a running sum; x where there is none.

    It is rounded once, at the end: with scale * w_i = 1/n it is the mean up to that.
    """
    total = torch.zeros_like(x, dtype=exact_on(x.device))
    heard = False
    for update in updates:
        # Models in float64, one after the other, and not `update.delta`, which float32 has rounded.
        weight = weight_of(update)
        total.add_(update.weights, alpha=weight).sub_(update.start, alpha=weight)
        heard = True
    return moved(x, total, scale) if heard else x
