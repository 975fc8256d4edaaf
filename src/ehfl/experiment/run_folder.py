"""A run's folder: what it holds, whose it is, and how far it has come."""

from __future__ import annotations

import json
import platform
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ehfl
from ehfl.experiment.reading import SpecError, read_stored, write_spec
from ehfl.experiment.spec import Spec
from ehfl.files import write_text
from ehfl.validation import UserError, short


@dataclass(frozen=True, slots=True)
class RunFolder:
    """runs/<name>/<arm>-s<seed>: spec.toml, meta.json, rounds.jsonl, checkpoints, participation.npz."""

    path: Path

    @staticmethod
    def of(run: Spec, experiment: Path) -> RunFolder:
        """Return the folder of a single run."""
        return RunFolder(experiment / f"{run.arm.slug}-s{run.seed}")

    @property
    def rounds(self) -> Path:
        """The rounds so far, one a line."""
        return self.path / "rounds.jsonl"

    @property
    def participation(self) -> Path:
        """Who took part when."""
        return self.path / "participation.npz"

    def spec(self) -> Spec | None:
        """Return the spec that this folder belongs to, None if it belongs to none yet."""
        path = self.path / "spec.toml"
        try:
            return read_stored(path) if path.exists() else None
        except SpecError as error:
            raise SpecError(f"{error}: delete {self.path} to run it again") from error

    def check_free_for(self, run: Spec) -> None:
        """Refuse a folder that belongs to another spec."""
        if not self.path.is_dir():
            return
        there = self.spec()
        if there is not None:
            check_same(there.identity(), run.identity(), self.path)

    def claim(self, run: Spec) -> None:
        """Say whose the folder is."""
        self.check_free_for(run)
        write_text(self.path / "spec.toml", write_spec(run))

    def meta(self) -> dict[str, Any]:
        """Return the facts about the run, none before it started."""
        path = self.path / "meta.json"
        try:
            facts = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if not isinstance(facts, dict):
                raise ValueError("it holds no facts by name")
            return facts
        except ValueError as error:
            raise UserError(f"{path} is damaged ({error}): delete {self.path} to run it again") from error

    @property
    def written(self) -> int | None:
        """When the facts were last written [ns], None before the first time."""
        try:
            return (self.path / "meta.json").stat().st_mtime_ns
        except OSError:
            return None

    def tell(self, **facts: Any) -> None:
        """Add facts about the run."""
        write_text(self.path / "meta.json", json.dumps(self.meta() | facts, indent=2, sort_keys=True) + "\n")

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.meta().get("status") == "finished"


def about_here() -> dict[str, Any]:
    """Return what a reader of the numbers may want to know of where they came from."""
    packages = {name: version(name) for name in ("numpy", "torch")}
    return {
        "version": ehfl.__version__,
        "commit": _commit(),
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **packages,
    }


def now() -> str:
    """Return the time, as people and machines read it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


@cache
def _commit() -> str | None:
    """Return the commit of a checked-out ehfl, "+" after it if files were changed since; None if installed."""
    here = Path(ehfl.__file__).parent
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            cwd=here, capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip() or None


def check_same(there: dict[str, Any], here: dict[str, Any], folder: Path) -> None:
    """Refuse a folder whose spec differs from the one at hand, and name the first keys that do, with both values."""
    found = [f"{key} is {_shown(one)} there and {_shown(other)} here" for key, one, other in _differences(there, here)]
    if found:
        raise SpecError(
            f"{folder} belongs to another spec ({', '.join(found[:3])}{', ...' if len(found) > 3 else ''}): give this "
            "one another name (-o name=...) or delete the folder"
        )


def _differences(one: Any, other: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the keys whose values differ, with both; sections and lists of arms are looked into where both are such."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one | other:
            yield from _differences(one.get(name), other.get(name), f"{key}.{name}".lstrip("."))
    elif _arms(one) and _arms(other) and len(one) == len(other):
        for at, (mine, theirs) in enumerate(zip(one, other, strict=True), start=1):
            yield from _differences(mine, theirs, f"{key}.{at}")
    elif one != other:
        yield key, one, other


def _arms(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(arm, dict) for arm in value)


def _shown(value: Any) -> str:
    return "not set" if value is None else short(str(value))
