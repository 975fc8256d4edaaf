"""Where training runs, and on how many threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ehfl.validation import InvalidValue, whole_number

DEVICES = ("auto", "cpu", "cuda", "mps")


def pick_device(name: str) -> torch.device:
    """Return the device of that name; "auto" is the GPU where there is one.

    >>> pick_device("cpu")
    device(type='cpu')
    """
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


@contextmanager
def thread_limit(threads: int | None) -> Iterator[None]:
    """Hold torch to that many threads (None leaves it alone), and give it back what it had."""
    if threads is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(whole_number("threads", threads, low=1))
    try:
        yield
    finally:
        torch.set_num_threads(before)
