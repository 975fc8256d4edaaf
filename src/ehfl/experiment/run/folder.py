"""The folder of a comparison and those of its runs: what is compared, which process works in them, their progress.

A run's folder is locked. On a shared file system locks may not reach across machines, and a cluster node that was
declared dead may still work. So each start of a run is recorded in its meta.json, and a process that finds a later
start than its own stops (`Claim`). Progress is read from the folders, for workers here and on a cluster alike.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehfl.experiment.spec.models import Run, Spec
from ehfl.experiment.spec.read import write_spec
from ehfl.runs import (
    SPEC,
    Facts,
    InUse,
    OtherRun,
    RunFolder,
    Tail,
    check_same,
    identity_of,
    read_comparison,
    sole_use,
    write_sealed,
)
from ehfl.validation import UserError, with_first

if TYPE_CHECKING:
    from ehfl.learning.training import OnRound
    from ehfl.runs import Record


def write_comparison(spec: Spec, experiment: Path, folders: Sequence[RunFolder]) -> None:
    """Write a comparison's spec into its folder, where `folders` are its runs; refuse another comparison's folder."""
    _check_same(spec, experiment, folders)
    write_sealed(experiment, write_spec(spec.facts()))


def list_runs(spec: Spec, run: Run, experiment: Path) -> None:
    """Write a spec of this run, and of the spec's other runs that have a folder, into the experiment's folder."""
    others = [one for one in spec.runs() if RunFolder(experiment / one.folder_name).written is not None]
    labels, seeds = {one.arm.label for one in [run, *others]}, {one.seed for one in [run, *others]}
    listed = replace(
        spec,
        arms=tuple(arm for arm in spec.arms if arm.label in labels),
        seeds=tuple(seed for seed in dict.fromkeys([*spec.seeds, run.seed]) if seed in seeds),
    )
    with sole_use(experiment):
        write_comparison(listed, experiment, [RunFolder(experiment / one.folder_name) for one in listed.runs()])


def _check_same(spec: Spec, experiment: Path, folders: Sequence[RunFolder]) -> None:
    """Refuse the folder of another comparison."""
    remedy = "give this one another name"
    if (experiment / "meta.json").exists():
        raise OtherRun(f"{experiment} is the folder of a single run, not of a comparison: {remedy}")
    if not (experiment / SPEC).exists():
        return
    try:
        there, _ = read_comparison(experiment)
    except UserError:
        # The runs in it were checked, so it is the same comparison; its damaged spec is written anew.
        if (experiment / SPEC).is_file() and any(folder.spec.exists() for folder in folders):
            return
        raise
    known, here = _shared(there), _shared(spec.facts())
    fewer = known["rounds"] < here["rounds"]  # its finished runs are extended
    check_same(known | ({"rounds": here["rounds"]} if fewer else {}), here, experiment, remedy)


def _shared(facts: Facts) -> Facts:
    """Return the part of the identity that all runs of a comparison share."""
    return {key: value for key, value in identity_of(facts).items() if key not in ("seeds", "scheduler")}


_LOOK_SECONDS = 1.0  # between two checks: rounds can be much shorter, and each check reads meta.json


@dataclass(slots=True)
class Claim:
    """One start of a run in its folder."""

    folder: RunFolder
    start: dict[str, Any]
    _looked: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise InUse if another process has started the run since."""
        self._looked = time.monotonic()
        last = self.folder.meta().get("starts", [None])[-1]
        if last != self.start:
            raise InUse(f"{self.folder.path} was taken over by another process, which goes on with the run")

    def watching(self, run: Run, on_round: Callable[..., object] | None) -> OnRound:
        """Return a callback for each round: `on_round`, and the check about once a second.

        `on_round` gets as many of (record, model, run) as it takes.
        """
        hook = None if on_round is None else with_first(on_round, most=3)

        def after_round(record: Record, model: object) -> object:
            if time.monotonic() >= self._looked + _LOOK_SECONDS:
                self.check()
            return None if hook is None else hook(record, model, run)

        return after_round


def claimed(folder: RunFolder, **facts: Any) -> Claim:
    """Record in meta.json that the run starts here and now, with these facts, and return the claim."""
    # The token distinguishes starts where host name and process number are equal, as in containers.
    start = {"at": now(), "host": socket.gethostname(), "process": os.getpid(), "token": secrets.token_hex(8)}
    folder.add_meta(**facts | {"starts": [*folder.meta().get("starts", []), start]})
    return Claim(folder, start)


@dataclass(frozen=True, slots=True)
class State:
    """How far a run has come."""

    arm: str
    seed: int
    rounds: int  # played
    total: int  # to play
    metric: float | None  # of the last evaluation
    error: str | None = None  # one line, if it has failed since the follower began
    metric_name: str = "metric"

    @property
    def over(self) -> bool:
        """Whether the run is finished or has failed."""
        return self.rounds == self.total or self.error is not None


class Follower:
    """Reads runs' progress from their folders: new lines of rounds.jsonl, and failures since it was made."""

    def __init__(self, runs: Sequence[Run], experiment: Path, metric_name: str) -> None:
        folders = [RunFolder(experiment / run.folder_name) for run in runs]
        self._metric_name = metric_name
        self._runs = [(run, folder, Tail(folder.rounds)) for run, folder in zip(runs, folders, strict=True)]
        self._seen = [folder.written for folder in folders]  # a failure written before is of an earlier attempt
        self._errors: list[str | None] = [None] * len(folders)

    def look(self) -> list[State]:
        """Return the state of every run."""
        return [self._state(place, *found) for place, found in enumerate(self._runs)]

    def _state(self, place: int, run: Run, folder: RunFolder, tail: Tail) -> State:
        tail.read()  # only what was added since the last look
        if (written := folder.written) != self._seen[place]:
            self._seen[place], self._errors[place] = written, _error_in(folder)
        done, total = tail.rounds, run.setting.rounds
        return State(run.arm.label, run.seed, done, total, tail.metric, self._errors[place], self._metric_name)


def _error_in(folder: RunFolder) -> str | None:
    """Return the error in meta.json, None if the run has not failed."""
    try:
        meta = folder.meta()
    except UserError:
        return None  # the run itself reports a damaged file
    return str(meta.get("error")) if meta.get("status") == "failed" else None


def now() -> str:
    """Return the date and time here, with the offset from UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
