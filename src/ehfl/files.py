"""Files that are whole or absent, and folders that one process at a time works in."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ehfl.validation import UserError


class InUse(UserError):
    """A folder in which another process is at work."""


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a path beside this one to write to, which takes its place when all went well; else nothing is left.

    The new content is on the disk before the old one goes. The suffix is kept: some writers choose the format by it.
    """
    aside = path.with_name(f".part-{os.getpid()}-{path.name}")
    try:
        yield aside
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        # a full disk names no file, and nobody knows the one beside
        if error.strerror and error.filename in (None, str(aside)):
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            aside.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with written_whole(path) as aside:
        aside.write_text(text, encoding="utf-8")


def json_text(facts: Any, indent: int | None = None) -> str:
    """Return facts as JSON, which knows neither infinity nor NaN: they become null.

    >>> json_text({"slowdown": [1.5, float("inf")]})
    '{"slowdown": [1.5, null]}'
    """
    return json.dumps(_finite(facts), indent=indent, allow_nan=False)


def _finite(facts: Any) -> Any:
    if isinstance(facts, dict):
        return {name: _finite(value) for name, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [_finite(value) for value in facts]
    return None if isinstance(facts, float) and not math.isfinite(facts) else facts


@contextmanager
def sole_use(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Keep other processes out of a folder, which must exist; raise InUse if one is in it for longer than that [s].

    The system lets go of the lock when its process ends, however it ends.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder.resolve() / ".lock", is_singleton=True)  # a process may enter twice
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        raise InUse(f"{folder} is in use by another process; wait for it, or stop it") from None
    try:
        yield
    finally:
        lock.release()
