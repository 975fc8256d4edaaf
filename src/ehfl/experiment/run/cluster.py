"""Workers on a Ray cluster (extra `ray`)."""

from __future__ import annotations

import importlib
import os
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from ehfl.experiment.run.workers import Calls, begin_process, end_with
from ehfl.extras import check_extra
from ehfl.validation import UserError, one_line, shown

Result = TypeVar("Result")

# A disconnected node works on for a minute in Ray, and a file server keeps the locks of an unreachable machine for
# about 90 s (NFS 4). A process that resumes a run of that node waits this long for its folder.
PATIENCE_SECONDS = 180.0
_NODES_LOST = 5  # by one call, until it is a suspect
_CONNECT_SECONDS = 10.0

_QUIET = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # Ray warns, in every program, that this will be its default
# Read by Ray when it is imported, or by the processes that it starts, for a Ray of our own:
OWN_RAY = _QUIET | {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # no node but this one, so that it listens on loopback alone
    "RAY_USAGE_STATS_ENABLED": "0",
}


@contextmanager
def joined_cluster() -> Iterator[list[int]]:
    """Join the cluster at $RAY_ADDRESS, or start one here, and yield the cores of each node.

    Leave it at the end, unless the caller had joined it before: Ray prints messages about nodes while connected.
    """
    ray = _ray()
    before = ray.is_initialized()
    if not before:
        _join(ray)
    try:
        nodes = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
        yield [int(cores) for cores in nodes if cores >= 1] or [1]  # a node to come may have one
    finally:
        if not before:
            ray.shutdown()


@dataclass(frozen=True, slots=True)
class Cluster:
    """The workers of a Ray cluster."""

    threads: int  # cores that a call is given

    def work(self, calls: Calls[Result], workers: int) -> list[int]:
        """Make the waiting calls; Ray reports which call's worker died, and the others go on.

        A call whose node died is repeated on another node, since the call was not the cause.
        """
        ray = _ray()
        remote = ray.remote(num_cpus=self.threads, max_retries=0)(_called)
        under_way: dict[Any, int] = {}
        suspects: list[int] = []
        lost: Counter[int] = Counter()  # nodes, by call
        while calls.waiting or under_way:
            while calls.waiting and len(under_way) < workers:
                number = calls.waiting.popleft()
                under_way[remote.remote(calls.calls[number])] = number
            (done,), _ = ray.wait(list(under_way), num_returns=1)
            number = under_way.pop(done)
            try:
                calls.end(number, ray.get(done))
            except ray.exceptions.NodeDiedError:
                lost[number] += 1
                (calls.waiting if lost[number] < _NODES_LOST else suspects).append(number)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
                suspects.append(number)
            except ray.exceptions.RayError as error:  # for example a node without ehfl
                raise UserError(f"Ray cannot run this: {str(error).strip().splitlines()[-1]}") from error
        return suspects


def _called(call: Callable[[], Result]) -> Result:
    _begin()
    return call()


@cache
def _begin() -> None:
    """Set up a worker, once: Ray does not notice that the raylet, its parent, is a zombie."""
    end_with(os.getppid())
    begin_process()


def _join(ray: Any) -> None:
    address = _address()
    own = {"include_dashboard": False} if address == "local" else {}
    try:
        _check_reachable(address)
        ray.init(address, log_to_driver=False, logging_level="ERROR", **own)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise UserError(f"no Ray cluster can be joined at {shown(address)}: {one_line(error)}") from error


def _address() -> str:
    return os.environ.get("RAY_ADDRESS") or "local"


def _check_reachable(address: str) -> None:
    """Raise OSError if nothing listens at the address: Ray would retry for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()


def _ray() -> Any:
    for name, value in (OWN_RAY if _address() == "local" else _QUIET).items():
        os.environ.setdefault(name, value)
    check_extra("ray")
    return importlib.import_module("ray")
