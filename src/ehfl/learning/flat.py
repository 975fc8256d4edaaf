"""A model whose parameters all live in one buffer, so that copy, step and mean are single vector operations."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class FlatModel:
    """A module and the one float32 vector that its parameters are views of."""

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self.module = module.to(device).train()
        self.parameters = list(module.parameters())
        self.weights = torch.cat([p.detach().reshape(-1) for p in self.parameters]).float()  # (n_params,)
        self._gradient = torch.empty_like(self.weights)
        # Each parameter becomes a view into the one vector: torch trains the parts, we copy and average the whole.
        start = 0
        for p in self.parameters:
            p.data = self.weights[start : start + p.numel()].view(p.shape)
            start += p.numel()

    def gradient(self, loss: Tensor) -> Tensor:
        """Return the gradient of the loss as one vector, shape (n_params,), good until the next call."""
        # autograd.grad, not backward: no .grad is left behind that would have to be zeroed.
        pieces = torch.autograd.grad(loss, self.parameters)
        return torch.cat([piece.reshape(-1) for piece in pieces], out=self._gradient)
