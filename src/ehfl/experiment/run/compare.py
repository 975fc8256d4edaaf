"""All runs of a comparison, in parallel, each at most once; `compare` reads them back."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import joblib

from ehfl import user_code
from ehfl.analysis import Comparison, read
from ehfl.experiment.check import check_comparison, check_schedulers, notes_on
from ehfl.experiment.run.cluster import PATIENCE_SECONDS as CLUSTER_PATIENCE
from ehfl.experiment.run.cluster import Cluster, joined_cluster
from ehfl.experiment.run.execute import PATIENCE_SECONDS, Cores, Outcome, check_clients, check_extension, execute
from ehfl.experiment.run.folder import Follower, State, write_comparison
from ehfl.experiment.run.inputs import Inputs, check_inputs, inputs_of
from ehfl.experiment.run.workers import Crew, Processes, beginning, call_all
from ehfl.experiment.spec import build
from ehfl.experiment.spec.models import Run, Spec
from ehfl.experiment.spec.read import Source, open_spec
from ehfl.machine import check_memory
from ehfl.runs import RunFolder, sole_use
from ehfl.tracking import TrackedRun, Tracker, Tracking
from ehfl.validation import InvalidValue, UserError, whole_number

if TYPE_CHECKING:
    from ehfl.experiment.run.execute import Play

Place = Literal["local", "ray"]
Work = tuple[Run, RunFolder, Inputs]
OnLook = Callable[[list[State]], None]
OnNote = Callable[[str], None]
OnRound = Callable[..., object]  # called with (record), (record, model) or (record, model, run)

POLL_SECONDS = 0.5
_BYTES_A_WORKER = 1e8  # Python with torch, before it trains anything
_KILLED = "its worker process was killed, even when it ran alone: by too little memory, or by user code"


def run_all(
    spec: Spec,
    experiment: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    workers: int | None = None,
    on: Place = "local",
    on_look: OnLook | None = None,
    on_note: OnNote | None = None,
    on_round: OnRound | None = None,
    tracking: Tracking | None = None,
    play: Play | None = None,
) -> list[Outcome]:
    """Run what the experiment's folder lacks, and return how each run ended, finished ones included.

    `jobs` processes run at a time (default: one per core), each with its share of the cores; 1 runs in this
    process, for debuggers. `workers` is the number of clients that a run trains at a time (default: its share). A
    run that kills its process fails alone. Interrupted or killed, the comparison resumes when called again.
    `on_look` gets the state of every run at the start, twice a second and at the end; `on_note` gets lines before
    the runs start, such as the memory that they need. `on_round` is called after each round, where the run is
    trained, with as many of (record, model, run) as it takes. `tracking` logs the runs. `play` plays the rounds of
    a run in place of the engine, in this process, one run after the other.
    """
    if not isinstance(on, str) or on not in ("local", "ray"):
        raise InvalidValue("on", "local or ray", on)
    place = Path(experiment).absolute()
    with user_code.held(spec.code):
        with user_code.contained():  # workers start only from a process that has its streams
            data = check_comparison(spec)
            metric_name = build.load_task(spec.arms[-1].setting)[0].metric.name  # the same for all arms
            # An arm's inputs are the same under all its seeds, and take a while to read.
            inputs = {arm.label: inputs_of(Run(spec, arm, spec.seeds[0]), data[arm.label]) for arm in spec.arms}
        work = [_prepared(run, place, inputs[run.arm.label], on_devices=play is not None) for run in spec.runs()]
        with joined_cluster() if on == "ray" else nullcontext([joblib.cpu_count()]) as cores:
            crew, at_a_time, threads = _crew(work, 1 if play else jobs, workers, on, cores)
            check_schedulers([run for run, folder, _ in work if not folder.finished_after(run.setting.rounds)], crew)
            place.mkdir(parents=True, exist_ok=True)
            with sole_use(place):  # two comparisons in one folder would each start the other's runs
                write_comparison(spec, place, [folder for _, folder, _ in work])
                if on_note is not None:
                    for note in notes_on(spec):  # after all checks, so that a refusal stays one line
                        on_note(note)
                looks = _looks(work, Follower(spec.runs(), place, metric_name), on_look, tracking, metric_name)
                with nullcontext() if tracking is None else closing(tracking), _watched(looks):
                    return _run(work, at_a_time, Cores(threads, workers), crew, play, on_round)


def _crew(
    work: Sequence[Work], jobs: int | None, asked: int | None, on: Place, cores: Sequence[int]
) -> tuple[Crew | None, int, int]:
    """Return the workers, the number of runs at a time and the number of threads in each."""
    workers, threads = share_cores(len(work), jobs, cores, asked)
    if on == "ray":
        # By default Ray gets all runs at once, and starts one per core, on nodes that join later too.
        return Cluster(threads), len(work) if jobs is None else workers, threads
    if jobs is not None:
        check_memory("jobs", jobs, workers * _BYTES_A_WORKER)
    # A single worker is this process, unless user code could kill it and --jobs 1 was not given.
    apart = workers > 1 or (jobs is None and any(run.setting.user_classes() for run, *_ in work))
    versions = sorted({item for *_, inputs in work for item in inputs.items()})
    begin = beginning(next((run.spec.code for run, *_ in work), None), versions, trains=True)
    return Processes(begin, threads) if apart else None, workers, threads


def share_cores(runs: int, jobs: int | None, cores: Sequence[int], threads: int | None = None) -> tuple[int, int]:
    """Return the number of processes and of threads in each, so that no core is used twice.

    `cores` are those of each machine; each machine must fit a process with its threads. Counted for all runs, not for
    those left, so that a resumed comparison shares the cores as it did before.

    >>> share_cores(runs=20, jobs=None, cores=[8]), share_cores(runs=3, jobs=None, cores=[8]), share_cores(9, 1, [8])
    ((8, 1), (3, 2), (1, 8))
    >>> share_cores(runs=2, jobs=None, cores=[8, 2])
    (2, 2)
    >>> share_cores(runs=20, jobs=None, cores=[8], threads=3)
    (2, 3)
    """
    if threads is not None:
        whole_number("workers", threads, low=1, high=1024)
    fitting = sum(each // (threads or 1) for each in cores)
    workers = min(runs, max(1, fitting) if jobs is None else whole_number("jobs", jobs, low=1))
    return workers, threads or max(1, min(sum(cores) // workers, *cores))


def _prepared(run: Run, experiment: Path, inputs: Inputs, *, on_devices: bool) -> Work:
    """Return a run with its folder and inputs; refuse, before anything is written, what cannot be run."""
    folder = RunFolder(experiment / run.folder_name)
    folder.check_free_for(run.facts())
    check_clients(folder, on_devices=on_devices)
    check_inputs(folder, inputs)
    check_extension(run, folder)
    return run, folder, inputs


def _run(
    work: Sequence[Work], workers: int, threads: Cores, crew: Crew | None, play: Play | None, on_round: OnRound | None
) -> list[Outcome]:
    """Run what is not finished and return all outcomes."""
    todo = [one for one in work if not one[1].finished_after(one[0].setting.rounds)]
    patience = CLUSTER_PATIENCE if isinstance(crew, Cluster) else PATIENCE_SECONDS
    executed = partial(execute, on_round=on_round, play=play, patience=patience)
    calls = [partial(executed, run, folder, threads, inputs) for run, folder, inputs in todo]
    outcomes = call_all(calls, workers, crew)
    ended = {one[1].path: outcome or _killed(*one) for one, outcome in zip(todo, outcomes, strict=True)}
    return [ended.get(folder.path, Outcome(run.arm.label, run.seed)) for run, folder, _ in work]


def _killed(run: Run, folder: RunFolder, inputs: Inputs) -> Outcome:
    """Record that a run killed its worker, which could not record it itself."""
    with suppress(OSError, UserError), sole_use(folder.path):
        folder.add_meta(inputs=inputs, status="failed", error=_KILLED, traceback=None)
    return Outcome(run.arm.label, run.seed, _KILLED)


def _looks(
    work: Sequence[Work], follower: Follower, on_look: OnLook | None, tracking: Tracking | None, metric: str
) -> list[Callable[[], object]]:
    """Return what is to be done with the run folders as they grow."""
    looks: list[Callable[[], object]] = [] if on_look is None else [lambda: on_look(follower.look())]
    if tracking is not None:
        runs = []
        for run, folder, _ in work:
            parameters = {"arm": run.arm.label, "seed": run.seed} | run.setting.facts()
            tracked = TrackedRun(folder.path.name, parameters, metric, folder.path)
            runs.append((tracked, run.setting.rounds, folder.rounds))
        looks.append(tracking.following(runs))
    return looks


@contextmanager
def _watched(looks: Sequence[Callable[[], object]]) -> Iterator[None]:
    """Look at the run folders at the start, from a thread during the work, and at the end."""
    if not looks:
        yield
        return

    def look() -> None:
        for one in looks:
            one()

    def watch() -> None:
        while not done.wait(POLL_SECONDS):  # unlike a sleep it ends at once when done is set
            look()

    look()
    done = threading.Event()
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    look()


def compare(
    spec: Source = None,
    *,
    runs: str | os.PathLike[str] = "runs",
    jobs: int | None = None,
    workers: int | None = None,
    on: Place = "local",
    on_look: OnLook | None = None,
    on_round: OnRound | None = None,
    track: str | Tracker | None = None,
    report: bool = False,
    **overrides: Any,
) -> Comparison:
    """Train every arm of a spec under every seed, and return them side by side.

    `spec` is a TOML file, a dict with the same keys, or None for the demo; overrides change it by key: `rounds=20`,
    `fleet={"capacity": 3}` (other keys of the table stay), `**{"learning.local_steps": 1}`. Objects are accepted
    wherever a name is: `schedulers=[Myopic(3), Reserve()]`, `fleet=Fleet(...)`, `task=MyTask()`. Runs are kept in
    `runs/<name of the spec>`, survive kills, and are not run again once finished; `report=True` writes page, figures
    and tables there. `jobs` runs are trained at a time, `workers` clients in each. The result shows as a table in a
    notebook; `verdict` is the conclusion,
    `frame()` and `rounds()` are pandas DataFrames, `missing` lists runs that failed and why.

    `on_round` is called after each round with as many of (record, model, run) as it takes, in the process that trains
    the run (with `jobs=1` this one); `run.arm.label`, `run.seed` and `run.facts()` say which run it is.

    `track` logs every run with "tensorboard", "mlflow", "wandb" or "trackio", or with a tracker of your own
    (`ehfl.tracking.Tracker`): parameters, numbers by round and, with `report=True`, the page.
    """
    place = Path(runs)
    ready = open_spec(spec, overrides)
    folder = place / ready.name
    tracking = None if track is None else Tracking(track, folder, ready.name, warnings.warn)
    outcomes = run_all(
        ready, folder, jobs=jobs, workers=workers, on=on, on_look=on_look, on_round=on_round, tracking=tracking
    )
    # The result names failed runs; without a finished run there is no result.
    errors = [outcome for outcome in outcomes if outcome.error]
    if len(errors) == len(outcomes):
        first = errors[0]
        raise UserError(f"no run came to its end: {first.arm} seed {first.seed} failed: {first.error}")
    found = read(folder)
    if report:
        from ehfl.report import write_report

        page = write_report(found, folder)
        if tracking is not None:
            tracking.report(page, ready.base.facts())
    return found
