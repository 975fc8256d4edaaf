"""The files in the folders of runs and comparisons, the detection of edited files, and locks.

meta.json is the manifest of a run: when the run ends it gets the digests of the run's files. It has a digest of itself,
as has spec.toml, which a comparison's folder has without a manifest, in its last line. A checkpoint has its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehfl.files import check_digest, check_seal, digest_of_file, parse_json, sealed, sweep, with_digest, write_text
from ehfl.runs.identity import Facts, check_same, identity_of
from ehfl.runs.records import History
from ehfl.runs.rounds_file import ROUNDS
from ehfl.validation import UserError, shown

if sys.platform != "win32":
    import fcntl

SPEC = "spec.toml"
META = "meta.json"
CHECKPOINT = "checkpoint.safetensors"
_POLL_SECONDS = 0.05  # between tries to lock a folder

Release = Callable[[], None]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run: an arm under one seed."""

    path: Path

    @property
    def rounds(self) -> Path:
        """The file of rounds."""
        return self.path / ROUNDS

    @property
    def participation(self) -> Path:
        """The file of participants."""
        return self.path / "participation.npz"

    @property
    def spec(self) -> Path:
        """The file of the run's spec."""
        return self.path / SPEC

    @property
    def remedy(self) -> str:
        """The advice in errors about a damaged file."""
        return f"delete {self.path} to run it again"

    def facts(self) -> Facts | None:
        """Return the spec of the run in this folder, None if there is none yet."""
        return read_own(self.path, self.remedy)[0] if self.spec.exists() else None

    def check_free_for(self, facts: Facts) -> None:
        """Raise an error if the folder belongs to another run; a finished one may have fewer rounds."""
        there = self.facts() if self.path.is_dir() else None
        if there is not None:
            fewer = there["rounds"] < facts["rounds"] and self.finished
            known = identity_of(there) | ({"rounds": facts["rounds"]} if fewer else {})
            check_same(known, identity_of(facts), self.path, "give this one another name or folder")

    def meta(self) -> Facts:
        """Return the content of meta.json, empty before the run started."""
        path = self.path / META
        with being_read(path, self.remedy):
            if not path.exists():
                return {}
            return check_digest(parse_json(path.read_bytes()))

    def add_meta(self, **facts: Any) -> None:
        """Add to meta.json."""
        items = sorted(with_digest(self.meta() | facts).items())
        lines = [f"  {json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in items]
        write_text(self.path / META, "{\n" + ",\n".join(lines) + "\n}\n")

    @property
    def written(self) -> int | None:
        """When meta.json was last written [ns], None before the first time."""
        try:
            return (self.path / META).stat().st_mtime_ns
        except OSError:
            return None

    @property
    def finished(self) -> bool:
        """Whether the run is finished."""
        return bool(self.meta().get("status") == "finished")

    def finished_after(self, rounds: int) -> bool:
        """Whether the run is finished and has at least `rounds` rounds: a shorter one can be extended."""
        facts = self.facts() if self.finished else None
        return facts is not None and int(facts["rounds"]) >= rounds

    def finish(self, found: History) -> None:
        """Write into meta.json that the run is finished, its metric, and the digests of its files."""
        labels = None if found.labels is None else found.labels.tolist()
        served = {"classes": list(found.classes), "labels": labels} if found.classes else {}
        sent = {} if found.traffic is None else found.traffic.facts()
        self.add_meta(status="finished", metric=asdict(found.metric), digests=self._digests(), **served, **sent)

    def check_untouched(self, meta: Facts) -> None:
        """Raise an error for a finished run if a file's digest differs from `meta`."""
        known = meta.get("digests")
        for name, digest in self._digests().items():
            if not isinstance(known, dict) or known.get(name) != digest:
                raise UserError(f"{self.path / name} was edited after the run ended (checksum mismatch): {self.remedy}")

    def _digests(self) -> dict[str, str]:
        found = {}
        for path in (self.participation, self.rounds, self.path / CHECKPOINT):
            with being_read(path, self.remedy):
                found[path.name] = digest_of_file(path)
        return found


def write_sealed(folder: Path, text: str) -> None:
    """Write the spec of a run or of a comparison, in TOML, into its folder."""
    write_text(folder / SPEC, sealed(text))


def read_own(folder: Path, remedy: str) -> tuple[Facts, str]:
    """Return the spec that ehfl wrote into a folder, parsed and as text; refuse one that was edited."""
    path = folder / SPEC
    with being_read(path, remedy):
        text = check_seal(path.read_bytes().decode())
        return tomllib.loads(text), text


@contextmanager
def being_read(path: Path, remedy: str) -> Iterator[None]:
    """Turn errors of a file that ehfl wrote into one line, with what to do about it."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}): {remedy}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged ({error}): {remedy}") from None


def read_comparison(folder: Path) -> tuple[Facts, str]:
    """Return the spec in a comparison's folder, parsed and as text; refuse one that was edited."""
    # Never advise to delete the folder: its runs have their own specs and may be undamaged.
    return read_own(folder, "its runs may be intact: ehfl compare with their spec writes it again")


def holds_runs(folder: Path) -> bool:
    """Return whether a folder is a run's or has runs' folders in it."""
    return (folder / META).exists() or any(folder.glob(f"*/{META}"))


def read_facts(path: Path) -> Facts:
    """Return the content of a user's TOML file, or raise UserError with one line that names it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{shown(path)} must be a readable TOML file ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from None


class InUse(UserError):
    """Another process holds the lock of the folder."""


@contextmanager
def sole_use(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Lock a folder, which must exist; raise InUse if another process holds its lock for longer than `patience` [s].

    The system releases the lock when the process ends. Temporary files of killed processes are deleted.
    """
    deadline = time.monotonic() + patience
    while (release := _lock(folder)) is None:
        if time.monotonic() >= deadline:
            raise InUse(f"{folder} is in use by another process; wait for it, or stop it")
        time.sleep(_POLL_SECONDS)
    try:
        sweep(folder)
        yield
    finally:
        release()


def _lock(folder: Path) -> Release | None:
    """Return a function that releases the lock, None while another process holds it.

    The folder itself is locked, since a lock file in it could be deleted by hand.
    """
    if sys.platform == "win32":
        return _lock_by_file(folder)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # network file systems, such as NFS, lock only files
        os.close(handle)
        return _lock_by_file(folder)
    return lambda: os.close(handle)


def _lock_by_file(folder: Path) -> Release | None:
    from filelock import FileLock, Timeout

    lock = FileLock(folder.resolve() / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock.release
