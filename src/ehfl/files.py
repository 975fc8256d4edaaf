"""Files that are whole or absent, files of numbers, and folders that one process at a time works in."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehfl.validation import InvalidValue, UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
        # OSError from a full disk has no filename, and the file beside means nothing to the user
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
    return json.dumps(finite(facts), indent=indent, allow_nan=False)


def finite(facts: Any, instead: object = None) -> Any:
    """Return facts with something else in the place of numbers that are not finite."""
    if isinstance(facts, dict):
        return {name: finite(value, instead) for name, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [finite(value, instead) for value in facts]
    return instead if isinstance(facts, float) and not math.isfinite(facts) else facts


@contextmanager
def sole_use(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Keep other processes out of a folder, which must exist; raise InUse if one is in it for longer than that [s].

    The system lets go of the lock when its process ends, however it ends.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder.resolve() / ".lock")
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        raise InUse(f"{folder} is in use by another process; wait for it, or stop it") from None
    try:
        yield
    finally:
        lock.release()


def read_numbers(name: str, path: Path, *, flat: bool = False) -> NDArray[np.generic]:
    """Return the numbers in a file: an array of .npy, or the rows of a text, separated by commas or white space.

    A first line of words is a heading, what follows # a comment. `flat` joins rows, which may then differ in length.
    Errors name the argument that the path was given for.
    """
    import numpy as np

    allowed = "a readable file of numbers, .npy or text"
    try:
        if path.suffix == ".npy":
            with path.open("rb") as file:
                found: NDArray[np.generic] = np.lib.format.read_array(file, allow_pickle=False)
            return found.reshape(-1) if flat else found
        rows = _rows(path.read_text(encoding="utf-8-sig"))
        if not flat and len({len(row) for row in rows}) > 1:
            raise ValueError("rows of different lengths")
        return np.array([number for row in rows for number in row] if flat else rows)
    except OSError as error:
        raise InvalidValue(name, allowed, f"{path} ({error.strerror or error})") from None
    except (ValueError, EOFError) as error:
        raise InvalidValue(name, allowed, f"{path} ({error})") from None


def _rows(text: str) -> list[list[float]]:
    """Return the numbers of each line that has any."""
    bare = [line.partition("#")[0].strip() for line in text.splitlines()]
    lines = [[cell.strip() for cell in line.split(",")] if "," in line else line.split() for line in bare if line]
    if len(lines) > 1 and not _is_number(lines[0][0]):
        lines = lines[1:]
    if not lines:
        raise ValueError("no numbers")
    return [[float(word) for word in line] for line in lines]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
