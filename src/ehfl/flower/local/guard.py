"""A small process that runs one of Flower's programs, and ends it together with all its descendants.

It runs as a script, with its patience [s] and the program's command line. It ends the program on end of file at its
standard input: a pipe from the starting process, which that process closes, or the system, however that process ends,
SIGKILL included. Flower's programs start others in new sessions, which outlive a killed parent; on Linux the guard
adopts them (PR_SET_CHILD_SUBREAPER), so that it finds all of them among its descendants.
"""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import sys
import time
from contextlib import suppress

import psutil

_LOOK_SECONDS = 0.1
_GRACE_SECONDS = 1.0  # for descendants to end by themselves after the program
_PR_SET_CHILD_SUBREAPER = 36


def guard(patience: float, command: list[str]) -> int:
    """Run the program until it ends or is stopped; return its exit code when all its descendants are gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    while program.poll() is None and not _alone(_LOOK_SECONDS):
        pass
    started = psutil.Process().children(recursive=True)  # outside Linux, orphans are not found
    program.terminate()
    with suppress(subprocess.TimeoutExpired):
        program.wait(patience)
    _end({*started, *psutil.Process().children(recursive=True)})
    return program.wait()


def _alone(seconds: float) -> bool:
    """Wait that long, or until the starting process has closed the pipe; return whether it has."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def _end(left: set[psutil.Process]) -> None:
    """Terminate processes, and kill those that take too long or appear meanwhile."""
    for one in left:
        with suppress(psutil.NoSuchProcess):
            one.terminate()
    deadline = time.monotonic() + _GRACE_SECONDS
    while left := {one for one in {*left, *psutil.Process().children(recursive=True)} if _runs(one)}:
        for one in left if time.monotonic() > deadline else ():
            with suppress(psutil.NoSuchProcess):
                one.kill()
        time.sleep(_LOOK_SECONDS / 2)


def _runs(process: psutil.Process) -> bool:
    """Return whether a process still runs; reap it if it is an ended child of this one."""
    try:
        if process.status() != psutil.STATUS_ZOMBIE:
            return True
        os.waitpid(process.pid, os.WNOHANG)
    except (psutil.NoSuchProcess, ChildProcessError):
        pass
    return False


if __name__ == "__main__":
    code = guard(float(sys.argv[1]), sys.argv[2:])
    sys.exit(code if code >= 0 else 128 - code)
