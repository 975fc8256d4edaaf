"""Local response normalisation across channels, as one matmul with a banded matrix and a backward by hand.

y_c = x_c d_c^(-beta),  d_c = k + alpha / size * sum of x_j^2 over the `size` channels j around c

as torch.nn.LocalResponseNorm has it (alpha is divided by size there too). With the band matrix W (alpha / size within
the window, else 0; symmetric for odd sizes), d = k + x^2 W and, for the gradient g of y,

dx = g d^(-beta) - 2 beta x ((g x d^(-beta - 1)) W)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ehfl.validation import InvalidValue


class _BandedNormalisation(torch.autograd.Function):
    """Rows of x, shape (n_rows, n_channels), each normalised along its channels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, band: Tensor, beta: float, k: float) -> Tensor:
        d = torch.addmm(x.new_full((), k), x * x, band)
        scale = _inverse_power(d, beta)
        ctx.save_for_backward(x, band, d, scale)
        ctx.beta = beta
        return x * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        x, band, d, scale = ctx.saved_tensors
        scaled = gradients[0] * scale
        spread = torch.mm((scaled * x).div_(d), band)  # the band is symmetric
        return scaled.addcmul_(x, spread, value=-2 * ctx.beta), None, None, None


def _inverse_power(d: Tensor, beta: float) -> Tensor:
    """Return d^(-beta); for beta = 3/4 from two square roots, which vectorise where powers do not."""
    if beta != 0.75:
        return d.pow(-beta)
    root = d.rsqrt()
    return root.sqrt().mul_(root)


class LocalResponseNorm(nn.Module):
    """torch.nn.LocalResponseNorm for a known number of channels and an odd window; fastest in channels_last."""

    band: Tensor

    def __init__(self, channels: int, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        if size < 1 or size % 2 == 0:
            raise InvalidValue("size", "an odd whole number >= 1", size)
        self.beta, self.k = beta, k
        index = torch.arange(channels)
        near = (index[:, None] - index[None, :]).abs() <= size // 2
        self.register_buffer("band", near.float() * (alpha / size), persistent=False)  # (n_channels, n_channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised x, shape (n_examples, n_channels, ...)."""
        last = x.movedim(1, -1)  # no copy in channels_last
        with torch.autocast(x.device.type, enabled=False):  # the backward by hand is in float32
            flat = last.reshape(-1, last.shape[-1]).to(self.band.dtype)
            rows = _BandedNormalisation.apply(flat, self.band, self.beta, self.k)  # type: ignore[no-untyped-call]
        out: Tensor = rows.view(last.shape).movedim(-1, 1)
        return out
