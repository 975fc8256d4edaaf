"""Runs on a Ray cluster, through joblib's backend for it (extra `ray`)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import joblib

from ehfl.validation import UserError

Result = TypeVar("Result")


def run(calls: Sequence[Callable[[], Result]], workers: int) -> list[Result]:
    """Return what each call returns, in their order."""
    ray_module = _ray()
    joblib_on_ray: Any = importlib.import_module("ray.util.joblib")
    joblib_on_ray.register_ray()  # joblib learns of the backend when it is wanted, not when ehfl is imported
    refusals = (ray_module.exceptions.RayTaskError, ray_module.exceptions.RaySystemError)
    try:
        with joblib.parallel_config(backend="ray"):
            delayed = [joblib.delayed(call)() for call in calls]
            # joblib runs a single job in this process, where a death would be the end of all
            return list(joblib.Parallel(n_jobs=max(2, workers), batch_size=1)(delayed))
    except refusals as error:  # a cluster that cannot do such work: a node without ehfl, for one
        raise UserError(f"Ray cannot run this: {str(error).strip().splitlines()[-1]}") from error


def cores() -> int:
    """Return how many cores the cluster has; join it, or start one here, if that has not been done."""
    ray = _ray()
    if not ray.is_initialized():
        # without a cluster to join, one that listens to this machine alone
        own = {} if "RAY_ADDRESS" in os.environ else {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level="ERROR", **own)
    return int(ray.cluster_resources().get("CPU", 1))


def deaths() -> tuple[type[Exception], ...]:
    """Return the errors that say that a worker was killed from outside."""
    errors = _ray().exceptions
    return (errors.RayActorError, errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError)


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise UserError("a Ray cluster needs Ray: pip install 'ehfl[ray]'") from None
