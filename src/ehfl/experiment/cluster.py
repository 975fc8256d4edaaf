"""Workers on a Ray cluster (extra `ray`)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, TypeVar

from ehfl.experiment.workers import Calls
from ehfl.validation import UserError

Result = TypeVar("Result")


class Cluster:
    """The workers of a Ray cluster, joined or started here if that has not been done."""

    def __init__(self) -> None:
        self._ray = _ray()
        if not self._ray.is_initialized():
            # without a cluster to join, one that listens to this machine alone
            own = {} if "RAY_ADDRESS" in os.environ else {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
            self._ray.init(log_to_driver=False, logging_level="ERROR", **own)

    @property
    def cores(self) -> int:
        """How many cores it has."""
        return int(self._ray.cluster_resources().get("CPU", 1))

    def work(self, calls: Calls[Result], workers: int) -> list[int]:
        """Make the calls that wait; Ray knows whose worker died, and the others go on."""
        remote = self._ray.remote(max_retries=0)(_called)
        under_way: dict[Any, int] = {}
        suspects = []
        while calls.waiting or under_way:
            while calls.waiting and len(under_way) < workers:
                number = calls.waiting.popleft()
                under_way[remote.remote(calls.calls[number])] = number
            (done,), _ = self._ray.wait(list(under_way), num_returns=1)
            number = under_way.pop(done)
            try:
                calls.results[number] = self._ray.get(done)
            except self._deaths():
                suspects.append(number)
            except self._refusals() as error:  # a cluster that cannot do such work: a node without ehfl, for one
                raise UserError(f"Ray cannot run this: {str(error).strip().splitlines()[-1]}") from error
        return suspects

    def _deaths(self) -> tuple[type[Exception], ...]:
        """Return the errors that say that a worker was killed from outside."""
        errors = self._ray.exceptions
        return (errors.RayActorError, errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError)

    def _refusals(self) -> tuple[type[Exception], ...]:
        return (self._ray.exceptions.RayTaskError, self._ray.exceptions.RaySystemError)


def _called(call: Callable[[], Result]) -> Result:
    return call()


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise UserError("a Ray cluster needs Ray: pip install 'ehfl[ray]'") from None
