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

from ehfl import own_code
from ehfl.validation import UserError

Result = TypeVar("Result")

_IDLE_SECONDS = 300  # how long workers wait for the next comparison
_SAFE_PATH = "PYTHONSAFEPATH"  # keeps Python from looking for its modules in the current folder first
_PARENT_POLL_SECONDS = 0.2
_THREADS_OF_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(slots=True)
class Calls(Generic[Result]):
    """Calls, and what has become of them, by their numbers."""

    calls: Sequence[Callable[[], Result]]
    waiting: deque[int]
    results: dict[int, Result] = field(default_factory=dict)


class Crew(Protocol):
    """Workers that make calls."""

    def work(self, calls: Calls[Result], workers: int) -> list[int]:
        """Make the calls that wait, so many at a time, till the last, or till a worker dies.

        Returns the calls whose workers may have died of them; they have no result.
        """
        ...


def call_all(calls: Sequence[Callable[[], Result]], workers: int, crew: Crew | None) -> list[Result | None]:
    """Return what each call returns, in their order; None where it kills its worker even if it runs alone.

    Without a crew they are made in this process. After a death all calls that were under way are suspect: they are made
    once more, after all others and one at a time. The others go on with half the workers, since it may have been too
    little memory for so many.
    """
    if crew is None:
        return [call() for call in calls]
    kept = Calls(calls, deque(range(len(calls))))
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
    """Let Pythons that are started meanwhile import nothing from the current folder in the place of their own."""
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
        # Submitted only when a worker is free, so that those submitted are those that may have killed it.
        under_way: dict[Future[Result], int] = {}
        executor = get_reusable_executor(
            workers, timeout=_IDLE_SECONDS, kill_workers=True, env=self._environment(), **self.beginning
        )
        try:
            while calls.waiting or under_way:
                while calls.waiting and len(under_way) < workers:
                    number = calls.waiting[0]
                    under_way[executor.submit(calls.calls[number])] = number
                    calls.waiting.popleft()
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    calls.results[under_way[future]] = future.result()
                    del under_way[future]
        except TerminatedWorkerError:
            return list(under_way.values()) or [calls.waiting.popleft()]  # at least one, so that there is an end
        except BrokenProcessPool as error:  # ehfl cannot be imported there, for one: no worker could do better
            reason = str(error.__cause__ or error).strip().strip('"').strip().splitlines()[-1]
            raise UserError(f"worker processes cannot work: {reason}") from error
        except BaseException:  # Ctrl-C for one
            executor.shutdown(kill_workers=True)
            raise
        return []

    def _environment(self) -> dict[str, str]:
        """Return what workers find in their environment beside what is in ours."""
        return {name: os.environ.get(name, str(self.threads)) for name in _THREADS_OF_LIBRARIES}


def begin_worker(parent: int, path: list[str], code: str | None, versions: list[tuple[str, str]]) -> None:
    """Begin a worker process: leave Ctrl-C to the parent, end with it, and import from where the parent does.

    A run can be killed at any instant. The parent says who it is: killed early, it is gone before a worker could ask.
    `versions` are those of the data and of the user's code that the worker will meet; others ask for another worker.
    """
    # A terminal sends Ctrl-C to all processes; the parent alone says what happens, and its end is ours.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    os.dup2(2, 1)  # standard output is for the results of the command, whatever a user's code prints
    # Classes of the user's own are named by module, and a fresh process does not know the folder they lie in.
    sys.path.extend(folder for folder in path if folder not in sys.path)
    own_code.hold(code)  # who edits a file while a comparison runs does not change the runs to come
    begin_process()


def begin_process() -> None:
    """Set up a process that trains: this one, where runs are not spread over workers, or a worker."""
    from ehfl.learning.device import keep_freed_memory

    keep_freed_memory()


def end_with(parent: int) -> None:
    """Let this process end when its parent does, whatever it is doing then."""

    def watch() -> None:
        while os.getppid() == parent:  # a process whose parent is gone is given another one
            time.sleep(_PARENT_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
