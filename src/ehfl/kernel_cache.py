"""Where compiled kernels are kept between processes: numba's own cache, in a folder named by what kernels depend on.

Numba asks whether a kernel's own file has changed. Kernels depend on more (the streams, other kernels, NumPy), and must
not outlive a change in any of it, after a `git pull` say, so all of it names the folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import FunctionCache
from numba.misc.appdirs import AppDirs

from ehfl.files import fingerprint


class _Cache(FunctionCache):  # type: ignore[misc]  # numba has no types
    """Numba's cache, in which damage and a full disk cost the time to compile, and no more."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a damaged file raises whatever unpickling it comes to
            self._forget()
            return None
        # Two processes that compile for different types at the same time may have written over each other's file.
        return found if found is not None and tuple(found.signature.args) == tuple(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            self._forget()

    def _forget(self) -> None:
        Path(self._cache_file._index_path).unlink(missing_ok=True)


def keep(dispatcher: Any) -> Any:
    """Let a kernel be kept on disk, where there is a folder for it."""
    folder = kernel_folder()
    if folder is not None:
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)  # which numba's cache looks up when it is made
        try:
            dispatcher._cache = _Cache(dispatcher.py_func)
        finally:
            config.CACHE_DIR = before
    return dispatcher


@cache
def kernel_folder() -> Path | None:
    """Return the folder of these very kernels, None where none can be written."""
    given = os.environ.get("NUMBA_CACHE_DIR") or AppDirs("ehfl", appauthor=False).user_cache_dir
    try:
        folder = Path(given) / f"kernels-{fingerprint(b''.join(_ingredients()))}"
        if not folder.is_absolute():  # no home
            return None
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return None
    return folder


def _ingredients() -> Iterator[bytes]:
    package = Path(__file__).parent
    yield from (path.read_bytes() for path in (package / "compiled.py", package / "randomness.py"))
    yield from (path.read_bytes() for path in sorted(package.rglob("kernels.py")))
    yield sys.version.encode()
    yield from (version(library).encode() for library in ("numba", "numpy", "llvmlite"))
