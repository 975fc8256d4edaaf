"""What happened in each round, in memory and as JSON lines that survive a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ehfl.validation import UserError


@dataclass(frozen=True, slots=True)
class Record:
    """One round. Two records are equal if all but the timing is: a resumed run's clock is another one."""

    round: int  # t
    participants: int  # n_t
    step_size: float  # eta_t
    train_loss: float | None  # mean over the participants' minibatches; None in an empty round
    test_loss: float | None = None  # of x_{t+1}, where it was evaluated
    test_metric: float | None = None
    seconds: float = field(default=0.0, compare=False)  # for training in this round [s]
    eval_seconds: float = field(default=0.0, compare=False)  # for its evaluation [s]


_WHOLE = {"round", "participants"}
_OPTIONAL = {"train_loss", "test_loss", "test_metric"}


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """All rounds of a run and the model it ended with."""

    records: tuple[Record, ...]
    metric_name: str  # what test_metric is
    weights: NDArray[np.float32]  # x_T, (n_params,), in the order of the model's parameters()

    @property
    def evaluations(self) -> tuple[Record, ...]:
        """The rounds after which the model was evaluated."""
        return tuple(record for record in self.records if record.test_loss is not None)

    @property
    def final_metric(self) -> float | None:
        """The test metric of the last evaluation, None if there was none."""
        return self.evaluations[-1].test_metric if self.evaluations else None


class HistoryFile:
    """Append-only JSON lines, one a round: each is handed to the system as soon as its round is over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] = path.open("a", encoding="utf-8")

    def append(self, record: Record) -> None:
        """Write one line; a kill of this process cannot lose it any more."""
        self._file.write(json.dumps(asdict(record), allow_nan=False) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Wait until all lines are on the disk: what a checkpoint relies on."""
        os.fsync(self._file.fileno())

    def __enter__(self) -> HistoryFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()


def read_history(path: Path) -> list[Record]:
    """Return the rounds that a history file holds; a last line that was torn by a kill is left out."""
    return [record for record, _ in _lines(path)]


def rewind(path: Path, rounds: int) -> list[Record]:
    """Cut the file back to its first `rounds` rounds, those that a checkpoint stands for, and return them."""
    kept = [(record, end) for record, end in _lines(path) if record.round < rounds]
    if [record.round for record, _ in kept] != list(range(rounds)):
        raise UserError(f"{path} lacks rounds before {rounds}, where the checkpoint stands: delete the folder's files")
    if path.exists():
        os.truncate(path, kept[-1][1] if kept else 0)
    return [record for record, _ in kept]


def _lines(path: Path) -> Iterable[tuple[Record, int]]:
    """Yield each whole line's record and where the line ends in the file."""
    content = path.read_bytes() if path.exists() else b""
    end = 0
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            return
        end += len(line)
        try:
            yield _record(json.loads(line)), end
        except (ValueError, TypeError) as error:
            raise UserError(f"{path} is damaged at byte {end - len(line)}: {error}") from error


def _record(facts: dict[str, Any]) -> Record:
    """Return the record of a line, whose values must be of the kinds that were written."""
    record = Record(**facts)
    for name, value in asdict(record).items():
        kinds = (int,) if name in _WHOLE else (int, float)
        absent = value is None and name in _OPTIONAL
        if not absent and (isinstance(value, bool) or not isinstance(value, kinds)):
            raise ValueError(f"{name} cannot be {value!r}")
    return record
