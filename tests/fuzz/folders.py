"""Run folders that were damaged: the same numbers come out of them, or one line that names what is damaged."""

from __future__ import annotations

import atexit
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import torch

import ehfl
from ehfl.experiment import Spec, execute, read_spec
from ehfl.experiment.run.execute import Cores
from ehfl.runs import Record, RunFolder
from ehfl.validation import UserError

from .damage import DAMAGES
from .judging import call, files_in, judge, judge_error
from .values import typed

SPEC = {
    "name": "made", "rounds": 12, "seeds": 2, "schedulers": ["greedy", "power-of-choice:1"],
    "fleet": {"clients": 3}, "learning": {"task": "quadratic", "local_steps": 1, "step_size": 0.1},
    "evaluation": {"every": 4},
}  # fmt: skip
Numbers = dict[tuple[str, int], Any]  # by arm and seed


def try_folder(chance: Random, place: Path) -> Iterator[str]:
    """Damage a folder, and read, report or go on with it."""
    done = damaged(chance, place, chance.choice(("finished", "finished", "half")))
    action = chance.choice((read, resume, load))
    yield f"{done}; then {action.__name__}"
    try:
        yield from action(place)
    except (UserError, OSError) as error:  # the system's errors name the file
        yield from judge_error(error)
        if "runs/made" not in str(error):
            yield f"no path in: {error}"


def try_report(chance: Random, place: Path) -> Iterator[str]:
    """Damage a folder, and report all of it or a single run, page and figures, from the command line."""
    done = damaged(chance, place, "finished")
    folder = chance.choice(("runs/made", "runs/made/greedy-s0"))
    more = chance.choice(([], [], ["--goal", typed(chance)], ["runs/made"], ["--out", typed(chance)]))
    words = ["report", folder, "--json", "--out", "out", *more]
    yield f"{done}; then ehfl {shlex.join(words)}"
    outcome = call(words)
    yield from judge(words, outcome, files_in(place / "out"))
    if outcome.code == 2 and not more and "runs/made" not in outcome.err:
        yield f"no path in: {outcome.err}"
    elif outcome.code == 0:
        yield from _same(ehfl.read(folder))


def damaged(chance: Random, place: Path, state: str) -> str:
    """Put an experiment in this state into runs/made, damage a file or two of it, and say how."""
    shutil.copytree(_made() / state, place / "runs" / "made")
    done = []
    for _ in range(chance.choice((1, 1, 1, 2))):
        files = sorted(path for path in (place / "runs").rglob("*") if path.is_file() and path.name != ".lock")
        if not files:  # the whole experiment is gone
            break
        path = chance.choice(files)
        done.append(f"{path.relative_to(place)}: {chance.choice(DAMAGES)(chance, path, files)}")
    return "; ".join(done)


def read(place: Path) -> Iterator[str]:
    """Read the experiment."""
    yield from _same(ehfl.read(place / "runs" / "made"))


def resume(place: Path) -> Iterator[str]:
    """Go on with the experiment, and run what is not there."""
    yield from _same(ehfl.compare(_spec(), runs=place / "runs", jobs=1))


def load(place: Path) -> Iterator[str]:
    """Load the model of a run."""
    run = place / "runs" / "made" / "greedy-s0"
    if not all(torch.equal(one, _weights()[name]) for name, one in ehfl.load_model(run).state_dict().items()):
        yield "another model is loaded, without a word"


def numbers_of(compared: ehfl.Comparison) -> Numbers:
    """Return everything that a comparison knows of each run."""
    found: Numbers = {}
    for arm in compared.arms:
        for trial in arm.trials:
            played = trial.participation
            who = [played.clients(t).tolist() for t in range(played.rounds)]
            settled = (played.spent.tolist(), played.final_energy.tolist(), played.totals, played.target, played.unit)
            records: list[Record] = list(trial.records)
            found[arm.name, trial.seed] = (records, who, settled, compared.metric, trial.met, trial.local_steps)
    return found


def _same(compared: ehfl.Comparison) -> Iterator[str]:
    """Yield what is not as it was before the damage; a run may be missing where that is told."""
    before = _numbers()
    for key, found in numbers_of(compared).items():
        if found != before.get(key):
            wrong = next(at for at, (one, other) in enumerate(zip(found, before[key], strict=True)) if one != other)
            yield f"{key} has other numbers now, without a word: {found[wrong]!r} instead of {before[key][wrong]!r}"


@cache
def _spec() -> Spec:
    return read_spec(SPEC)


@cache
def _made() -> Path:
    """Return a folder with a finished experiment, and one in which a run was stopped after its checkpoint."""
    place = Path(tempfile.mkdtemp(prefix="fuzz-made-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    ehfl.compare(_spec(), runs=place, jobs=1)
    (place / "made").rename(place / "finished")
    shutil.copytree(place / "finished", place / "half")
    for run in _spec().runs()[-2:]:
        folder = RunFolder(place / "half" / run.folder_name)
        inputs = folder.meta()["inputs"]
        shutil.rmtree(folder.path)
        try:
            execute(run, folder, Cores(1), inputs, _stop)
        except KeyboardInterrupt:
            continue
    return place


def _stop(record: Record) -> None:
    if record.round == 10:
        raise KeyboardInterrupt


@cache
def _weights() -> dict[str, torch.Tensor]:
    return dict(ehfl.load_model(_made() / "finished" / "greedy-s0").state_dict())


@cache
def _numbers() -> Numbers:
    return numbers_of(ehfl.read(_made() / "finished"))
