"""A run's folder: what it holds, whose it is, and how far it has come."""

from __future__ import annotations

import json
import platform
import socket
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ehfl
from ehfl.experiment.reading import SpecError, read_stored, write_spec
from ehfl.experiment.spec import Spec
from ehfl.files import write_text
from ehfl.validation import UserError


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
    one, other = _flat(there), _flat(here)
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    told = [f"{key} is {one.get(key)} there and {other.get(key)} here" for key in keys[:2]]
    if keys:
        raise SpecError(
            f"{folder} belongs to another spec ({', '.join(told)}{', ...' if len(keys) > 2 else ''}): give this one "
            "another name (-o name=...) or delete the folder"
        )


def _flat(facts: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(facts, dict):
        items = facts.items()
    elif isinstance(facts, list) and facts and isinstance(facts[0], dict):
        items = dict(enumerate(facts)).items()
    else:
        return {prefix: facts}
    flat: dict[str, Any] = {}
    for key, value in items:
        flat |= _flat(value, f"{prefix}.{key}" if prefix else str(key))
    return flat
