"""A model whose parameters all live in one buffer, so that copy, step and mean are single vector operations."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ehfl.validation import UserError

Arrays = Mapping[str, NDArray[Any]]


class FlatModel:
    """A module whose parameters are views of one float32 vector."""

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self.module = module.to(device).train()
        self.parameters = list(module.parameters())
        self.weights = torch.cat([p.detach().reshape(-1) for p in self.parameters]).float()  # (n_params,)
        self._gradient = torch.empty_like(self.weights)
        # Each parameter becomes a view of the vector: torch trains the views, and the server averages the vector.
        start = 0
        for p in self.parameters:
            p.data = self.weights[start : start + p.numel()].view(p.shape)
            start += p.numel()

    def copy(self) -> FlatModel:
        """Return an independent model with the same weights."""
        return FlatModel(deepcopy(self.module), self.weights.device)

    def gradient(self, loss: Tensor) -> Tensor:
        """Return the gradient of the loss as one vector, shape (n_params,), good until the next call."""
        # autograd.grad instead of backward: it leaves no .grad that must be zeroed.
        pieces = torch.autograd.grad(loss, self.parameters)
        return torch.cat([piece.reshape(-1) for piece in pieces], out=self._gradient)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return a copy of the module's state dict, by torch's names: what a checkpoint holds."""
        return {name: value.detach().cpu().numpy().copy() for name, value in self.module.state_dict().items()}

    def load(self, state: Arrays) -> None:
        """Load what `state` returned."""
        load_state(self.module, state)  # copies values, so the parameters stay views of the vector


def load_state(module: nn.Module, state: Arrays) -> None:
    """Load the weights of a checkpoint into a module; raise an error if names or shapes differ."""
    mine = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    theirs = {name: value.shape for name, value in state.items()}
    if mine != theirs:
        name = next(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))
        shapes = f"{_shape(theirs.get(name))} there and {_shape(mine.get(name))} here"
        raise UserError(f"the weights are those of another model: {name} is {shapes}")
    module.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})


def _shape(shape: tuple[int, ...] | None) -> str:
    return "not" if shape is None else f"of shape {shape}"
