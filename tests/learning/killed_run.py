"""A run to be killed: `python killed_run.py train DIR` trains, `... sweep DIR KIND` kills one at every instant.

KIND is "played" (the participants are known) or "lockstep" (they are chosen by losses, and the aggregation remembers).
An instant is just before a write to the history, half way through one, and just before each fsync, rename and
truncation: what lies between two of them changes nothing on the disk.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ehfl import AlwaysOn, Bernoulli, Fleet, Lockstep, PowerOfChoice, simulate
from ehfl.learning import train
from ehfl.runs import HistoryFile, read_history

Run = Callable[[Path], object]
QUICK: dict[str, Any] = {
    "local_steps": 2, "batch_size": 10, "eval_every": 3, "checkpoint_every": 2, "workers": 1, "device": "cpu"
}  # fmt: skip


def played(folder: Path, rounds: int = 7, task: str = "quadratic") -> None:
    mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(2), rounds)
    train(task, mains, **QUICK, run_dir=folder)


def lockstep(folder: Path) -> None:
    fleet = Fleet(clients=3, harvest=Bernoulli(0.5), initial=2)
    plan = Lockstep(fleet, PowerOfChoice(target=1, candidates=3), rounds=6)  # losses decide from round 3 on
    momentum = "server_momentum:ServerMomentum"
    train("quadratic", plan, **QUICK, run_dir=folder, step_size="nominal-causal:window=2", aggregation=momentum)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Countdown:
    """Counts the instants of a run, and kills it at a given one."""

    def __init__(self, instant: int) -> None:
        self.left = instant

    def tick(self) -> bool:
        self.left -= 1
        return self.left < 0

    def before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **options: Any) -> Any:
            if self.tick():
                die()
            return call(*given, **options)

        return wrapped


def run_until(instant: int, run: Run, folder: Path) -> None:
    countdown = Countdown(instant)
    append = HistoryFile.append

    def torn(file: HistoryFile, record: Any) -> None:
        if countdown.tick():
            file._file.write(b'{"round": ')
            die()
        append(file, record)

    HistoryFile.append = countdown.before(torn)  # type: ignore[method-assign]
    os.fsync, os.truncate = countdown.before(os.fsync), countdown.before(os.truncate)
    Path.replace = countdown.before(Path.replace)  # type: ignore[method-assign]
    run(folder)


def in_a_child(work: Callable[[], object]) -> bool:
    """Return whether the child was killed; a child that fails is an error."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # the child must not return into the sweep
            print(error, file=sys.stderr, flush=True)  # noqa: T201
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, "the run failed"
    return False


def sweep(folder: Path, run: Run) -> dict[str, Any]:
    """Kill a run at each instant, run it again, and compare with one that was left alone."""
    whole = folder / "whole"
    run(whole)
    different: list[int] = []
    for instant in itertools.count():
        place = folder / str(instant)
        if not in_a_child(lambda: run_until(instant, run, place)):  # noqa: B023
            return {"instants": instant, "different": different}
        in_a_child(lambda: run_until(instant // 2, run, place))  # noqa: B023  # most are killed again, when resuming
        in_a_child(lambda: run(place))  # noqa: B023
        same_model = (place / "checkpoint.safetensors").read_bytes() == (whole / "checkpoint.safetensors").read_bytes()
        if not same_model or read_history(place / "rounds.jsonl") != read_history(whole / "rounds.jsonl"):
            different.append(instant)
    raise AssertionError("unreachable")


if __name__ == "__main__":
    if sys.argv[1] == "sweep":
        kinds: dict[str, Run] = {"played": played, "lockstep": lockstep}
        print(json.dumps(sweep(Path(sys.argv[2]), kinds[sys.argv[3]])))  # noqa: T201
    else:
        played(Path(sys.argv[2]), rounds=120, task="digits")
