"""How far runs have come, read from their folders: the same for workers here and on a cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ehfl.experiment.run_folder import RunFolder
from ehfl.experiment.spec import Spec


@dataclass(frozen=True, slots=True)
class State:
    """How far a run has come."""

    arm: str
    seed: int
    rounds: int  # played
    total: int  # to play
    metric: float | None  # of the last evaluation


class Follower:
    """Reads what was added to each rounds.jsonl since it last looked."""

    def __init__(self, runs: Sequence[Spec], experiment: Path) -> None:
        self._tails = [(run, _Tail(RunFolder.of(run, experiment).rounds)) for run in runs]

    def look(self) -> list[State]:
        """Return the state of every run."""
        for _, tail in self._tails:
            tail.read()
        return [State(run.arm.label, run.seed, tail.rounds, run.rounds, tail.metric) for run, tail in self._tails]


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
