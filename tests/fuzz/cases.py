"""What a case is, and how one is run: in an empty folder, for so long and no longer, with every warning noted."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

Kind = Callable[[Random, Path], Iterator[str]]  # yields what is tried, and then each fault

WORKING, WAITING = 20, 60  # seconds of work and of waiting after which a case hangs


class Hang(BaseException):
    """A case that took too long; no Exception, so that nothing that is tried mistakes it for one of its own."""


@dataclass(frozen=True, slots=True)
class Case:
    """One try; the same numbers make the same try."""

    seed: int
    kind: str
    number: int

    @property
    def command(self) -> str:
        """How to try it again."""
        return f"python -m tests.fuzz --seed {self.seed} --kind {self.kind} --case {self.number}"

    def chance(self) -> Random:
        """Return the case's own source of chance."""
        return Random(f"{self.seed} {self.kind} {self.number}")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that should not have happened."""

    case: Case
    tried: str
    fault: str

    def __str__(self) -> str:
        tried = self.tried if len(self.tried) < 1500 else f"{self.tried[:1500]}..."
        return f"{self.case.command}\n  tried: {tried!a}\n  fault: {self.fault}"


def run(case: Case, kind: Kind) -> list[Finding]:
    """Run a case and return what is wrong."""
    tried, faults = "nothing yet", list[str]()
    with _own_folder() as place, _as_it_was(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        steps = kind(case.chance(), place)
        try:
            with _watchdog():
                tried = next(steps)
                faults += steps
        except Hang:
            faults.append(f"it hangs: {_where()}")
        except (
            Exception,
            SystemExit,
            GeneratorExit,
        ) as error:  # what should have been one line, or a mistake in the fuzzer
            faults.append(f"{type(error).__name__}: {str(error)[:500]!a} ({_where()})")
    faults += {f"{one.category.__name__}: {one.message} ({one.filename}:{one.lineno})" for one in warned}
    return [Finding(case, tried, fault) for fault in faults]


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Work in an empty folder, which goes when the case is over."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Leave the process as it was found, for the next case: modules of the user's own, their path, torch's threads."""
    path, modules = list(sys.path), set(sys.modules)
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else None
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if name.startswith("own_"):
                del sys.modules[name]
        importlib.invalidate_caches()
        if torch and threads:
            torch.set_num_threads(threads)


@contextmanager
def _watchdog() -> Iterator[None]:
    """Raise Hang in what takes too long."""

    def bark(*_: object) -> None:
        raise Hang

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, WORKING), (signal.SIGALRM, signal.ITIMER_REAL, WAITING))
    before = {sign: signal.signal(sign, bark) for sign, _, _ in timers}
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for sign, timer, _ in timers:
            signal.setitimer(timer, 0)
            signal.signal(sign, before[sign])


def _where() -> str:
    """Return through which lines the exception that is being handled came."""
    frames = [frame for frame in traceback.extract_tb(sys.exc_info()[2]) if "typer" not in frame.filename]
    return ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-8:])
