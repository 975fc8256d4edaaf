"""How far one run has come: its status, rounds, metric and batteries, read from its folder while it is written."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ehfl.files import is_alive
from ehfl.runs import Evaluation, Facts, Record, RunFolder, Tail, evaluations_of
from ehfl.scheduling import Participation
from ehfl.validation import UserError, one_line, printable

MOST_POINTS = 300  # of a curve: more than a screen shows
MOST_BATTERIES = 200  # that are shown one by one

# What a file of a damaged or foreign folder raises when it is taken for ehfl's own.
UNREADABLE = (UserError, OSError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(slots=True)
class Progress:
    """A run that is followed: what was read of its files is not read again."""

    arm: str
    seed: int
    total: int  # rounds to play
    folder: RunFolder
    _tail: Tail = field(init=False)
    _evaluations: list[Evaluation] = field(default_factory=list)
    _last: Record | None = None
    _checked: tuple[object, ...] | None = None  # the state of a finished run's files when they were last checked
    _fault: str = ""

    def __post_init__(self) -> None:
        self._tail = Tail(self.folder.rounds)

    def status(self) -> tuple[str, str, Facts]:
        """Return the run's status, the reason where it failed or is damaged, and its meta.json."""
        status, why, meta = _status_of(self.folder)
        if status == "finished" and (fault := self._check(meta)):
            status, why = "damaged", fault
        return status, why, meta

    def read(self) -> Facts:
        """Return the state of the run, ready for JSON."""
        status, why, meta = self.status()
        self._follow()
        metric = meta.get("metric")
        return {
            "name": self.folder.path.name,
            "arm": self.arm,
            "seed": self.seed,
            "status": status,
            "why": why,
            "rounds": self._tail.rounds,
            "total": self.total,
            "metric_name": str(metric.get("name")) if isinstance(metric, dict) else None,
            "metric": self._tail.metric,
            "curve": [[one.rounds, one.metric] for one in _thinned(self._evaluations)],
            "silent": _age(self.folder.rounds) if status == "running" else None,
        }

    def batteries(self) -> Facts | str:
        """Return the batteries after the last round that was played, or why they are not known."""
        if self._last is not None and self._last.devices is not None:
            return {"levels": list(self._last.devices.energy)[:MOST_BATTERIES], "mean": [], "unit": "as devices say"}
        path = self.folder.participation
        if not path.exists():
            return "known when the run ends: its scheduler chooses by losses"
        try:
            return _batteries(path, path.stat().st_mtime_ns, self._tail.rounds)
        except UNREADABLE as error:
            return f"{path.name} cannot be read: {one_line(error)}"

    def _follow(self) -> None:
        records = self._tail.read()
        if records and records[0].round == 0:  # of a resumed run, which may have fewer rounds than before
            self._evaluations = []
        self._evaluations += evaluations_of(records)
        self._last = records[-1] if records else self._last

    def _check(self, meta: Facts) -> str:
        """Return what is wrong with the files of a finished run, an empty string if nothing is."""
        state = tuple(_written(path) for path in (self.folder.rounds, self.folder.participation, self.folder.path))
        if state != self._checked:
            self._checked, self._fault = state, ""
            try:
                self.folder.check_untouched(meta)
            except UserError as error:
                self._fault = one_line(error)
        return self._fault


def _status_of(folder: RunFolder) -> tuple[str, str, Facts]:
    try:
        meta = folder.meta()
        status = meta.get("status", "waiting")
        if status == "failed":
            return "failed", printable(str(meta.get("error"))), meta
        start = meta["starts"][-1] if status == "running" else {}
        if start.get("host") == socket.gethostname() and not is_alive(int(start["process"])):
            return "stopped", "its process has ended; the same command goes on from here", meta
    except UNREADABLE as error:
        return "damaged", one_line(error), {}
    return status if status in ("running", "finished", "waiting") else "damaged", "", meta


@lru_cache(maxsize=4)  # levels of a large fleet take megabytes, and a page asks every second
def _levels(path: Path, written: int) -> tuple[Any, str]:
    played = Participation.load(path)
    scale, unit = (1.0, played.unit) if played.quantum is None else (played.quantum, "J")
    return None if played.energy is None else played.energy * scale, unit


def _batteries(path: Path, written: int, rounds: int) -> Facts | str:
    levels, unit = _levels(path, written)
    if levels is None:
        return "not recorded for so large a fleet"
    here = min(rounds, len(levels) - 1)
    means = levels[: here + 1].mean(axis=1)
    at = np.unique(np.linspace(0, here, min(here + 1, MOST_POINTS)).astype(int))
    mean = [[int(t), float(means[t])] for t in at]
    return {"levels": levels[here, :MOST_BATTERIES].tolist(), "mean": mean, "unit": unit}


def _thinned(evaluations: list[Evaluation]) -> list[Evaluation]:
    step = -(-len(evaluations) // MOST_POINTS) or 1
    return evaluations[:-1:step] + evaluations[-1:]


def _age(path: Path) -> float | None:
    """Return how long ago the file was written [s]."""
    written = _written(path)
    return None if written is None else max(0.0, time.time() - written / 1e9)


def _written(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
