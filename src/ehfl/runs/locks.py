"""Locks on folders, so that one process at a time works in each."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ehfl.files import sweep
from ehfl.validation import UserError

if sys.platform != "win32":
    import fcntl

_POLL_SECONDS = 0.05

Release = Callable[[], None]


class InUse(UserError):
    """Another process holds the lock of the folder."""


@contextmanager
def sole_use(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Lock a folder, which must exist; raise InUse if another process holds its lock for longer than `patience` [s].

    The system releases the lock when the process ends. Temporary files of killed processes are deleted.
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
    """Return a function that releases the lock, None while another process holds it.

    The folder itself is locked, since a lock file in it could be deleted by hand.
    """
    if sys.platform == "win32":
        return _lock_by_file(folder)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # network file systems, such as NFS, lock only files
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
