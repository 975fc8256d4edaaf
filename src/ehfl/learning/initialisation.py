"""Initial weights from ehfl's random streams: the state of torch's global generator is neither used nor changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ehfl.randomness import Purpose, generator

if TYPE_CHECKING:
    from ehfl.learning.tasks.contract import Task

Model = TypeVar("Model", bound=nn.Module)

_FILLED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
# Layers whose initial values are fixed: values that a model sets before (a norm that starts at zero) stay.
_FIXED = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.PReLU, nn.modules.batchnorm._NormBase)


def build_model(task: Task, seed: int) -> nn.Module:
    """Return a model as the task makes it: from its rng, or by torch's own generator, both under the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(generator(seed, Purpose.INIT, client=1).integers(2**63)))
        return task.model(generator(seed, Purpose.INIT))


def initialise(model: Model, rng: np.random.Generator) -> Model:
    """Draw the weights of all layers from `rng`, as torch would from its own generator, and return the model.

    Convolutions and linear layers are U(-b, b), b = 1 / sqrt(fan in). Every other layer with parameters of its own and
    a `reset_parameters` (embeddings, LSTM, GRU, attention, user layers) is reset under a seed from `rng`. Norms, and
    parameters of modules without that method, keep their values. Set values of your own afterwards.

    >>> rng = np.random.default_rng(0)
    >>> bool(initialise(nn.Linear(4, 3), rng).weight.abs().max() <= 0.5)
    True
    """
    layers = list(model.modules())
    drawn = [pair for layer in layers if isinstance(layer, _FILLED) for pair in _uniform(layer, rng)]
    if others := [reset for layer in layers if (reset := _reset_of(layer)) is not None]:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(int(rng.integers(2**63)))
            for reset in others:
                reset()
    # Last, because the reset of a user layer may change the layers inside it.
    for parameter, values in drawn:
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(values))
    return model


def _uniform(layer: Any, rng: np.random.Generator) -> list[tuple[Tensor, NDArray[np.float64]]]:
    """Return weight and bias of a layer, each with its new values."""
    bound = 1 / math.sqrt(layer.weight[0].numel())
    parameters = [parameter for parameter in (layer.weight, layer.bias) if parameter is not None]
    return [(one, rng.uniform(-bound, bound, size=tuple(one.shape))) for one in parameters]


def _reset_of(layer: nn.Module) -> Callable[[], object] | None:
    """Return the method that draws a layer's own parameters; None if it has none or they are not random."""
    if isinstance(layer, _FILLED + _FIXED) or not any(True for _ in layer.parameters(recurse=False)):
        return None
    reset = getattr(layer, "reset_parameters", getattr(layer, "_reset_parameters", None))  # the latter of attention
    return reset if callable(reset) else None
