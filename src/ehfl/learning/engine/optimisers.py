"""Local optimisers: any class of torch.optim, on the vector of all weights, with eta_t as its step size.

A client's turn is a pure function of its order, so the optimiser starts anew in every turn: no state is sent or kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ehfl.registry import Registry, Table
from ehfl.validation import InvalidValue, one_line

_OF_TORCH = [kind for kind in vars(torch.optim).values() if isinstance(kind, type) and issubclass(kind, Optimizer)]
OPTIMISERS: Registry[Optimizer] = Registry(
    "local",
    {kind.__name__.lower(): f"torch.optim:{kind.__name__}" for kind in _OF_TORCH if kind is not Optimizer},
    methods=("step",),
)

Step = Callable[[Tensor, float], object]  # moves the weights by a gradient (n_params,) and a step size


def read_optimiser(given: object, key: str = "local") -> Table | None:
    """Return an optimiser as a table, None for plain SGD; raise an error if it cannot train one vector.

    >>> read_optimiser("adamw:weight_decay=0.01"), read_optimiser("sgd")
    ({'name': 'adamw', 'weight_decay': 0.01}, None)
    """
    if given is None:
        return None
    table = OPTIMISERS.table(given, key)
    for parameter in table.keys() - {"name"}:
        if parameter in ("lr", "params"):
            raise InvalidValue(f"{key}.{parameter}", "left out: step_size sets the step, eta_t in round t", parameter)
        if not OPTIMISERS.takes(table, parameter, key):
            raise InvalidValue(f"{key}.{parameter}", f"a parameter of torch.optim's {table['name']}", parameter)
    if table == {"name": "sgd"}:
        return None
    try:  # LBFGS wants a closure, SparseAdam sparse gradients, Muon matrices
        step_of(table, torch.zeros(2))(torch.ones(2), 0.1)
    except (TypeError, ValueError, RuntimeError) as error:
        allowed = "an optimiser that trains one dense vector from its gradient alone"
        raise InvalidValue(key, allowed, f"{OPTIMISERS.text(table)} ({one_line(error)})") from error
    return table


def step_of(table: Mapping[str, Any] | None, weights: Tensor) -> Step:
    """Return the function that moves these weights in one turn: plain SGD, or a new optimiser."""
    if table is None:
        return lambda gradient, eta: weights.add_(gradient, alpha=-eta)
    parameters = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    optimiser = OPTIMISERS.factory(parameters.pop("name"))([weights], lr=0.0, **parameters)

    def step(gradient: Tensor, eta: float) -> None:
        weights.grad = gradient
        for group in optimiser.param_groups:
            group["lr"] = eta
        optimiser.step()
        weights.grad = None

    return step
