"""Inputs that decide a run's numbers beside its spec: data, files that it reads, and user code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from ehfl import user_code
from ehfl.experiment.spec import build
from ehfl.experiment.spec.models import Run, Setting
from ehfl.files import digest_of_file, fingerprint
from ehfl.registry import is_user_class
from ehfl.runs import Facts, OtherRun, RunFolder, files_named_in, inside
from ehfl.validation import UserError

Inputs = dict[str, str]  # a fingerprint each

_OTHERS = {
    "data": "other data",
    "weather": "other weather (a harvest that asks hash(), a clock or its environment is another one in each process)",
}


def inputs_of(run: Run, data: str) -> Inputs:
    """Return the fingerprints of a run's data, of files that it reads, of user code file by file, and of user classes.

    The fingerprint of a class is that of all its files, which shows whether arms share it.
    """
    setting = run.setting
    classes = {name: user_code.versions(name.partition(":")[0]) for name in setting.user_classes()}
    files = {file: mark for versions in classes.values() for file, mark in versions.items()}
    weather = {"weather": _weather(setting)} if is_user_class(setting.fleet.harvest_table()) else {}
    marks = {name: _together(versions) for name, versions in classes.items()}
    return {"data": data} | dict(_read(run.facts())) | files | weather | marks


def check_inputs(folder: RunFolder, inputs: Inputs) -> None:
    """Refuse a run that was begun with other data or code."""
    before = folder.meta().get("inputs")
    if not isinstance(before, dict):  # not begun
        return
    if difference := _difference(before, inputs):
        raise OtherRun(
            f"{folder.path} was run {difference}: delete the folder to run it again, or give this spec another name"
        )


def check_still(run: Run, inputs: Inputs, data: str) -> None:
    """Refuse a run if data, files or code have changed since its comparison began."""
    if data != inputs["data"]:
        raise UserError(
            "learning.task has other data than when the comparison began: either their files have changed, or the task "
            "makes them by chance without a seed"
        )
    if difference := _difference(inputs, inputs_of(run, data)):
        raise UserError(f"the comparison began {difference}: put it back as it was, or give this spec another name")


def _weather(setting: Setting) -> str:
    """Return the fingerprint of a few rounds of a harvest, which must be the same in every process."""
    fleet = build.fleet_of(setting)
    seed = 0  # not the run's: what an arm is made from is the same under all its seeds
    units = fleet.harvest.units(seed, range(min(setting.rounds, 20)), range(min(fleet.clients, 10)))
    return fingerprint(repr(np.asarray(units).tolist()).encode())


def _difference(before: Inputs, now: Inputs) -> str:
    """Return the first difference in words, an empty string if there is none."""
    # Files come before classes, since they say more.
    for name in sorted({**now, **before}, key=lambda name: ":" in name):
        if name not in now:
            return f"with {name}, which is not there now"
        if name not in before:
            return f"without {name}"
        if before[name] != now[name]:
            return f"with {_OTHERS.get(name, f'another version of {name}')}"
    return ""


def _read(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield key and fingerprint of each file that parameters name, and of each folder that user classes read.

    Folders of registered tasks are covered by the fingerprint of the data.
    """
    for key, path in files_named_in(facts).items():
        if path.is_file():
            yield key, _content(path)
        elif path.is_dir() and is_user_class(_owner(facts, key)):
            files = [file for file in path.rglob("*") if file.is_file()]
            yield key, _together({file.relative_to(path).as_posix(): _content(file) for file in files})


def _owner(facts: Facts, key: str) -> Facts:
    """Return the table that has a path, or a list of paths, as a parameter."""
    *sections, last = key.split(".")
    owner: Facts = inside(facts, sections[:-1] if last.isdecimal() else sections)
    return owner


def _content(path: Path) -> str:
    found = path.stat()
    return _hashed(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=10_000)  # runs share what they read, and it may be large
def _hashed(path: Path, size: int, written: int) -> str:
    return digest_of_file(path)[:16]


def _together(marks: Inputs) -> str:
    return fingerprint(repr(sorted(marks.items())).encode())
