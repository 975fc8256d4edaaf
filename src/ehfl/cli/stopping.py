"""Told to stop by the signal with which systems and clusters end what takes too long."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def terminated_like_interrupted() -> Iterator[list[int]]:
    """While entered, let SIGTERM end the work as Ctrl-C does: workers are stopped, the user is told how to go on.

    Gives a list that the signal is put into when it comes.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # Python gives signals to that one alone
        yield received
        return

    def stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)
