"""Where compiled kernels are kept between processes: a folder of the user's own, named by what kernels are made of.

Numba's own cache looks at a kernel's file alone, so that kernels outlive a change in what they are built on; it raises
on a damaged file and on a disk without room, and it may load another user's. Here a kernel is kept in one file for each
set of argument types, whole or absent, under its digest. Whatever cannot be read is compiled again, and where nothing
can be written every process compiles for itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numba.core.compiler import CompileResult
from numba.core.serialize import dumps, loads

from ehfl import randomness
from ehfl.files import fingerprint, written_whole

_DIGEST_BYTES = hashlib.sha256().digest_size


class KernelCache:
    """The compiled forms of one kernel; has the methods that numba's dispatchers call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"

    @property
    def cache_path(self) -> str:
        """Where it lies, for numba's statistics."""
        return str(kernel_folder())

    def load_overload(self, types: object, target: Any) -> Any:
        """Return the kernel compiled for these types, None where there is none that can be used."""
        target.refresh()
        path = self._path(types, target.codegen())
        try:
            return None if path is None else CompileResult._rebuild(target, *loads(_read(path)))
        except Exception:  # absent, damaged, not ours: it is compiled anew and takes this one's place
            return None

    def save_overload(self, types: object, compiled: Any) -> None:
        """Keep what was compiled for these types, if there is room for it."""
        path = self._path(types, compiled.codegen)
        if path is None or compiled.library.has_dynamic_globals:  # addresses mean nothing to another process
            return
        content = dumps(compiled._reduce())
        with suppress(OSError), written_whole(path) as file:  # a full disk costs the next process its time, no more
            file.write(hashlib.sha256(content).digest() + content)

    def _path(self, types: object, codegen: Any) -> Path | None:
        folder = kernel_folder()
        made_for = f"{types} {codegen.magic_tuple()}"  # the processor and its features
        name = re.sub(r"[^\w.]", "", self._name)
        return None if folder is None else folder / f"{name}-{fingerprint(made_for.encode())}.kernel"


def _read(path: Path) -> bytes:
    """Return what a file of ours holds; it is executed, so nobody else's is taken and none that is damaged."""
    with path.open("rb") as file:
        if not _is_owned(os.fstat(file.fileno())):
            raise PermissionError(f"{path} is another user's")
        digest, content = file.read(_DIGEST_BYTES), file.read()
    if hashlib.sha256(content).digest() != digest:
        raise ValueError(f"{path} is damaged")
    return content


@cache
def kernel_folder() -> Path | None:
    """Return the folder for these very kernels, which nobody else may write to; None where there can be none."""
    try:
        name = f"kernels-{fingerprint(b''.join(_ingredients()))}"
    except OSError:  # sources that are no files, as in a zip
        return None
    return next((place / name for place in _places() if _is_usable(place / name)), None)


def _ingredients() -> Iterator[bytes]:
    """Yield all that a kernel's machine code depends on, but for the processor."""
    package = Path(__file__).parent
    yield from (path.read_bytes() for path in (package / "compiled.py", package / "randomness.py"))
    yield from (path.read_bytes() for path in sorted(package.rglob("kernels.py")))
    # As it is in memory: a process that imported it before the file changed must not spoil the cache of the new one.
    code, names = randomness.philox.__code__, vars(randomness)
    yield repr((code.co_code, code.co_consts, [names.get(name) for name in code.co_names])).encode()
    yield repr((randomness.LANES, randomness.TILE, sys.version)).encode()
    yield from (version(library).encode() for library in ("numba", "numpy", "llvmlite"))


def _places() -> Iterator[Path]:
    """Yield the folders that may hold kernels, the best first."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(given).absolute()
    with suppress(RuntimeError):  # no home, and the user database does not know one
        yield _user_cache() / "ehfl"
    with suppress(OSError):  # no folder for temporary files
        temporary = Path(tempfile.gettempdir())
        if temporary != Path.cwd():  # Python's last resort, and no place for us
            yield temporary / f"ehfl-{_user()}"


def _user_cache() -> Path:
    """Return where this system keeps what programs could make again."""
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".cache"


def _is_usable(folder: Path) -> bool:
    """Return whether the folder is there, or can be made, and is ours alone to write to."""
    if not folder.is_absolute():
        return False
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()  # a link could lead anywhere
        if not (stat.S_ISDIR(found.st_mode) and _is_owned(found)) or (os.name != "nt" and found.st_mode & 0o022):
            return False
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _is_owned(found: os.stat_result) -> bool:
    return os.name == "nt" or found.st_uid == _user()  # a profile of Windows is its user's alone


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0
