"""How far runs have come, read from their folders: the same for workers here and on a cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ehfl.experiment.run_folder import RunFolder
from ehfl.experiment.spec import Spec
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

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.rounds == self.total or self.error is not None


class Follower:
    """Reads what was added to each rounds.jsonl since it last looked, and which runs have failed since it began to."""

    def __init__(self, runs: Sequence[Spec], experiment: Path) -> None:
        folders = [RunFolder.of(run, experiment) for run in runs]
        self._runs = [(run, _Tail(of.rounds), _Failure(of)) for run, of in zip(runs, folders, strict=True)]

    def look(self) -> list[State]:
        """Return the state of every run."""
        return [self._state(*found) for found in self._runs]

    def _state(self, run: Spec, tail: _Tail, failure: _Failure) -> State:
        tail.read()
        return State(run.arm.label, run.seed, tail.rounds, run.rounds, tail.metric, failure.read())


class _Tail:
    """A file that grows, and is cut back when its run is resumed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._restart()

    def _restart(self) -> None:
        self.position, self.rounds = 0, 0
        self.metric: float | None = None

    def read(self) -> None:
        """Take in what was added."""
        if not self.path.exists():
            return
        if self.path.stat().st_size < self.position:
            self._restart()
        with self.path.open("rb") as file:
            file.seek(self.position)
            for line in file:
                if line.endswith(b"\n"):
                    self._take(line)

    def _take(self, line: bytes) -> None:
        self.position += len(line)
        try:
            record = json.loads(line)
            self.rounds = record["round"] + 1
            metric = record["test_metric"]
        except (ValueError, TypeError, KeyError):
            return  # the run itself will complain
        self.metric = self.metric if metric is None else metric


class _Failure:
    """What a run's meta.json says went wrong; of an earlier attempt it is no news."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.seen = folder.written
        self.error: str | None = None

    def read(self) -> str | None:
        """Return the error in one line, None where there is none."""
        written = self.folder.written
        if written != self.seen:
            self.seen, self.error = written, self._told()
        return self.error

    def _told(self) -> str | None:
        try:
            meta = self.folder.meta()
        except UserError:
            return None  # the run itself will complain
        return str(meta.get("error")) if meta.get("status") == "failed" else None
