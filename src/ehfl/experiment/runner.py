"""All runs of a comparison, in parallel, each at most once."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import joblib

from ehfl import own_code
from ehfl.experiment import building
from ehfl.experiment.checking import check_comparison, check_schedulers
from ehfl.experiment.cluster import PATIENCE_SECONDS as CLUSTER_PATIENCE
from ehfl.experiment.cluster import Cluster, joined_cluster
from ehfl.experiment.comparison_folder import write_comparison
from ehfl.experiment.execution import PATIENCE_SECONDS, Outcome, Threads, check_clients, execute, loaded_task
from ehfl.experiment.inputs import Inputs, check_inputs, inputs_of
from ehfl.experiment.notes import notes_on
from ehfl.experiment.progress import Follower, State
from ehfl.experiment.spec import Run, Spec
from ehfl.experiment.workers import Crew, Processes, begin_worker, call_all
from ehfl.files import sole_use
from ehfl.machine import check_memory, check_time
from ehfl.run_folder import RunFolder
from ehfl.validation import InvalidValue, UserError, check_function, of_kind, path_of, whole_number

if TYPE_CHECKING:
    from ehfl.experiment.execution import Play

Place = Literal["local", "ray"]
Work = tuple[Run, RunFolder, Inputs]
OnLook = Callable[[list[State]], None]
OnNote = Callable[[str], None]

POLL_SECONDS = 0.5
_BYTES_A_WORKER = 1e8  # Python with torch, before it trains anything
_KILLED = "its worker process was killed, even when it ran alone: by too little memory, or by code of its own"


def run_all(
    spec: Spec,
    experiment: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    on: Place = "local",
    on_look: OnLook | None = None,
    on_note: OnNote | None = None,
    play: Play | None = None,
) -> list[Outcome]:
    """Run what the experiment's folder lacks, and return how each run ended, finished ones included.

    `jobs` processes at a time (as many as there are cores), each with its share of the cores as threads; 1 is this
    process itself, for debuggers. A run that kills its process fails alone. `on_look` gets the state of every run at
    the start, twice a second and at the end. Interrupted or killed, it goes on where it was when called again.
    `on_note` gets lines on what is worth knowing before the runs start, such as the memory that they need.
    `play` is who plays the rounds of a run, where it is not the engine: in this process, one run after the other.
    """
    if not isinstance(on, str) or on not in ("local", "ray"):
        raise InvalidValue("on", "local or ray", on)
    place = path_of("experiment", experiment).absolute()
    check_function("on_look", on_look)
    check_function("on_note", on_note)
    with own_code.held(of_kind("spec", spec, Spec).code):
        return _run_in(place, spec, 1 if play else jobs, on, on_look, on_note or (lambda note: None), play)


def _run_in(
    place: Path, spec: Spec, jobs: int | None, on: Place, on_look: OnLook | None, on_note: OnNote, play: Play | None
) -> list[Outcome]:
    data = check_comparison(spec)
    metric_name = loaded_task(spec.arms[-1].setting)[0].metric.name  # the same for all arms
    # What an arm is made from is the same under all its seeds, and takes a while to look at.
    inputs = {arm.label: inputs_of(Run(spec, arm, spec.seeds[0]), data[arm.label]) for arm in spec.arms}
    work = [_prepared(run, place, inputs[run.arm.label], on_devices=play is not None) for run in spec.runs()]
    with joined_cluster() if on == "ray" else nullcontext([joblib.cpu_count()]) as cores:
        crew, workers, threads = _crew(work, jobs, on, cores)
        _check_time(spec, min(workers, sum(cores)))
        check_schedulers([run for run, folder, _ in work if not folder.finished], crew)
        place.mkdir(parents=True, exist_ok=True)
        with sole_use(place):  # two comparisons in one folder would each start the other's runs
            write_comparison(spec, place, [folder for _, folder, _ in work])
            for note in notes_on(spec):  # once all is known to be right, so that a refusal stays one line
                on_note(note)
            with _watched(Follower(spec.runs(), place, metric_name), on_look):
                return _run(work, workers, Threads(threads), crew, play)


def _crew(work: Sequence[Work], jobs: int | None, on: Place, cores: Sequence[int]) -> tuple[Crew | None, int, int]:
    """Return who does the work, how many runs at a time and how many threads in each."""
    workers, threads = share_cores(len(work), jobs, cores)
    if on == "ray":
        # Unless told otherwise, Ray has all runs and starts as many as there are cores, those of nodes to come too.
        return Cluster(threads), len(work) if jobs is None else workers, threads
    if jobs is not None:
        check_memory("jobs", jobs, workers * _BYTES_A_WORKER)
    # A single worker is this process, unless somebody else's code could end it and nobody asked for that.
    apart = workers > 1 or (jobs is None and any(run.setting.own_classes() for run, *_ in work))
    return Processes(_beginning(work), threads) if apart else None, workers, threads


def _check_time(spec: Spec, workers: int) -> None:
    """Refuse a comparison that would take more than a year though a single client took part in each round."""
    settings = [arm.setting for arm in spec.arms]
    seconds = [building.local_sgd_of(setting).seconds(turns=setting.rounds) for setting in settings]
    check_time("rounds", max(setting.rounds for setting in settings), len(spec.seeds) * sum(seconds) / workers)


def share_cores(runs: int, jobs: int | None, cores: Sequence[int]) -> tuple[int, int]:
    """Return how many processes and how many threads in each, so that no core is asked for twice.

    `cores` are those of each machine; every one of them must be able to take a process with its threads. Counted for
    all runs, not for those left, because threads decide the last bits of a large model's numbers.

    >>> share_cores(runs=20, jobs=None, cores=[8]), share_cores(runs=3, jobs=None, cores=[8]), share_cores(9, 1, [8])
    ((8, 1), (3, 2), (1, 8))
    >>> share_cores(runs=2, jobs=None, cores=[8, 2])
    (2, 2)
    """
    workers = min(runs, sum(cores)) if jobs is None else min(runs, whole_number("jobs", jobs, low=1))
    return workers, max(1, min(sum(cores) // workers, *cores))


def _prepared(run: Run, experiment: Path, inputs: Inputs, *, on_devices: bool) -> Work:
    """Return what there is to do for a run; refuse, before anything is written, what cannot be done."""
    folder = RunFolder(experiment / run.folder_name)
    folder.check_free_for(run.facts())
    check_clients(folder, on_devices=on_devices)
    check_inputs(folder, inputs)
    return run, folder, inputs


def _run(work: Sequence[Work], workers: int, threads: Threads, crew: Crew | None, play: Play | None) -> list[Outcome]:
    """Run what is not finished and return how every run ended."""
    todo = [one for one in work if not one[1].finished]
    patience = CLUSTER_PATIENCE if isinstance(crew, Cluster) else PATIENCE_SECONDS
    executed = partial(execute, play=play, patience=patience)
    calls = [partial(executed, run, folder, threads, inputs) for run, folder, inputs in todo]
    outcomes = call_all(calls, workers, crew)
    ended = {one[1].path: outcome or _killed(*one) for one, outcome in zip(todo, outcomes, strict=True)}
    return [ended.get(folder.path, Outcome(run.arm.label, run.seed)) for run, folder, _ in work]


def _killed(run: Run, folder: RunFolder, inputs: Inputs) -> Outcome:
    """Take down, in the place of a worker that could not, that its run was its end."""
    with suppress(OSError, UserError), sole_use(folder.path):
        folder.add_meta(inputs=inputs, status="failed", error=_KILLED, traceback=None)
    return Outcome(run.arm.label, run.seed, _KILLED)


def _beginning(work: Sequence[Work]) -> dict[str, Any]:
    """Return how a worker begins.

    Workers outlive a comparison for a while. Those that began with other versions of data or the user's code are not
    given the next one: they would go on with what they have read.
    """
    versions = sorted({item for *_, inputs in work for item in inputs.items()})
    code = next((run.spec.code for run, *_ in work), None)
    return {"initializer": begin_worker, "initargs": (os.getpid(), list(sys.path), code, versions)}


@contextmanager
def _watched(follower: Follower, on_look: OnLook | None) -> Iterator[None]:
    """Look at the run folders before the work, from a thread of its own while it goes on, and once more at its end."""
    if on_look is None:
        yield
        return
    on_look(follower.look())
    done = threading.Event()

    def look() -> None:
        while not done.wait(POLL_SECONDS):  # an event, not a sleep, so that the end need not wait for it
            on_look(follower.look())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    on_look(follower.look())
