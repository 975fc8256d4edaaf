from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv2d

from ehfl.learning.tasks.cifar_layers import Convolution5x5

Results = tuple[Tensor, ...]


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def layer(channels_in: int, channels_out: int) -> Convolution5x5:
    made = Convolution5x5(channels_in, channels_out)
    with torch.no_grad():
        made.weight.copy_(drawn(channels_out, channels_in, 5, 5, seed=1) / (5 * channels_in**0.5))
        made.bias.copy_(drawn(channels_out, seed=2))  # type: ignore[union-attr]
    return made


def value_and_gradients(x: Tensor, made: Convolution5x5, *, plain: bool) -> Results:
    """The output and the gradients of x, weights and bias, by torch's own convolution or by ours."""
    x = x.clone().requires_grad_()
    out = conv2d(x, made.weight, made.bias, padding=2) if plain else made(x)
    above = drawn(*out.shape, seed=3).to(out)
    return (out.detach(), *torch.autograd.grad(out, (x, *made.parameters()), above))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("shape", [(1, 1, 1, 4), (2, 3, 5, 8), (3, 2, 16, 12), (1, 2, 2, 16)])
def test_values_and_gradients_are_torchs_in_double(shape: tuple[int, ...], layout: torch.memory_format) -> None:
    made = layer(shape[1], 3).double()
    x = drawn(*shape).double().contiguous(memory_format=layout)

    for ours, theirs in zip(*(value_and_gradients(x, made, plain=plain) for plain in (False, True)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-11)


def test_in_float32_it_rounds_no_more_than_sums_of_its_terms_do() -> None:
    """Outputs and gradients are sums of up to 64 x 25 = 1600 products, rounded by at most u = 2^-24 each.

    Roundings add up like a random walk, to sqrt(1600) u = 2.4e-6 of a result's length, whatever the order of summation
    that the processor's kernels choose. (Measured under
    `make test-processors`: at most 8e-7, as by torch's own convolution.)
    """
    made, x = layer(64, 64), drawn(4, 64, 16, 16)
    truth = value_and_gradients(x.double(), layer(64, 64).double(), plain=True)

    for ours, true in zip(value_and_gradients(x, made, plain=False), truth, strict=True):
        assert float((ours - true).norm() / true.norm()) < 1600**0.5 * 2**-24


def test_gradcheck() -> None:
    made = layer(2, 2).double()

    assert torch.autograd.gradcheck(made, (drawn(1, 2, 3, 4).double().requires_grad_(),))


def test_a_width_that_tiles_do_not_fill_is_refused() -> None:
    with pytest.raises(ValueError, match="width must be a multiple of 4, got 6"):
        layer(1, 1)(drawn(1, 1, 4, 6))
