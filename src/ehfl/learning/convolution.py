"""The 5x5 convolution with two fifths of the multiplications: Winograd's F(4, 5) along the width.

Four neighbouring outputs of a row need 20 products the plain way; from eight input values, transformed by B, and five
weights, transformed by G, they need 8: y = A ((G w) * (B x)). The rows of the kernel stay plain sums. Transforms and
products all become matmuls, and the rounding error is that of the plain way (tests compare both with float64).

S. Winograd, "Arithmetic complexity of computations", 1980; A. Lavin and S. Gray, CVPR 2016. The points are 0, 1, -1, 2,
-2, 1/2, -1/2 and infinity.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_OUT, _TAPS, _POINTS = 4, 5, 8  # outputs of a tile, weights of a row, products of a tile
_HALO = _TAPS // 2
_AT = tuple(Fraction(p) for p in ("0", "1", "-1", "2", "-2", "1/2", "-1/2"))


def _polynomial(roots: tuple[Fraction, ...]) -> list[float]:
    """Return the coefficients of the product of (x - root), lowest power first, `_POINTS` of them."""
    found = [Fraction(1)]
    for root in roots:
        found = [low - root * high for low, high in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return [float(c) for c in found] + [0.0] * (_POINTS - len(found))


def transforms() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, shape (4, 8), B, shape (8, 8), and G, shape (8, 5), of F(4, 5).

    >>> a, b, g = transforms()
    >>> x, w = np.arange(8.0), np.array([1.0, 0.0, 2.0, 0.0, -1.0])
    >>> (a @ ((g @ w) * (b @ x))).round(9).tolist() == np.correlate(x, w, "valid").tolist()
    True
    """
    a, b, g = np.zeros((_OUT, _POINTS)), np.zeros((_POINTS, _POINTS)), np.zeros((_POINTS, _TAPS))
    for i, point in enumerate(_AT):
        others = _AT[:i] + _AT[i + 1 :]
        scale = float(np.prod([point - other for other in others]))
        a[:, i] = [float(point**power) for power in range(_OUT)]
        b[i] = _polynomial(others)
        g[i] = [float(point**power) / scale for power in range(_TAPS)]
    a[-1, -1] = g[-1, -1] = 1.0  # the point at infinity
    b[-1] = _polynomial(_AT)
    return a, b, g


@lru_cache(maxsize=8)
def _row_matrices(width: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Return A, (width, 8 * n_tiles), and B, (8 * n_tiles, width), of a whole padded row, and G, (8, 5).

    Points come first and tiles second, so that each point's share of a row is one block.
    """
    a, b, g = transforms()
    n_tiles = width // _OUT
    back, forth = np.zeros((width, _POINTS, n_tiles)), np.zeros((_POINTS, n_tiles, width + 2 * _HALO))
    for tile in range(n_tiles):
        back[tile * _OUT : (tile + 1) * _OUT, :, tile] = a
        forth[:, tile, tile * _OUT : tile * _OUT + _POINTS] = b
    inside = forth[:, :, _HALO : _HALO + width]  # the halo is zero, so its columns need not be there
    made = (back.reshape(width, -1), inside.reshape(-1, width), g)
    return tuple(torch.from_numpy(np.ascontiguousarray(m)).to(device, dtype) for m in made)  # type: ignore[return-value]


class _RowWinograd(torch.autograd.Function):
    """x, (height, width, n_images, n_in) by weight, (n_out, n_in, 5, 5), to (height, width, n_images, n_out)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        height, width, n_images, n_in = x.shape
        back, forth, taps = _row_matrices(width, x.device, x.dtype)
        v = _by_point(forth, x, halo=_HALO)
        u = torch.einsum("pk,oihk->hpio", taps, weight).contiguous()  # (5, 8, n_in, n_out)
        m = x.new_empty(_POINTS, height, width // _OUT * n_images, weight.shape[0])
        for row in range(_TAPS):
            torch.baddbmm(_rows(m), _rows(v[:, row : row + height]), u[row], beta=min(row, 1), out=_rows(m))
        ctx.save_for_backward(v, u)
        ctx.matrices = back, forth, taps
        return _from_points(back, m, n_images)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        v, u = ctx.saved_tensors
        back, forth, taps = ctx.matrices
        height, _, n_images, _ = gradients[0].shape
        dm = _by_point(back.t(), gradients[0].contiguous(), halo=_HALO)
        du, dv = torch.empty_like(u), v.new_empty(_POINTS, height, *v.shape[2:])
        for row in range(_TAPS):
            mirrored = _TAPS - 1 - row  # dx is a convolution of the gradient with the kernel upside down
            torch.bmm(_rows(v[:, row : row + height]).transpose(1, 2), _rows(dm[:, _HALO:-_HALO]), out=du[row])
            above = _rows(dm[:, row : row + height])
            torch.baddbmm(_rows(dv), above, u[mirrored].transpose(1, 2), beta=min(row, 1), out=_rows(dv))
        return _from_points(forth.t(), dv, n_images), torch.einsum("pk,hpio->oihk", taps, du)


def _by_point(matrix: Tensor, x: Tensor, halo: int = 0) -> Tensor:
    """Return x, (height, width, ...), with its width transformed: (8, height + 2 halo, n_tiles * n_images, ...)."""
    height, width, n_images, channels = x.shape
    flat = x.view(height, width, -1)
    out = x.new_empty(_POINTS, height + 2 * halo, matrix.shape[0] // _POINTS * n_images, channels)
    for point, block in zip(out, matrix.chunk(_POINTS), strict=True):
        point[:halo].zero_()
        point[halo + height :].zero_()
        inner = point[halo : halo + height].view(height, len(block), -1)
        torch.bmm(block.expand(height, -1, -1), flat, out=inner)
    return out


def _from_points(matrix: Tensor, m: Tensor, n_images: int) -> Tensor:
    """Return (height, width, n_images, n_channels) from m, (8, height, n_tiles * n_images, n_channels)."""
    height, channels = m.shape[1], m.shape[3]
    gathered = m.transpose(0, 1).reshape(height, matrix.shape[1], -1)
    return torch.matmul(matrix, gathered).view(height, -1, n_images, channels)


def _rows(points: Tensor) -> Tensor:
    """Return a view of (8, height, n_tiles * n_images, n_channels) as (8, all tiles, n_channels)."""
    return points.view(_POINTS, -1, points.shape[-1])


class Convolution5x5(nn.Conv2d):
    """nn.Conv2d of 5x5 kernels with padding 2, for widths that are a multiple of 4 and many channels."""

    def __init__(self, channels_in: int, channels_out: int, device: torch.device | str | None = None) -> None:
        super().__init__(channels_in, channels_out, kernel_size=5, padding=2, device=device)

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of x, shape (n_images, n_channels, height, width); fastest in channels_last."""
        rows = x.permute(2, 3, 0, 1).contiguous()  # height first: a kernel row is then a slice
        out: Tensor = _RowWinograd.apply(rows, self.weight)  # type: ignore[no-untyped-call]
        assert self.bias is not None
        return (out + self.bias).permute(2, 3, 0, 1)
