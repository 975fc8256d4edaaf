"""Bounded waits for what other processes do, and which of those still run."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable

import psutil

Start = Callable[..., subprocess.Popen[str]]  # of the fixture `start_process`


def wait_for(found: Callable[[], object], seconds: float, what: str) -> None:
    """Look until something is so, for a bounded time."""
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.05)


def still_running(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return which of them have not ended; one that waits to be buried has."""
    return [one for one in processes if _runs(one)]


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:  # it ended between the two questions
        return False
