"""Calls in worker processes, here or on a cluster: one that kills its worker costs no other its result."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool, TerminatedWorkerError

from ehfl import user_code
from ehfl.validation import UserError

Result = TypeVar("Result")

_IDLE_SECONDS = 300  # how long workers wait for the next comparison
_SAFE_PATH = "PYTHONSAFEPATH"  # keeps Python from looking for its modules in the current folder first
_PARENT_POLL_SECONDS = 0.2
_THREADS_OF_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(slots=True)
class Calls(Generic[Result]):
    """Calls and their results, by number."""

    calls: Sequence[Callable[[], Result]]
    waiting: deque[int]
    on_done: Callable[[int], None] | None = None  # called with the number of each call that has returned
    results: dict[int, Result] = field(default_factory=dict)

    def end(self, number: int, result: Result) -> None:
        """Keep what a call has returned."""
        self.results[number] = result
        if self.on_done is not None:
            self.on_done(number)


class Crew(Protocol):
    """Workers that make calls."""

    def work(self, calls: Calls[Result], workers: int) -> list[int]:
        """Make the calls that wait, `workers` at a time, until the last, or until a worker dies.

        Returns the calls whose workers may have died of them; they have no result.
        """
        ...


def call_all(
    calls: Sequence[Callable[[], Result]], workers: int, crew: Crew | None, on_done: Callable[[int], None] | None = None
) -> list[Result | None]:
    """Return the result of each call, in order; None for a call that kills its worker even if it runs alone.

    Without a crew the calls run in this process. If a worker dies, all running calls are suspects: they run once more,
    after all others and one at a time. The others go on with half the workers, in case memory was short.
    """
    if crew is None:
        return [call() for call in calls]
    kept = Calls(calls, deque(range(len(calls))), on_done)
    suspects: list[int] = []
    while kept.waiting:
        suspects += crew.work(kept, workers)
        workers = max(1, workers // 2)
    for suspect in suspects:
        kept.waiting.append(suspect)
        crew.work(kept, 1)
    return [kept.results.get(number) for number in range(len(calls))]


@contextmanager
def _away_from_current_folder() -> Iterator[None]:
    """Keep Python processes started inside from importing standard modules from the current folder."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]
        if before is not None:
            os.environ[_SAFE_PATH] = before


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes of this machine."""

    beginning: Mapping[str, Any]  # the function that a worker calls first, and its arguments
    threads: int  # for the libraries in each

    @_away_from_current_folder()
    def work(self, calls: Calls[Result], workers: int) -> list[int]:
        """Make the calls that wait; the death of one worker ends them all."""
        # Submitted only when a worker is free, so that the submitted calls are the suspects.
        under_way: dict[Future[Result], int] = {}
        environment = {name: os.environ.get(name, str(self.threads)) for name in _THREADS_OF_LIBRARIES}
        executor = get_reusable_executor(
            workers, timeout=_IDLE_SECONDS, kill_workers=True, env=environment, **self.beginning
        )
        try:
            while calls.waiting or under_way:
                while calls.waiting and len(under_way) < workers:
                    number = calls.waiting[0]
                    under_way[executor.submit(calls.calls[number])] = number
                    calls.waiting.popleft()
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    calls.end(under_way[future], future.result())
                    del under_way[future]
        except TerminatedWorkerError:
            return list(under_way.values()) or [calls.waiting.popleft()]  # at least one, so that the loop ends
        except BrokenProcessPool as error:  # no worker can start: ehfl cannot be imported there, for example
            reason = str(error.__cause__ or error).strip().strip('"').strip().splitlines()[-1]
            raise UserError(f"worker processes cannot work: {reason}") from error
        except BaseException:  # Ctrl-C for one
            executor.shutdown(kill_workers=True)
            raise
        return []


def beginning(code: str | None, versions: Sequence[tuple[str, str]] = (), *, trains: bool) -> dict[str, Any]:
    """Return a worker's initializer and its arguments, for loky.

    `versions` are the fingerprints of the worker's inputs. Workers outlive a comparison for a while; with other
    versions loky starts new ones instead of reusing those that have loaded the old.
    """
    return {"initializer": _begin_worker, "initargs": (os.getpid(), list(sys.path), code, list(versions), trains)}


def _begin_worker(
    parent: int, path: list[str], code: str | None, versions: list[tuple[str, str]], trains: bool
) -> None:
    """Set up a worker process: leave Ctrl-C to the parent, end with it, and import from where the parent does.

    `parent` is passed in, since a parent that was killed early is gone before the worker could ask for its id.
    """
    # A terminal sends Ctrl-C to all processes; the parent handles it, and workers end with the parent.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    os.dup2(2, 1)  # user code prints to standard error: standard output is for the command's results
    # A new process does not know the folders of user modules.
    sys.path.extend(folder for folder in path if folder not in sys.path)
    user_code.hold(code)  # a file that is edited while a comparison runs does not change the runs to come
    if trains:
        begin_process()


def begin_process() -> None:
    """Set up a process that trains, a worker or this one."""
    from ehfl.learning.engine.device import keep_freed_memory

    keep_freed_memory()


def end_with(parent: int) -> None:
    """End this process when its parent ends."""

    def watch() -> None:
        while os.getppid() == parent:  # a process whose parent ended gets another one
            time.sleep(_PARENT_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
