"""Whether what an aggregation assigns to clients can be sent to them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ehfl.learning.aggregation import Aggregation, Assignment, State, assignment_of
from ehfl.validation import is_number, short


def assignment_fault(aggregation: Aggregation, x: Tensor, client: int, state: State) -> str | None:
    """Return which rule an assignment breaks, None if it breaks none.

    >>> from ehfl.learning import FedProx
    >>> assignment_fault(FedProx(mu=0.5), torch.zeros(3), client=0, state={})
    """
    before = x.clone()
    given: object = assignment_of(aggregation, x, client, state)
    if not isinstance(given, Assignment):
        return f"must assign an Assignment, got {short(repr(given))}"
    if not torch.equal(x, before):
        return "must leave what it is given as it is: x was changed by assign"
    if not is_number(given.pull) or not math.isfinite(given.pull):
        return f"must assign a pull that is a finite number, got {short(repr(given.pull))}"
    shift_fault = None if given.shift is None else _vector_fault("shift", given.shift, x)
    return _vector_fault("start", given.start, x) or shift_fault


def _vector_fault(name: str, found: object, x: Tensor) -> str | None:
    if not isinstance(found, Tensor) or found.shape != x.shape or found.dtype != x.dtype:
        kind = f"{found.dtype} of shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
        return f"must assign a {name} of {x.dtype} and of shape {tuple(x.shape)}, got {kind}"
    return None if torch.isfinite(found).all() else f"must assign a {name} of finite numbers"
