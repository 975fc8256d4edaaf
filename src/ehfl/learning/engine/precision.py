"""Mixed precision: products of a training step in bfloat16, which some processors compute several times as fast.

bfloat16 has float32's range and 8 significant bits. torch.autocast rounds the factors of matrix products and
convolutions to it; their sums, and weights, gradients, steps, losses, aggregation and evaluation stay in float32. So no
loss scaling is needed, and small steps are not lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ehfl.learning.tasks.examples import Batch, called, each, leaves
from ehfl.validation import InvalidValue

PRECISIONS = ("float32", "bf16")
_SIZE = 256  # of the matrices whose product measures what bfloat16 would cost


def forward(module: Callable[..., Any], inputs: Batch, precision: str) -> Any:
    """Return the module's outputs, float32 in any precision."""
    if precision == "float32":
        return called(module, inputs)
    # Without torch's cache of rounded weights: threads share it and clear it for each other, so sums of gradients of a
    # layer that is used twice would depend on timing.
    with torch.autocast(leaves(inputs)[0].device.type, torch.bfloat16, cache_enabled=False):
        return each(_as_float32, called(module, inputs))


def _as_float32(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value


def check_precision(precision: str, device: torch.device) -> None:
    """Raise an error if the device has no instructions for this precision; it names the time that bf16 would take."""
    if precision == "float32" or _is_fast(device):
        return
    allowed = f"float32 on this machine's {device.type}, which has no instructions for bfloat16"
    if device.type == "cpu":
        slower = _product_time(torch.bfloat16) / _product_time(torch.float32)
        allowed += f" (a product of matrices would take {slower:.1f} times as long as in float32)"
    raise InvalidValue("precision", allowed, precision)


def _is_fast(device: torch.device) -> bool:
    """Return whether the device multiplies bfloat16 faster than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu" or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def _product_time(dtype: torch.dtype) -> float:
    """Return the shortest of three times of a product of square matrices [s]."""
    a, took = torch.ones(_SIZE, _SIZE, dtype=dtype), []
    for _ in range(3):
        start = time.perf_counter()
        torch.mm(a, a)
        took.append(time.perf_counter() - start)
    return min(took)
