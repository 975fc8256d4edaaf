"""Set-up that every test shares: the way to modules of their own, how much Hypothesis tries, environment."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Modules that tests import plainly; pytest's importlib mode adds nothing itself.
sys.path[:0] = [
    str(Path(__file__).parent / folder)
    for folder in ("scheduling", "analysis", "energy", "flower", "learning/plain", "planning")
]

settings.register_profile(
    "ehfl",
    deadline=None,  # the first call of a kernel may compile
    derandomize=True,  # the same cases in every run, on every machine
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ehfl")

# What a terminal or a user may have set, for this process and those that tests start.
for _name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "EHFL_DATA", "RAY_ADDRESS"):
    os.environ.pop(_name, None)

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in a shell's background jobs; processes that tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)  # would inherit it, and no Ctrl-C would stop them

# Compiled kernels are kept with the tests, not with the user's own: tests call them with types of their own.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "kernels"))


@pytest.fixture
def in_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Flower's messages be made as in a server that it has started: they carry the run and who sends them."""
    from flwr.common.constant import SUPERLINK_NODE_ID
    from flwr.supercore.task_identity import TaskIdentity

    monkeypatch.setattr(TaskIdentity, "_run_id", 7)
    monkeypatch.setattr(TaskIdentity, "_task_id", 8)
    monkeypatch.setattr(TaskIdentity, "_node_id", SUPERLINK_NODE_ID)


@pytest.fixture
def start_process() -> Iterator[Callable[..., subprocess.Popen[Any]]]:
    """Start processes as `subprocess.Popen` does; at the end of the test they are killed and their pipes closed.

    What a failed test leaves open would warn whenever it is collected, and fail the test that runs then.
    """
    started: list[subprocess.Popen[Any]] = []

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[Any]:
        started.append(subprocess.Popen(*arguments, **options))
        return started[-1]

    yield start
    for process in started:
        with process:  # waits for it, and closes its pipes
            process.kill()


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave files to the system's own pace: waiting for the disk is most of what small runs on devices take."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
