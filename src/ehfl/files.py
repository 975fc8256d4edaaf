"""Files: written atomically; facts as JSON with digests; arrays of numbers."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PART = ".part-"
_SEAL = "# sha256 of the lines above: "
_EDITED = "it was edited after ehfl wrote it: checksum mismatch"


@contextmanager
def written_whole(path: Path, previous: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary file beside this path, which replaces it if the block succeeds; on an error it is deleted.

    With `previous` the old content is kept under that name. At every instant one of the two files is whole.
    """
    aside = path.with_name(f"{_mine(os.getpid())}{secrets.token_hex(8)}-{path.name}")
    with naming(path, instead_of=aside):
        # "x" neither follows a link nor opens an existing file that another user put into a shared folder.
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
        file.write(text.encode())  # in bytes, so that line ends are the same on every system


@contextmanager
def naming(path: Path, instead_of: Path | None = None) -> Iterator[None]:
    """Name this file in OSErrors: a full disk names no file, and the user does not know the temporary one."""
    try:
        yield
    except OSError as error:
        if error.strerror and error.filename in (None, str(instead_of)):
            error.filename = str(path)
        raise


def sweep(folder: Path) -> None:
    """Delete the temporary files in a folder that processes of this machine left when they were killed."""
    if os.name != "posix":  # on Windows os.kill(process, 0) ends the process
        return
    for part in folder.glob(f"{_mine('')}*"):
        process = part.name.removeprefix(_mine("")).partition("-")[0]
        if process.isdecimal() and not is_alive(int(process)):
            with suppress(OSError):
                part.unlink()


def _mine(process: int | str) -> str:
    """Return the prefix of this machine's temporary files, of one process or of all."""
    return f"{_PART}{platform.node()}-{process}{'-' if process else ''}"


def is_alive(process: int) -> bool:
    """Return whether a process of this machine may still run."""
    if os.name != "posix":  # on Windows os.kill(process, 0) ends it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        pass
    return True


def _sync_folder(folder: Path) -> None:
    """Make renames survive a power cut (Windows cannot)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def json_text(facts: Any, indent: int | None = None) -> str:
    """Return facts as JSON; infinity and NaN become null.

    >>> json_text({"slowdown": [1.5, float("inf")]})
    '{"slowdown": [1.5, null]}'
    """
    return json.dumps(finite(facts), indent=indent, allow_nan=False)


def finite(facts: Any, instead: object = None) -> Any:
    """Return facts with infinities and NaN replaced."""
    if isinstance(facts, dict):
        return {name: finite(value, instead) for name, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [finite(value, instead) for value in facts]
    return instead if isinstance(facts, float) and not math.isfinite(facts) else facts


def parse_json(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object, or raise ValueError for anything else.

    >>> parse_json('{"loss": 0.5}')
    {'loss': 0.5}
    """
    facts = json.loads(text)
    if not isinstance(facts, dict):
        raise ValueError("it is not a JSON object")
    return facts


def digest_of_text(text: str | bytes) -> str:
    """Return the sha256 of a string, in hexadecimal digits."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def fingerprint(data: bytes) -> str:
    """Return a short digest of the data."""
    return digest_of_text(data)[:16]


def digest_of_file(path: Path) -> str:
    """Return the sha256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_digest(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts with their own sha256, which `check_digest` compares."""
    return facts | {"sha256": digest_of_text(json.dumps(facts, sort_keys=True))}


def check_digest(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts without their sha256, or raise ValueError if they were changed.

    >>> check_digest(with_digest({"round": 3}) | {"round": 4})
    Traceback (most recent call last):
    ValueError: it was edited after ehfl wrote it: checksum mismatch
    """
    plain = {name: value for name, value in facts.items() if name != "sha256"}
    if with_digest(plain) != facts:
        raise ValueError(_EDITED)
    return plain


def sealed(text: str) -> str:
    r"""Return lines of TOML with a last one added, a comment with their digest.

    >>> check_seal(sealed("rounds = 20\n"))
    'rounds = 20\n'
    >>> check_seal(sealed("rounds = 20\n").replace("20", "30"))
    Traceback (most recent call last):
    ValueError: it was edited after ehfl wrote it: checksum mismatch
    """
    return f"{text}{_SEAL}{digest_of_text(text)}\n"


def check_seal(text: str) -> str:
    """Return the sealed lines, or raise ValueError if they were changed."""
    lines, seal, digest = text.rpartition(_SEAL)
    if not seal:
        raise ValueError(f"it is cut off, or not of this version of ehfl: its last line is not {_SEAL.strip(' :')}")
    if digest != f"{digest_of_text(lines)}\n":
        raise ValueError(_EDITED)
    return lines


def read_numbers(name: str, path: Path, *, flat: bool = False) -> NDArray[np.generic]:
    """Return the numbers in a .npy file, or in the rows of a text file, separated by commas or white space.

    A first line of words is a heading, what follows # a comment. `flat` joins rows, which may then differ in length.
    `name` is the argument that errors name.
    """
    import numpy as np

    allowed = "a readable file of numbers, .npy or text"
    try:
        if path.suffix == ".npy":
            with path.open("rb") as file:
                found = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
            return found.reshape(-1) if flat else found
        rows = _rows(path.read_text(encoding="utf-8-sig"))
        if not flat and len({len(row) for row in rows}) > 1:
            raise ValueError("rows of different lengths")
        return np.array([number for row in rows for number in row] if flat else rows)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidValue(name, allowed, f"{path} ({getattr(error, 'strerror', None) or error})") from None


def _rows(text: str) -> list[list[float]]:
    """Return the numbers of each line that has any."""
    bare = [line.partition("#")[0].strip() for line in text.splitlines()]
    lines = [[cell.strip() for cell in line.split(",")] if "," in line else line.split() for line in bare if line]
    if len(lines) > 1:
        try:
            float(lines[0][0])
        except ValueError:
            del lines[0]  # a heading
    if not lines:
        raise ValueError("no numbers")
    return [[float(word) for word in line] for line in lines]
