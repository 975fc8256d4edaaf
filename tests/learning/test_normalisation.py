from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ehfl.learning.tasks.cifar_layers import LocalResponseNorm

LAYOUTS = [torch.contiguous_format, torch.channels_last]


def images(*shape: int, scale: float = 1.0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7)) * scale


def both(x: Tensor, size: int, alpha: float) -> list[tuple[Tensor, Tensor]]:
    """Values and gradients of ours and torch's, for the same gradient from above."""
    above = images(*x.shape).to(x)
    found = []
    ours = LocalResponseNorm(x.shape[1], size, alpha).to(x.dtype)
    for layer in (ours, nn.LocalResponseNorm(size, alpha, beta=0.75, k=1.0)):
        leaf = x.clone().requires_grad_()
        value = layer(leaf)
        value.backward(above)
        assert leaf.grad is not None
        found.append((value.detach(), leaf.grad))
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scale", [0.1, 1.0, 100.0])
def test_the_papers_setting_agrees_with_torch_to_float32_rounding(layout: torch.memory_format, scale: float) -> None:
    x = images(3, 64, 5, 4, scale=scale).contiguous(memory_format=layout)

    (value, slope), (their_value, their_slope) = both(x, size=9, alpha=0.001)

    torch.testing.assert_close(value, their_value, rtol=2e-6, atol=1e-7 * scale)
    torch.testing.assert_close(slope, their_slope, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("channels", "size"), [(1, 1), (3, 9), (12, 5)])
def test_other_settings_agree_with_torch_in_double(channels: int, size: int) -> None:
    x = images(2, channels, 3, 2).double()

    (value, slope), (their_value, their_slope) = both(x, size, alpha=0.7)

    torch.testing.assert_close(value, their_value, rtol=1e-7, atol=1e-9)  # the band is made of float32
    torch.testing.assert_close(slope, their_slope, rtol=1e-7, atol=1e-8)


def test_the_gradient_by_hand_passes_gradcheck() -> None:
    layer = LocalResponseNorm(7, size=3, alpha=0.9).double()

    assert torch.autograd.gradcheck(layer, (images(2, 7, 2, 3).double().requires_grad_(),))


def test_one_channel_is_worked_by_hand() -> None:
    layer = LocalResponseNorm(1, size=3, alpha=3.0)

    # d = 1 + 3 / 3 * 15 = 16, and 16^(-3/4) = 1/8
    assert layer(torch.full((1, 1, 1, 1), 15.0**0.5)).item() == pytest.approx(15**0.5 / 8)
