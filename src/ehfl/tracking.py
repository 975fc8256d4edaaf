"""Runs in an experiment tracker: a run for each run, its parameters, its numbers by round, and the report's page.

The process that starts runs also tracks them: it reads rounds.jsonl as it grows, so that it does not matter where a
run is trained, how often it is killed, or whether it ended long ago. How much was logged stands in each run's
tracking.json; a run that resumes goes on from there. A tracker never stops training: its first error is one warning.
"""

from __future__ import annotations

import contextvars
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ehfl.extras import check_extra
from ehfl.files import json_text, parse_json, write_text
from ehfl.runs import Facts, Record, Tail
from ehfl.validation import FAILURES, InvalidValue, UserError, one_line, with_first

STATE = "tracking.json"
_LETTERS = 500  # of a parameter: what every tracker takes


class Tracker(Protocol):
    """What a tracker does; runs may overlap, and steps come in order."""

    def start(self, project: str, name: str, parameters: Facts, earlier: str) -> str:
        """Begin a run, or go on with the one called `earlier` if that is not empty; return what it is called."""

    def log(self, run: str, step: int, numbers: Mapping[str, float]) -> None:
        """Log the numbers after `step` rounds."""

    def finish(self, run: str, page: Path | None, *, failed: bool) -> None:
        """End a run, with the report's page if there is one."""


class TrackedRun(NamedTuple):
    """A run as a tracker gets it."""

    name: str
    parameters: Facts
    metric: str  # by name
    place: Path | None = None  # its folder, unless it is kept in memory


class Tracking:
    """The runs of a comparison in a tracker."""

    def __init__(self, tracker: str | Tracker, folder: Path, project: str, warn: Callable[[str], object]) -> None:
        """Refuse a tracker that is not known or not installed; `folder` is where one without a server writes."""
        self._name = tracker if isinstance(tracker, str) else type(tracker).__name__
        self._tracker = _make(tracker, folder) if isinstance(tracker, str) else tracker
        if not all(callable(getattr(self._tracker, name, None)) for name in ("start", "log", "finish")):
            raise InvalidValue(
                "track", f"one of {', '.join(TRACKERS)}, or an object with start, log and finish", tracker
            )
        self._project, self._warn, self._works = project, warn, True
        self._open: dict[str, str] = {}  # what the tracker calls the runs that are under way, by name
        self._rounds: dict[str, int] = {}  # that were logged, by name

    def log(self, run: TrackedRun, records: Iterable[Record]) -> None:
        """Log the rounds of a run that were not logged before."""
        name = run.name
        if name not in self._rounds:
            self._rounds[name] = int(self._logged(run).get("rounds", 0))
        new = [record for record in records if record.round >= self._rounds[name]]
        if not new or not self._works:
            return
        with self._guarded():
            if name not in self._open:
                shown, earlier = {"name": name} | _flat(run.parameters), str(self._logged(run).get("id", ""))
                self._open[name] = self._tracker.start(self._project, name, shown, earlier)
            for record in new:
                for step, numbers in numbers_of(record, run.metric):
                    self._tracker.log(self._open[name], step, numbers)
            self._rounds[name] = new[-1].round + 1
            if run.place is not None:
                done = {"id": self._open[name], "rounds": self._rounds[name]}
                write_text(run.place / STATE, json_text(_read(run.place) | {self._name: done}))

    def complete(self, run: TrackedRun, records: Iterable[Record]) -> None:
        """Log the rounds of a run that has ended, also of one that ended before it was tracked, and end it."""
        self.log(run, records)
        self.finish(run.name)

    def finish(self, name: str, *, failed: bool = False) -> None:
        """End a run, if it is under way."""
        if name in self._open and self._works:
            with self._guarded():
                self._tracker.finish(self._open.pop(name), None, failed=failed)

    def close(self) -> None:
        """End the runs that are still under way: those that failed or were stopped."""
        for name in list(self._open):
            self.finish(name, failed=True)

    def report(self, page: Path, parameters: Facts) -> None:
        """Log the page of a comparison, if it was written, as an artefact of a separate run."""
        if self._works and page.exists():
            with self._guarded():
                run = self._tracker.start(self._project, "report", {"name": "report"} | _flat(parameters), "")
                self._tracker.finish(run, page, failed=False)

    def beside(self, run: TrackedRun, on_round: Callable[..., object] | None) -> Callable[[Record, object], object]:
        """Return a function for `on_round` that logs each round and then calls the given one."""
        hook = on_round and with_first(on_round, most=2)

        def after_round(record: Record, model: object) -> object:
            self.log(run, [record])
            return None if hook is None else hook(record, model)

        return after_round

    def following(self, runs: Iterable[tuple[TrackedRun, int, Path]]) -> Callable[[], None]:
        """Return a function that logs what was added to rounds.jsonl of runs with this number of rounds."""
        tails = [(run, rounds, Tail(path)) for run, rounds, path in runs]

        def look() -> None:
            for run, rounds, tail in tails:
                self.log(run, tail.read())
                if tail.rounds == rounds:
                    self.finish(run.name)

        return look

    def _logged(self, run: TrackedRun) -> Facts:
        """Return what the tracker calls a run that was logged before, and how many of its rounds it has."""
        found: Facts = {} if run.place is None else _read(run.place).get(self._name, {})
        return found

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            self._works = False
            self._warn(f"{self._name} failed, and nothing more is tracked; the runs go on: {one_line(error)}")


def _read(place: Path) -> Facts:
    with suppress(OSError, ValueError):
        return parse_json((place / STATE).read_bytes())
    return {}


def numbers_of(record: Record, metric: str) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield the numbers of a round after as many rounds as were played; those of the first model after 0."""
    test = f"test_{metric.replace(' ', '_')}"
    first = {"test_loss": record.first_loss, test: record.first_metric}
    after = {"participants": record.participants, "step_size": record.step_size, "train_loss": record.train_loss,
             "test_loss": record.test_loss, test: record.test_metric}  # fmt: skip
    for step, found in ((0, first if record.round == 0 else {}), (record.round + 1, after)):
        numbers = {name: float(x) for name, x in found.items() if x is not None and math.isfinite(x)}
        if numbers:
            yield step, numbers


def _flat(facts: Facts, prefix: str = "") -> Facts:
    """Return parameters by dotted key: numbers as they are, all else as short texts."""
    found: Facts = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            found |= _flat(dict(value), f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value if isinstance(value, int | float) else str(value)[:_LETTERS]
    return found


class _TensorBoard:
    """Event files, a folder a run, and the page beside them: `tensorboard --logdir FOLDER/tensorboard`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "tensorboard"
        self._writers: dict[str, Any] = {}

    def start(self, project: str, name: str, parameters: Facts, earlier: str) -> str:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._writers[name] = EventFileWriter(str(self._folder / name))
        if not earlier:
            rows = "".join(f"| {key} | {value} |\n" for key, value in parameters.items())
            self._write_text(name, "parameters", f"| key | value |\n| --- | --- |\n{rows}")
        return name

    def log(self, run: str, step: int, numbers: Mapping[str, float]) -> None:
        from tensorboard.plugins.scalar.summary_v2 import scalar_pb

        for tag, x in numbers.items():
            self._add(run, scalar_pb(tag, x), step)

    def finish(self, run: str, page: Path | None, *, failed: bool) -> None:
        if page is not None:
            copy = shutil.copy(page, self._folder / run)
            self._write_text(run, "page", str(copy))
        self._writers.pop(run).close()

    def _write_text(self, run: str, tag: str, text: str) -> None:
        from tensorboard.plugins.text.summary_v2 import text_pb

        self._add(run, text_pb(tag, text), 0)

    def _add(self, run: str, summary: Any, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._writers[run].add_event(Event(wall_time=time.time(), step=step, summary=summary))
        self._writers[run].flush()


class _MLflow:
    """Runs of an experiment with the project's name, where MLFLOW_TRACKING_URI says; its telemetry is off."""

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow import MlflowClient

        self._client = MlflowClient()

    def start(self, project: str, name: str, parameters: Facts, earlier: str) -> str:
        from mlflow.entities import Param

        if earlier:
            self._client.update_run(earlier, status="RUNNING")
            return earlier
        found = self._client.get_experiment_by_name(project)
        experiment = self._client.create_experiment(project) if found is None else found.experiment_id
        run = str(self._client.create_run(experiment, run_name=name).info.run_id)
        self._client.log_batch(run, params=[Param(key, str(value)) for key, value in parameters.items()])
        return run

    def log(self, run: str, step: int, numbers: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self._client.log_batch(run, metrics=[Metric(name, x, now, step) for name, x in numbers.items()])

    def finish(self, run: str, page: Path | None, *, failed: bool) -> None:
        if page is not None:
            self._client.log_artifact(run, str(page))
        self._client.set_terminated(run, "FAILED" if failed else "FINISHED")


class _Wandb:
    """Runs of a project; WANDB_MODE=offline keeps them on this machine."""

    def __init__(self, folder: Path) -> None:
        import wandb

        # wandb would ask for a key in the middle of the work.
        if os.environ.get("WANDB_MODE", "online") == "online" and not wandb.login(prompt=False):
            raise UserError("wandb has no key: type wandb login, or set WANDB_MODE=offline")
        self._runs: dict[str, Any] = {}

    def start(self, project: str, name: str, parameters: Facts, earlier: str) -> str:
        import wandb

        quiet = wandb.Settings(silent=True, console="off")  # stdout is for results
        run = wandb.init(project=project, name=name, id=earlier or None, config=parameters, settings=quiet,
                         resume="allow", reinit="create_new")  # fmt: skip
        self._runs[run.id] = run
        return str(run.id)

    def log(self, run: str, step: int, numbers: Mapping[str, float]) -> None:
        self._runs[run].log(dict(numbers), step=step)

    def finish(self, run: str, page: Path | None, *, failed: bool) -> None:
        if page is not None:
            self._runs[run].log_artifact(str(page), name="report", type="report")
        self._runs.pop(run).finish(exit_code=int(failed))


class _Trackio:
    """Runs of a project in Trackio's local database; TRACKIO_DIR says where."""

    def __init__(self, folder: Path) -> None:
        self._runs: dict[str, Any] = {}

    def start(self, project: str, name: str, parameters: Facts, earlier: str) -> str:
        import trackio

        # In a separate context, since init ends the run that it finds in the current one.
        self._runs[name] = contextvars.Context().run(
            trackio.init, project=project, name=name, config=parameters, resume="allow" if earlier else "never",
            embed=False, auto_log_cpu=False, auto_log_gpu=False,
        )  # fmt: skip
        return name

    def log(self, run: str, step: int, numbers: Mapping[str, float]) -> None:
        self._runs[run].log(dict(numbers), step=step)

    def finish(self, run: str, page: Path | None, *, failed: bool) -> None:
        if page is not None:
            self._runs[run].log_artifact(page, name="report", type="report")
        self._runs.pop(run).finish()


TRACKERS: dict[str, Callable[[Path], Tracker]] = {
    "tensorboard": _TensorBoard, "mlflow": _MLflow, "wandb": _Wandb, "trackio": _Trackio,
}  # fmt: skip


def _make(name: str, folder: Path) -> Tracker:
    if name not in TRACKERS:
        raise InvalidValue("track", f"one of {', '.join(TRACKERS)}", name)
    check_extra(name)
    try:
        return TRACKERS[name](folder)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{name} cannot be used: {one_line(error)}") from error
