"""A time limit for client apps: Flower has none, and a SuperNode is blocked while its app hangs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ehfl.validation import UserError


class TookTooLong(UserError):
    """Work on a message whose answer is no longer accepted."""


@contextmanager
def ended_by(seconds: float) -> Iterator[None]:
    """Raise TookTooLong inside the block after `seconds` [s].

    It uses the system's alarm signal, which interrupts Python code and waits in the main thread, where Flower runs
    client apps. In another thread, and on Windows, there is no limit.

    >>> import time
    >>> with ended_by(0.01):
    ...     time.sleep(10)
    Traceback (most recent call last):
    ehfl.flower.node.time_limit.TookTooLong: it took more than 0.01 s: the server no longer accepts an answer
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: object) -> None:
        raise TookTooLong(f"it took more than {seconds:g} s: the server no longer accepts an answer")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
