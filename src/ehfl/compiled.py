"""What numba compiles for every room: the kernel decorators and the streams of `ehfl.randomness` in scalar form.

Only the `kernels.py` of a room imports this, and only fleets of more than one tile reach those, so small fleets never
wait for numba. Parallel kernels work tile by tile and what they compute for a client depends on that client alone:
results are the same for any number of threads. Kernels are kept on disk, one for each set of argument types: `frozen`
gives all of them arrays of one kind, so that each is compiled once. Numba asks whether a kernel's own file has changed;
kernels depend on more (the streams, other kernels, NumPy), so a hash of all of it names the folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from ehfl import randomness
from ehfl.extras import check_extra

try:
    import numba
    from numba.core.caching import FunctionCache
    from numba.misc.appdirs import AppDirs
except ImportError:
    check_extra("fast")
    raise

from ehfl.files import fingerprint
from ehfl.randomness import LANES
from ehfl.validation import whole_number

if sys.byteorder != "little":
    raise ImportError("ehfl's kernels read words in halves and need a little-endian machine")

_Function = Callable[..., Any]

_UPPER, _LOWER = np.uint64(0), np.uint64(1)
_philox = numba.njit(inline="always")(randomness.philox)
_one_at_a_time = threading.RLock()  # numba's fallback threading layer must not be entered by two threads at once


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


def _kept(dispatcher: Any) -> Any:
    """Let a kernel be kept on disk, where there is a folder for it."""
    folder = kernel_folder()
    if folder is not None:
        before, numba.config.CACHE_DIR = (
            numba.config.CACHE_DIR,
            str(folder),
        )  # which numba's cache looks up when it is made
        try:
            dispatcher._cache = _Cache(dispatcher.py_func)
        finally:
            numba.config.CACHE_DIR = before
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


def kernel(function: _Function) -> _Function:
    """Compile on first use for the argument types met, for one thread; kept on disk."""
    return cast(_Function, _kept(numba.njit(function)))


def parallel_kernel(function: _Function) -> _Function:
    """Compile on first use for the argument types met, `prange` spread over threads; kept on disk."""
    return cast(_Function, _kept(numba.njit(parallel=True)(function)))


def kernels_are_cached(name: str = "scheduling.kernels.longest") -> bool:
    """Return whether compiled kernels are on disk already, judged by their files' names.

    `name` is the kernel that is compiled last.
    """
    folder = kernel_folder()
    room, _, kernel = name.partition(".")
    return folder is not None and any(folder.glob(f"{room}_*/{kernel}-*.nbi"))


class ThreadLimit:
    """While entered, parallel kernels run on this many threads; None is every core that numba was given."""

    def __init__(self, threads: int | None) -> None:
        most = numba.config.NUMBA_NUM_THREADS
        self._threads = most if threads is None else whole_number("threads", threads, low=1, high=most)

    def __enter__(self) -> None:
        _one_at_a_time.acquire()
        self._before = numba.get_num_threads()
        numba.set_num_threads(self._threads)

    def __exit__(self, *_: object) -> None:
        numba.set_num_threads(self._before)
        _one_at_a_time.release()


@kernel
def fill_upper(out, tile, stream):
    """Write the upper halves of `randomness.words` for the clients of one tile; out is uint16 of shape (TILE,)."""
    _fill(out, tile, stream, _UPPER)


@kernel
def fill_lower(out, tile, stream):
    """Write the lower halves of `randomness.words` for the clients of one tile; out is uint16 of shape (TILE,)."""
    _fill(out, tile, stream, _LOWER)


@numba.njit(inline="always")
def _fill(out, tile, stream, half):
    pairs = out.view(np.uint32)  # little-endian: the even client is the low half
    purpose, round_, k0, k1 = stream
    base = np.uint64(tile) * np.uint64(LANES)
    for lane in range(LANES):
        block = base + np.uint64(lane)
        w0, w1, w2, w3 = _philox(block, purpose, round_, half, k0, k1)
        pairs[lane] = np.uint32(w0)
        pairs[LANES + lane] = np.uint32(w1)
        pairs[2 * LANES + lane] = np.uint32(w2)
        pairs[3 * LANES + lane] = np.uint32(w3)


@kernel
def lower_half(client, stream):
    """Return the lower half of `randomness.words` for one client."""
    purpose, round_, k0, k1 = stream
    group, lane = divmod(client // 2, LANES)
    block = np.uint64(group // 4 * LANES + lane)
    words = _philox(block, purpose, round_, _LOWER, k0, k1)
    return np.uint32(words[group % 4] >> np.uint64(client % 2 * 16)) & np.uint32(0xFFFF)
