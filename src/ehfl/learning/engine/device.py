"""How the machine computes: the torch device, memory and threads, and the precision of a training step.

In "bf16", products of a step are in bfloat16, which some processors compute several times as fast. It has float32's
range and 8 significant bits. torch.autocast rounds the factors of matrix products and convolutions to it; their sums,
and weights, gradients, steps, losses, aggregation and evaluation stay in float32. So no loss scaling is needed, and
small steps are not lost.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ehfl.learning.tasks.examples import Batch, called, each, leaves
from ehfl.validation import InvalidValue

DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("float32", "bf16")
_SIZE = 256  # of the matrices whose product measures what bfloat16 would cost

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_KEPT = 1 << 30  # bytes


def pick_device(name: str) -> torch.device:
    """Return the device of that name; "auto" selects a GPU if the machine has one.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    # "auto" takes the first available device in this order.
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name not in DEVICES:
        raise InvalidValue("device", f"one of {', '.join(DEVICES)}", name)
    if name == "auto":
        return torch.device(next(kind for kind, there in present.items() if there))
    if not present[name]:
        raise InvalidValue("device", f"one that this machine has ({_listed(present)})", name)
    return torch.device(name)


def _listed(present: dict[str, bool]) -> str:
    return ", ".join(kind for kind, there in present.items() if there)


def keep_freed_memory() -> None:
    """Configure glibc to keep large freed blocks, which otherwise cause page faults in every training step.

    The setting applies to the whole process and cannot be undone, so only the owner of the process may call this:
    workers and the command line do, `train` does not.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # musl has none
            libc.mallopt(_M_MMAP_THRESHOLD, _KEPT)
            libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread per operation, so that sums do not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
