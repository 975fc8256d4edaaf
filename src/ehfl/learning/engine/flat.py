"""A model whose parameters all live in one buffer, so that copy, step and mean are single vector operations."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ehfl.validation import UserError

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Traits:
    """What training does to a model beside moving its parameters."""

    moving: tuple[str, ...] = ()  # buffers of real numbers that it changes: sent and averaged with the weights
    restarted: tuple[str, ...] = ()  # other buffers that it changes, such as counts: every turn starts from x_0's
    fixed: tuple[str, ...] = ()  # modules that stay in evaluation mode
    draws: bool = False  # whether it takes random numbers


class FlatModel:
    """A module whose trained parameters are views of one float32 vector; its other parameters stay as they are."""

    def __init__(self, module: nn.Module, device: torch.device, traits: Traits | None = None) -> None:
        self.module, self.traits = module.to(device).train(), traits or Traits()
        for name in self.traits.fixed:
            module.get_submodule(name).eval()
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.weights = torch.cat([p.detach().reshape(-1) for p in self.parameters]).float()  # (n_params,)
        self._gradient = torch.empty_like(self.weights)
        self._restarted = {name: module.get_buffer(name).clone() for name in self.traits.restarted}
        # Each parameter becomes a view of the vector: torch trains the views, and the server averages the vector.
        start = 0
        for p in self.parameters:
            p.data = self.weights[start : start + p.numel()].view(p.shape)
            start += p.numel()

    def copy(self) -> FlatModel:
        """Return an independent model with the same weights."""
        return FlatModel(deepcopy(self.module), self.weights.device, self.traits)

    def buffers(self) -> Tensor | None:
        """Return a copy of the buffers that training changes as one vector, (n_buffers,); None without such buffers."""
        found = [self.module.get_buffer(name).reshape(-1).float() for name in self.traits.moving]
        return torch.cat(found) if found else None

    @property
    def sent(self) -> int:
        """How many numbers a model has that is sent: trained weights, and buffers that training changes."""
        return self.weights.numel() + sum(self.module.get_buffer(name).numel() for name in self.traits.moving)

    def put(self, weights: Tensor, buffers: Tensor | None) -> None:
        """Replace weights and buffers by copies of these."""
        self.weights.copy_(weights)
        if buffers is not None:
            own = [self.module.get_buffer(name) for name in self.traits.moving]
            for one, values in zip(own, torch.split(buffers, [one.numel() for one in own]), strict=True):
                one.copy_(values.view(one.shape))
        for name, value in self._restarted.items():
            self.module.get_buffer(name).copy_(value)

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
