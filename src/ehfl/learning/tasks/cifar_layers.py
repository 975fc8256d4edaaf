"""Two layers of the paper's network that are faster than torch's: its 5x5 convolution and its normalisation.

**Convolution** with two fifths of the multiplications: Winograd's F(4, 5) along the width. Direct convolution computes
four neighbouring outputs of a row with 20 products; with eight input values transformed by B and five weights
transformed by G, 8 suffice: y = A ((G w) * (B x)). The rows of the kernel are summed directly. All transforms and
products are matmuls, and the rounding error equals that of direct convolution (tests compare both with float64).

S. Winograd, "Arithmetic complexity of computations", 1980; A. Lavin and S. Gray, CVPR 2016. The points are 0, 1, -1, 2,
-2, 1/2, -1/2 and infinity.

**Local response normalisation** across channels, as one matmul with a banded matrix and a backward by hand:

y_c = x_c d_c^(-3/4),  d_c = 1 + alpha / size * sum of x_j^2 over the `size` channels j around c

as torch.nn.LocalResponseNorm has it (alpha is divided by size there too). With the band matrix W (alpha / size within
the window, else 0; symmetric for odd sizes), d = 1 + x^2 W and, for the gradient g of y,

dx = g d^(-3/4) - 3/2 x ((g x d^(-7/4)) W)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ehfl.validation import InvalidValue

FloatArray = NDArray[np.float64]

_OUT, _TAPS, _POINTS = 4, 5, 8  # outputs of a tile, weights of a row, products of a tile
_HALO = _TAPS // 2
_AT = tuple(Fraction(p) for p in ("0", "1", "-1", "2", "-2", "1/2", "-1/2"))


def _polynomial(roots: tuple[Fraction, ...]) -> list[float]:
    """Return the coefficients of the product of (x - root), lowest power first, `_POINTS` of them."""
    found = [Fraction(1)]
    for root in roots:
        found = [low - root * high for low, high in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return [float(c) for c in found] + [0.0] * (_POINTS - len(found))


def transforms() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A, shape (4, 8), B, shape (8, 8), and G, shape (8, 5), of F(4, 5).

    >>> a, b, g = transforms()
    >>> x, w = np.arange(8.0), np.array([1.0, 0.0, 2.0, 0.0, -1.0])
    >>> (a @ ((g @ w) * (b @ x))).round(9).tolist() == np.correlate(x, w, "valid").tolist()
    True
    """
    a, b, g = np.zeros((_OUT, _POINTS)), np.zeros((_POINTS, _POINTS)), np.zeros((_POINTS, _TAPS))
    for i, point in enumerate(_AT):
        others = _AT[:i] + _AT[i + 1 :]
        scale = float(math.prod(point - other for other in others))
        a[:, i] = [float(point**power) for power in range(_OUT)]
        b[i] = _polynomial(others)
        g[i] = [float(point**power) / scale for power in range(_TAPS)]
    a[-1, -1] = g[-1, -1] = 1.0  # the point at infinity
    b[-1] = _polynomial(_AT)
    return a, b, g


@lru_cache(maxsize=8)
def _row_matrices(width: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Return A, (width, n_tiles * 8), and B, (n_tiles * 8, width), of a whole padded row, and G, (8, 5)."""
    a, b, g = transforms()
    n_tiles = width // _OUT
    forth = np.zeros((n_tiles * _POINTS, width + 2 * _HALO))
    for tile in range(n_tiles):
        forth[tile * _POINTS : (tile + 1) * _POINTS, tile * _OUT : tile * _OUT + _POINTS] = b
    inside = forth[:, _HALO : _HALO + width]  # the halo is zero, so its columns are omitted
    made = [np.kron(np.eye(n_tiles), a), np.ascontiguousarray(inside), g]
    back, forth_inside, taps = (torch.from_numpy(m).to(device, dtype) for m in made)
    return back, forth_inside, taps


class _RowWinograd(torch.autograd.Function):
    """x, (width, height, n_images, n_in) by weight, (n_out, n_in, 5, 5), to (width, height, n_images, n_out).

    With the width outermost each transform is one matmul, and a row of the kernel is a slice.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        width, height, n_images, _ = x.shape
        back, forth, taps = _row_matrices(width, x.device, x.dtype)
        v = _transformed(forth, x)
        u = torch.einsum("pk,oihk->hpio", taps, weight).repeat(1, width // _OUT, 1, 1)  # (5, n_points, n_in, n_out)
        m = x.new_empty(len(forth), height * n_images, weight.shape[0])  # n_points is n_tiles * 8
        for row in range(_TAPS):
            torch.baddbmm(m, _rows(v, row, height), u[row], beta=min(row, 1), out=m)
        ctx.save_for_backward(v, u)
        ctx.matrices = back, forth, taps
        return torch.mm(back, m.view(len(m), -1)).view(width, height, n_images, -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        v, u = ctx.saved_tensors
        back, forth, taps = ctx.matrices
        height, n_images = gradients[0].shape[1:3]
        dm = _transformed(back.t(), gradients[0].contiguous())
        inner = _rows(dm, _HALO, height)
        du, dv = torch.empty_like(u), v.new_empty(len(forth), height * n_images, v.shape[-1])
        for row in range(_TAPS):
            torch.bmm(_rows(v, row, height).transpose(1, 2), inner, out=du[row])
            mirrored = u[_TAPS - 1 - row].transpose(
                1, 2
            )  # dx is the convolution of the gradient with the flipped kernel
            torch.baddbmm(dv, _rows(dm, row, height), mirrored, beta=min(row, 1), out=dv)
        dx = torch.mm(forth.t(), dv.view(len(dv), -1)).view(-1, height, n_images, v.shape[-1])
        over_tiles = du.view(_TAPS, -1, _POINTS, *du.shape[2:]).sum(dim=1)
        return dx, torch.einsum("pk,hpio->oihk", taps, over_tiles)


def _transformed(matrix: Tensor, x: Tensor) -> Tensor:
    """Return the matrix times x along its width, with a halo of zero rows: (n_points, height + 4, n_images, ...)."""
    width, height, n_images, n_channels = x.shape
    out = x.new_empty(len(matrix), height + 2 * _HALO, n_images, n_channels)
    out[:, :_HALO].zero_()
    out[:, -_HALO:].zero_()
    inner = out.view(len(matrix), -1)[:, _HALO * n_images * n_channels :][:, : height * n_images * n_channels]
    torch.mm(matrix, x.view(width, -1), out=inner)
    return out


def _rows(points: Tensor, row: int, height: int) -> Tensor:
    """Return a view of `height` rows from `row` on, (n_points, height * n_images, n_channels)."""
    return points[:, row : row + height].view(len(points), -1, points.shape[-1])


class Convolution5x5(nn.Conv2d):
    """nn.Conv2d of 5x5 kernels with padding 2, for widths that are a multiple of 4 and many channels."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__(channels_in, channels_out, kernel_size=5, padding=2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of x, shape (n_images, n_channels, height, width); fastest in channels_last."""
        if torch.is_autocast_enabled(x.device.type):  # the transforms amplify rounding too much for bfloat16
            return super().forward(x)
        if x.shape[3] % _OUT:
            raise InvalidValue("width", f"a multiple of {_OUT}", x.shape[3])
        rows = x.permute(3, 2, 0, 1).contiguous()
        out: Tensor = _RowWinograd.apply(rows, self.weight)  # type: ignore[no-untyped-call]
        assert self.bias is not None
        return (out + self.bias).permute(2, 3, 1, 0).contiguous(memory_format=torch.channels_last)


class _BandedNormalisation(torch.autograd.Function):
    """Rows of x, shape (n_rows, n_channels), each normalised along its channels."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, band: Tensor) -> Tensor:
        d = torch.addmm(x.new_ones(()), x * x, band)
        root = d.rsqrt()
        scale = root.sqrt().mul_(root)  # d^(-3/4) from two square roots, which vectorise where powers do not
        ctx.save_for_backward(x, band, d, scale)
        return x * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        x, band, d, scale = ctx.saved_tensors
        scaled = gradients[0] * scale
        spread = torch.mm((scaled * x).div_(d), band)  # the band is symmetric
        return scaled.addcmul_(x, spread, value=-1.5), None


class LocalResponseNorm(nn.Module):
    """torch.nn.LocalResponseNorm for a known number of channels and an odd window; fastest in channels_last."""

    band: Tensor

    def __init__(self, channels: int, size: int, alpha: float) -> None:
        super().__init__()
        index = torch.arange(channels)
        near = (index[:, None] - index[None, :]).abs() <= size // 2
        self.register_buffer("band", near.float() * (alpha / size), persistent=False)  # (n_channels, n_channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised x, shape (n_examples, n_channels, ...)."""
        last = x.movedim(1, -1)  # no copy in channels_last
        with torch.autocast(x.device.type, enabled=False):  # the backward by hand is in float32
            flat = last.reshape(-1, last.shape[-1]).to(self.band.dtype)
            rows = _BandedNormalisation.apply(flat, self.band)  # type: ignore[no-untyped-call]
        out: Tensor = rows.view(last.shape).movedim(-1, 1)
        return out
