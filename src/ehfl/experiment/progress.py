"""How far runs have come, read from their folders: the same for workers here and on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ehfl.experiment.spec import Run
from ehfl.history import Tail
from ehfl.run_folder import RunFolder
from ehfl.validation import UserError


@dataclass(frozen=True, slots=True)
class State:
    """How far a run has come."""

    arm: str
    seed: int
    rounds: int  # played
    total: int  # to play
    metric: float | None  # of the last evaluation
    error: str | None = None  # one line, where it has failed since we began to look
    metric_name: str = "metric"

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.rounds == self.total or self.error is not None


class Follower:
    """Reads what was added to each rounds.jsonl since it last looked, and which runs have failed since it began to."""

    def __init__(self, runs: Sequence[Run], experiment: Path, metric_name: str) -> None:
        folders = [RunFolder(experiment / run.folder_name) for run in runs]
        self._metric_name = metric_name
        self._runs = [(run, Tail(of.rounds), _Failure(of)) for run, of in zip(runs, folders, strict=True)]

    def look(self) -> list[State]:
        """Return the state of every run."""
        return [self._state(*found) for found in self._runs]

    def _state(self, run: Run, tail: Tail, failure: _Failure) -> State:
        tail.read()  # only what was added since the last look
        done, total = tail.rounds, run.setting.rounds
        return State(run.arm.label, run.seed, done, total, tail.metric, failure.read(), self._metric_name)


class _Failure:
    """What a run's meta.json says went wrong; the failure of an earlier attempt is no news."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._seen = folder.written  # what stood there before we began is of an earlier attempt
        self._error: str | None = None

    def read(self) -> str | None:
        """Return the error in one line, None where there is none."""
        written = self._folder.written
        if written != self._seen:
            self._seen, self._error = written, self._latest()
        return self._error

    def _latest(self) -> str | None:
        try:
            meta = self._folder.meta()
        except UserError:
            return None  # the run itself will complain of a damaged file
        return str(meta.get("error")) if meta.get("status") == "failed" else None
