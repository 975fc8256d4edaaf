"""Files that are whole or absent, whenever their writer is killed."""

from __future__ import annotations

import errno
import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_PART = ".part-"


@contextmanager
def written_whole(path: Path, previous: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary file beside this path, which replaces it if the block succeeds; on an error it is deleted.

    The new content is on the disk before the old one goes, or is kept under the name `previous`: between the two
    renames there is that one, and at no instant none.
    """
    aside = path.with_name(f"{_mine(os.getpid())}{secrets.token_hex(8)}-{path.name}")
    with naming(path, instead_of=aside):
        # "x" follows no link and opens no existing file: in a shared folder another user may have put one there.
        file = aside.open("xb")
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if previous is not None and path.exists():
                path.replace(previous)
            aside.replace(path)
            _sync_folder(path.parent)
        finally:
            with suppress(OSError):
                aside.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with written_whole(path) as file:
        file.write(text.encode())  # the same line ends on every system


@contextmanager
def naming(path: Path, instead_of: Path | None = None) -> Iterator[None]:
    """Let errors of the system name this file: a full disk names none, and one beside means nothing to the user."""
    try:
        yield
    except OSError as error:
        if error.strerror and error.filename in (None, str(instead_of)):
            error.filename = str(path)
        raise


def refuse_pipe(path: Path) -> None:
    """Refuse a pipe or a device, which may never have an end."""
    if path.exists() and not path.is_file() and not path.is_dir():  # a folder is refused by the system, in its words
        raise OSError(errno.EINVAL, "It is a pipe or a device", str(path))


def sweep(folder: Path) -> None:
    """Delete what processes of this machine that are no more left half-written in a folder."""
    if os.name != "posix":  # elsewhere asking after a process can end it
        return
    for part in folder.glob(f"{_mine('')}*"):
        process = part.name.removeprefix(_mine("")).partition("-")[0]
        if process.isdecimal() and not _alive(int(process)):
            with suppress(OSError):
                part.unlink()


def _mine(process: int | str) -> str:
    """Return how the names of files begin that this machine is writing, for one of its processes or for any."""
    return f"{_PART}{platform.node()}-{process}{'-' if process else ''}"


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


def _sync_folder(folder: Path) -> None:
    """Make renames last through a power cut, where the system can (Windows cannot)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
