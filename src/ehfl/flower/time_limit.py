"""An end to work that takes too long: Flower ends no client app, and a SuperNode does nothing else while one hangs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ehfl.validation import UserError


class TookTooLong(UserError):
    """Work on a message that nobody takes an answer to any more."""


@contextmanager
def ended_by(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in the middle of the work once it has taken so long [s].

    That is done by the system's alarm clock, so it ends what Python does or waits for, in the main thread, which is
    where Flower runs a client app. In another thread, and on Windows, there is no limit.

    >>> import time
    >>> with ended_by(0.01):
    ...     time.sleep(10)
    Traceback (most recent call last):
    ehfl.flower.time_limit.TookTooLong: it took more than 0.01 s, and nobody takes an answer any more
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def end(*_: object) -> None:
        raise TookTooLong(f"it took more than {seconds:g} s, and nobody takes an answer any more")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
