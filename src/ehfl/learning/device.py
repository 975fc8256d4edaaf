"""Where training runs, and on how many threads."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ehfl.validation import InvalidValue, whole_number

DEVICES = ("auto", "cpu", "cuda", "mps")
MOST_THREADS = 1024  # more than any machine has use for, and than torch can be asked for
SMALL_MODEL = 100_000  # parameters

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_KEPT = 1 << 30  # bytes


def pick_device(name: str) -> torch.device:
    """Return the device of that name; "auto" is the GPU where there is one.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    # In this order "auto" takes the first that is there.
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
    """Tell glibc not to hand large freed blocks back to the system, where every step would fault them in again.

    It holds for the whole process and cannot be taken back, so it is for whoever owns the process to call: workers and
    the command line do, `train` does not.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):  # musl has none
            libc.mallopt(_M_MMAP_THRESHOLD, _KEPT)
            libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)


def pick_threads(threads: int | None, n_parameters: int, most: int | None = None) -> int:
    """Return the number of threads asked for; without a wish, the most there are, and one for a small model.

    The most there are is torch's own number unless given. Threads that meet after every small operation cost more than
    they give, and much more on a busy machine.

    >>> pick_threads(None, n_parameters=6090), pick_threads(None, n_parameters=10**6, most=3)
    (1, 3)
    """
    if threads is not None:
        return whole_number("threads", threads, low=1, high=MOST_THREADS)
    return 1 if n_parameters < SMALL_MODEL else most or torch.get_num_threads()


@contextmanager
def thread_limit(threads: int) -> Iterator[None]:
    """Hold torch to that many threads, and give it back what it had."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
