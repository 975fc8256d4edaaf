"""Selection of the torch device, and process-wide memory and thread settings."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ehfl.validation import InvalidValue

DEVICES = ("auto", "cpu", "cuda", "mps")

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
