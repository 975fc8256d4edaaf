"""Folders that one process at a time works in."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ehfl.files.whole import sweep
from ehfl.validation import UserError

if sys.platform != "win32":
    import fcntl

_POLL_SECONDS = 0.05

Release = Callable[[], None]


class InUse(UserError):
    """A folder in which another process is at work."""


@contextmanager
def sole_use(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Keep other processes out of a folder, which must exist; raise InUse if one is in it for longer than that [s].

    The system lets go of the lock when its process ends, however it ends. What a killed process left half-written in
    the folder is deleted.
    """
    deadline = time.monotonic() + patience
    while (release := _lock(folder)) is None:
        if time.monotonic() >= deadline:
            raise InUse(f"{folder} is in use by another process; wait for it, or stop it")
        time.sleep(_POLL_SECONDS)
    try:
        sweep(folder)
        yield
    finally:
        release()


def _lock(folder: Path) -> Release | None:
    """Lock the folder itself, since a file in it could be deleted by hand, and return how to let go of it.

    None while somebody else has it.
    """
    if sys.platform == "win32":
        return _lock_by_file(folder)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # file systems of a network, such as NFS, lock files alone
        os.close(handle)
        return _lock_by_file(folder)
    return lambda: os.close(handle)


def _lock_by_file(folder: Path) -> Release | None:
    from filelock import FileLock, Timeout

    lock = FileLock(folder.resolve() / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock.release
