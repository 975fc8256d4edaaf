"""Where and when numbers were made: versions, machine, commit, time."""

from __future__ import annotations

import platform
import socket
import subprocess
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ehfl


def about_here() -> dict[str, Any]:
    """Return what a reader of the numbers may want to know of where they came from."""
    # Asked of the installed metadata: importing torch for its version alone would take a second.
    packages = {name: version(name) for name in ("numpy", "torch")}
    return {
        "version": ehfl.__version__,
        "commit": _commit(),
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **packages,
    }


def now() -> str:
    """Return the date and time here, with the offset from UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


@cache
def _commit() -> str | None:
    """Return the commit of a checked-out ehfl, "+" after it if files were changed since; None if installed."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            cwd=Path(ehfl.__file__).parent, capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
