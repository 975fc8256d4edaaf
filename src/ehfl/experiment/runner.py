"""All runs of a comparison, in parallel, each at most once."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ehfl.experiment.building import partitioner_of
from ehfl.experiment.execution import Outcome, execute, serve
from ehfl.experiment.inputs import Inputs, check_inputs, data_of, inputs_of
from ehfl.experiment.progress import Follower, State
from ehfl.experiment.reading import read_stored, write_spec
from ehfl.experiment.results import check_goal
from ehfl.experiment.run_folder import RunFolder, check_same
from ehfl.experiment.spec import LearningSpec, Spec
from ehfl.experiment.trials import Metric
from ehfl.files import sole_use, write_text
from ehfl.validation import InvalidValue, UserError, whole_number

Place = Literal["local", "ray"]
Work = tuple[Spec, Inputs]
_KILLED = "its worker process was killed, perhaps for want of memory: start again to go on, with fewer --jobs"
_EVERY = 0.5  # how often the run folders are looked at [s]


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
    the state of every run at the start, twice a second and at the end. Interrupted or killed, it goes on where it was
    when called again.
    """
    data = check_learnable(spec)
    check_free(spec, experiment)
    work = [(run, inputs_of(run, data)) for run in spec.runs()]
    for run, inputs in work:
        check_inputs(RunFolder.of(run, experiment), inputs)
    workers, threads = share_cores(len(work), jobs, _cores(on))
    experiment.mkdir(parents=True, exist_ok=True)
    with sole_use(experiment):
        write_text(experiment / "spec.toml", write_spec(spec))
        with _watched(Follower(spec.runs(), experiment), on_look):
            return _run(work, experiment.absolute(), workers, threads, on)


def check_free(spec: Spec, experiment: Path) -> None:
    """Refuse a folder that belongs to another comparison, or in which a run belongs to another spec."""
    path = experiment / "spec.toml"
    if path.is_file():
        check_same(read_stored(path).setting(), spec.setting(), experiment)
    for run in spec.runs():
        RunFolder.of(run, experiment).check_free_for(run)


def share_cores(runs: int, jobs: int | None, cores: int) -> tuple[int, int]:
    """Return how many processes and how many threads in each, so that no core is asked for twice.

    Counted for all runs, not for those left, because threads decide the last bits of a large model's numbers.

    >>> share_cores(runs=20, jobs=None, cores=8), share_cores(runs=3, jobs=None, cores=8), share_cores(9, 1, 8)
    ((8, 1), (3, 2), (1, 8))
    """
    workers = min(runs, cores) if jobs is None else min(runs, whole_number("jobs", jobs, low=1))
    return workers, max(1, cores // workers)


def check_learnable(spec: Spec) -> str:
    """Refuse, before anything is written, a task that is not there or data that cannot be dealt out so.

    Returns the fingerprint of the data.
    """
    from ehfl.learning import load_task
    from ehfl.learning.device import pick_device
    from ehfl.learning.training import deal

    try:
        task = load_task(spec.learning.task, spec.learning.data)
        pick_device(spec.learning.device)
        deal(task, spec.fleet.clients, partitioner_of(spec), spec.seeds[0])
        check_goal(spec.evaluation.goal, Metric(task.metric_name))
        return data_of(task)
    except InvalidValue as error:
        key = error.name if error.name in LearningSpec.model_fields else "partition"
        raise UserError(f"learning.{key} must be {error.allowed}, got {error.given}") from error


def _run(work: Sequence[Work], experiment: Path, workers: int, threads: int, on: Place) -> list[Outcome]:
    """Run what is not finished and return how every run ended.

    Where a worker is killed from outside, what is left is begun again, twice at most, with fewer workers.
    """
    fresh: dict[tuple[str, int], Outcome] = {}
    for crew in (workers, max(2, workers // 2), 2):
        todo = [(run, inputs) for run, inputs in work if not RunFolder.of(run, experiment).finished]
        try:
            fresh = {(told.arm, told.seed): told for told in _run_once(todo, experiment, crew, threads, on)}
            break
        except _deaths(on):
            fresh = {(run.arm.label, run.seed): Outcome(run.arm.label, run.seed, _KILLED) for run, _ in todo}
    ended = [(run.arm.label, run.seed, RunFolder.of(run, experiment).finished) for run, _ in work]
    return [Outcome(arm, seed) if finished else fresh[arm, seed] for arm, seed, finished in ended]


def _run_once(todo: Sequence[Work], experiment: Path, workers: int, threads: int, on: Place) -> list[Outcome]:
    with _backend(on):
        calls = [joblib.delayed(execute)(run, experiment, threads, inputs) for run, inputs in todo]
        try:
            return list(joblib.Parallel(n_jobs=workers, batch_size=1)(calls))
        except _refusals(on) as error:
            raise UserError(f"Ray cannot run this: {str(error).strip().splitlines()[-1]}") from error


@contextmanager
def _backend(on: Place) -> Iterator[None]:
    if on == "local":
        with joblib.parallel_config(backend="loky", initializer=serve, initargs=(os.getpid(),)):
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


def _deaths(on: Place) -> tuple[type[Exception], ...]:
    """Return the errors that say that a worker was killed from outside."""
    if on == "local":
        return (TerminatedWorkerError,)
    told = _ray().exceptions
    return (told.RayActorError, told.WorkerCrashedError, told.OutOfMemoryError, told.NodeDiedError)


def _refusals(on: Place) -> tuple[type[Exception], ...]:
    """Return the errors that say that a cluster cannot do such work: a node without ehfl, for one."""
    return () if on == "local" else (_ray().exceptions.RayTaskError, _ray().exceptions.RaySystemError)


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
    """Look at the run folders before the work, from a thread of its own while it goes on, and once more at its end."""
    if on_look is None:
        yield
        return
    on_look(follower.look())
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
