"""Initial weights from a stream of our own: torch's global generator is never asked."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)


def initialise(model: Model, rng: np.random.Generator) -> Model:
    """Fill the model's convolutions and linear layers with U(-b, b), b = 1 / sqrt(fan in), and return it.

    It is torch's own default distribution for these layers. Other parameters keep their values.

    >>> rng = np.random.default_rng(0)
    >>> bool(initialise(blank(nn.Linear, 4, 3), rng).weight.abs().max() <= 0.5)
    True
    """
    for layer in model.modules():
        if isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d):
            bound = 1 / math.sqrt(layer.weight[0].numel())
            for parameter in (layer.weight, layer.bias):
                if parameter is not None:
                    _fill(parameter, bound, rng)
    return model


def blank(kind: type[Model], *sizes: int, **options: int) -> Model:
    """Return a layer whose weights are yet to be set; torch's generator is left as it was."""
    with torch.random.fork_rng(devices=[]):  # torch's own skip_init imports sympy, which takes a second
        return kind(*sizes, **options)


def _fill(parameter: Tensor, bound: float, rng: np.random.Generator) -> None:
    drawn = rng.uniform(-bound, bound, size=tuple(parameter.shape))
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(drawn))
