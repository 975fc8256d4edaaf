"""All runs of a comparison, in parallel, each at most once."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import joblib

from ehfl.experiment.building import partitioner_of
from ehfl.experiment.execution import Outcome, execute, serve
from ehfl.experiment.progress import Follower, State
from ehfl.experiment.reading import write_spec
from ehfl.experiment.run_folder import RunFolder
from ehfl.experiment.spec import LearningSpec, Spec
from ehfl.files import sole_use, write_text
from ehfl.validation import InvalidValue, UserError, whole_number

Place = Literal["local", "ray"]
_EVERY = 0.5  # how often the run folders are looked at [s]


class WorkerLost(UserError):
    """A worker process that ended without a word."""


def run_all(
    spec: Spec,
    experiment: Path,
    *,
    jobs: int | None = None,
    on: Place = "local",
    on_look: Callable[[list[State]], None] | None = None,
) -> list[Outcome]:
    """Run what the experiment's folder lacks, and return how each run ended, finished ones included.

    `jobs` processes at a time (as many as there are cores), each with its share of the cores as threads. `on_look` gets
    the state of every run twice a second. Interrupted or killed, it goes on where it was when called again.
    """
    runs = spec.runs()
    for run in runs:
        RunFolder.of(run, experiment).check_free_for(run)
    check_learnable(spec)
    workers, threads = share_cores(len(runs), jobs, _cores(on))
    experiment.mkdir(parents=True, exist_ok=True)
    with sole_use(experiment):
        write_text(experiment / "spec.toml", write_spec(spec))
        todo = [run for run in runs if not RunFolder.of(run, experiment).finished]
        with _watched(Follower(runs, experiment), on_look):
            outcomes = _run(todo, experiment, workers, threads, on)
    fresh = {(outcome.arm, outcome.seed): outcome for outcome in outcomes}
    return [fresh.get((run.arm.label, run.seed), Outcome(run.arm.label, run.seed)) for run in runs]


def share_cores(runs: int, jobs: int | None, cores: int) -> tuple[int, int]:
    """Return how many processes and how many threads in each, so that no core is asked for twice.

    Counted for all runs, not for those left, because threads decide the last bits of a large model's numbers.

    >>> share_cores(runs=20, jobs=None, cores=8), share_cores(runs=3, jobs=None, cores=8), share_cores(9, 1, 8)
    ((8, 1), (3, 2), (1, 8))
    """
    workers = min(runs, cores) if jobs is None else min(runs, whole_number("jobs", jobs, low=1))
    return workers, max(1, cores // workers)


def check_learnable(spec: Spec) -> None:
    """Refuse, before anything is written, a task that is not there or data that cannot be dealt out so."""
    from ehfl.learning import load_task
    from ehfl.learning.device import pick_device
    from ehfl.learning.training import deal

    try:
        task = load_task(spec.learning.task, spec.learning.data)
        pick_device(spec.learning.device)
        deal(task, spec.fleet.clients, partitioner_of(spec), spec.seeds[0])
    except InvalidValue as error:
        key = error.name if error.name in LearningSpec.model_fields else "partition"
        raise UserError(f"learning.{key} must be {error.allowed}, got {error.given}") from error


def _run(todo: list[Spec], experiment: Path, workers: int, threads: int, on: Place) -> list[Outcome]:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    work = [joblib.delayed(execute)(run, experiment.absolute(), threads) for run in todo]
    try:
        with _backend(on):
            return list(joblib.Parallel(n_jobs=workers, batch_size=1)(work))
    except TerminatedWorkerError as error:
        raise WorkerLost("a worker process was killed, perhaps for want of memory: start again to go on") from error


@contextmanager
def _backend(on: Place) -> Iterator[None]:
    if on == "local":
        with joblib.parallel_config(backend="loky", initializer=serve):
            yield
        return
    _ray()
    joblib_on_ray: Any = importlib.import_module("ray.util.joblib")
    joblib_on_ray.register_ray()
    with joblib.parallel_config(backend="ray"):
        yield


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise UserError("a Ray cluster needs Ray: pip install 'ehfl[ray]'") from None


def _cores(on: Place) -> int:
    if on == "local":
        return int(joblib.cpu_count())
    ray = _ray()
    if not ray.is_initialized():
        # without a cluster to join, one that listens to this machine alone
        own = {} if "RAY_ADDRESS" in os.environ else {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level="ERROR", **own)
    return int(ray.cluster_resources().get("CPU", 1))


@contextmanager
def _watched(follower: Follower, on_look: Callable[[list[State]], None] | None) -> Iterator[None]:
    """Look at the run folders from a thread of its own while the work goes on, and once more at its end."""
    if on_look is None:
        yield
        return
    done = threading.Event()

    def look() -> None:
        while not done.wait(_EVERY):
            on_look(follower.look())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    on_look(follower.look())
