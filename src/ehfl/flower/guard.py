"""A small process that keeps one program of Flower's, and ends it with everything that it started.

Run as a file, with its patience [s] and the program's command line. The program is ended when the guard gets SIGTERM,
or when its standard input comes to its end: that is a pipe from whoever started it, and the system closes it however
that process ends, by SIGKILL too. Flower's programs start others in sessions of their own, which outlive a killed
parent; on Linux the guard adopts them (PR_SET_CHILD_SUBREAPER), so that all are found among its descendants.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil

_LOOK_SECONDS = 0.1
_GRACE_SECONDS = 1.0  # for what the program started to end by itself, once the program has
_PR_SET_CHILD_SUBREAPER = 36


def guard(patience: float, command: list[str]) -> int:
    """Run the program until it ends, or must; return its exit code when nothing of it is left."""
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    while program.poll() is None and not told and not _alone(_LOOK_SECONDS):
        pass
    started = psutil.Process().children(recursive=True)  # elsewhere than on Linux orphans are lost sight of
    program.terminate()
    with suppress(subprocess.TimeoutExpired):
        program.wait(patience)
    _end({*started, *psutil.Process().children(recursive=True)})
    return program.wait()


def _alone(seconds: float) -> bool:
    """Wait that long, or until whoever started us is gone; return whether it is."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def _end(left: set[psutil.Process]) -> None:
    """Ask processes to end, and those that take too long, or appear meanwhile, no more."""
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
    """Return whether a process runs still; one that has ended and is our own to bury is buried."""
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
