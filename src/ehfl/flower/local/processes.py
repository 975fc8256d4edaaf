"""Flower's programs as processes: each in a new session, under a guard that ends all its descendants."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from ehfl.extras import check_extra
from ehfl.validation import UserError, printable, short

PRIVATE = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}  # no telemetry
_GUARD = Path(__file__).with_name("guard.py")
_BURIAL_SECONDS = 5.0  # for a guard to notice the end of its program, and to exit


def flower_environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of one of Flower's programs: without the user's Flower settings and telemetry.

    Each process needs its own home: two that unpack the same app into one home would see each other's partial files.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLWR_")}
    exempt = ",".join(filter(None, [kept.get("no_proxy"), kept.get("NO_PROXY"), "127.0.0.1", "localhost"]))
    return kept | {
        **PRIVATE,
        "FLWR_HOME": str(home),
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), kept.get("PATH", os.defpath)]),
        "no_proxy": exempt,  # local traffic bypasses the proxy
        "NO_PROXY": exempt,
        "PYTHONUNBUFFERED": "1",  # so that the log of a killed process is complete
        **(more or {}),
    }


def program(name: str) -> str:
    """Return the path of one of Flower's programs, preferring this Python's environment."""
    found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if found is None:
        check_extra("flower")
        raise UserError(f"{name} is not on the path: pip install 'ehfl[flower]'")
    return found


class Process:
    """A program that runs under a guard, its output in a file.

    If the starting process ends in any way, SIGKILL included, the program and its descendants end, too.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path, patience: float) -> None:
        self.log = log
        self._patience = patience
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._guard = subprocess.Popen(
                [sys.executable, "-P", str(_GUARD), str(patience), *command],
                env=dict(environment), stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must reach only the starting process, which stops the others in order
            )  # fmt: skip

    @property
    def alive(self) -> bool:
        """Whether the program or one of its descendants runs."""
        if self._guard.poll() is None:
            return True
        self.ask_to_stop()  # it ended by itself, so nothing else closes its pipe
        return False

    def descendants(self) -> list[psutil.Process]:
        """Return the program's process and all its descendants."""
        try:
            return psutil.Process(self._guard.pid).children(recursive=True) if self.alive else []
        except psutil.NoSuchProcess:
            return []

    def ask_to_stop(self) -> None:
        """Ask the guard to terminate the program, and do not wait."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()

    def stop(self) -> None:
        """Terminate the program and wait until all its descendants have ended."""
        self.ask_to_stop()
        try:
            self._guard.wait(self._patience + _BURIAL_SECONDS)
        except BaseException:  # too slow even for the guard, or the user's second Ctrl-C
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the program and all its descendants at once, as in a power failure."""
        deadline = time.monotonic() + _BURIAL_SECONDS
        while self.alive and time.monotonic() < deadline:
            for one in self.descendants():
                with suppress(psutil.NoSuchProcess):
                    one.kill()
            time.sleep(0.02)
        self._guard.kill()
        self._guard.wait()
        self.ask_to_stop()  # closes the pipe

    def last_words(self) -> str:
        """Return the last non-empty line of the log, with control characters escaped."""
        lines = [printable(line) for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines()]
        return short(next((line for line in reversed(lines) if line), "nothing"), 300)
