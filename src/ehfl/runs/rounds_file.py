"""rounds.jsonl: one line per round, written at the end of the round."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO

from ehfl.files import naming, parse_json, written_whole
from ehfl.runs.records import Devices, Record, evaluations_of
from ehfl.validation import UserError

ROUNDS = "rounds.jsonl"
_TIMES = {"seconds", "eval_seconds"}
_LISTS = ("losses", "steps", "by_class", "by_client", "first_by_class")


class HistoryFile:
    """Append-only JSON lines, one per round, each written at the end of its round."""

    def __init__(self, path: Path, past: Iterable[Record] = ()) -> None:
        """Open the file, which already contains the rounds `past`."""
        self.path = path
        self._digest = _digest_without_times(past)
        self._file: IO[bytes] = path.open("ab", buffering=0)

    def append(self, record: Record) -> None:
        """Write one line; killing this process afterwards does not lose it."""
        rest = _line(record)
        with naming(self.path):
            while rest:  # a write to a nearly full disk may be partial
                rest = rest[self._file.write(rest) :]
        self._digest.update(_line(record, times=False))

    @property
    def digest(self) -> str:
        """The digest of the rounds so far, times left out: equal runs have equal digests."""
        return self._digest.hexdigest()

    def sync(self) -> None:
        """Wait until all lines are on the disk: what a checkpoint relies on."""
        with naming(self.path):
            os.fsync(self._file.fileno())

    def __enter__(self) -> HistoryFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()


def rounds_digest(records: Iterable[Record]) -> str:
    """Return the digest of rounds, times left out: equal runs have equal digests."""
    return _digest_without_times(records).hexdigest()


def _digest_without_times(records: Iterable[Record]) -> hashlib._Hash:
    return hashlib.sha256(b"".join(_line(record, times=False) for record in records))


def _line(record: Record, *, times: bool = True) -> bytes:
    facts = record.facts()
    kept = facts if times else {name: value for name, value in facts.items() if name not in _TIMES}
    return json.dumps(kept, allow_nan=False).encode() + b"\n"


def read_history(path: Path) -> list[Record]:
    """Return the rounds that a history file holds; a last line that was torn by a kill is left out."""
    return [record for record, _ in _lines(path)]


def rewind(path: Path, rounds: int, digest: str) -> list[Record]:
    """Cut the file back to its first `rounds` rounds, those before a checkpoint, and return them.

    They must have the digest that the checkpoint names: a resumed run does not carry damage on.
    """
    remedy = f"delete {path.parent} to run it again"
    try:
        kept = list(islice(_lines(path), rounds))
    except UserError as error:
        raise UserError(f"{error}: {remedy}") from error
    records = [record for record, _ in kept]
    if len(records) < rounds:
        raise UserError(f"{path} lacks rounds before {rounds}, where the checkpoint stands: {remedy}")
    if rounds_digest(records) != digest:
        fault = f"checksum mismatch in its first {rounds} rounds"
        raise UserError(f"{path} was edited after ehfl wrote it ({fault}): {remedy}")
    if path.exists():
        # A new file, so that an old process that still runs does not write into it.
        with written_whole(path) as file:
            file.write(path.read_bytes()[: kept[-1][1] if kept else 0])
    return records


class Tail:
    """The end of a history file that another process is writing: rounds so far and the last evaluation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._restart()

    def _restart(self) -> None:
        self._position = 0
        self.rounds = 0
        self.metric: float | None = None

    def read(self) -> list[Record]:
        """Read the lines that were added, and return their rounds.

        A file that is shorter than before belongs to a resumed run: then all of its rounds are returned, round 0 first.
        """
        if not self._path.is_file():
            return []
        if self._path.stat().st_size < self._position:
            self._restart()
        try:
            return self._take(_lines(self._path, self._position, self.rounds))
        except UserError:
            # A resumed run may have truncated and extended the file, so that the position is inside a line.
            self._restart()
            with suppress(UserError):  # the run itself reports a damaged file
                return self._take(_lines(self._path))
        return []

    def _take(self, lines: Iterable[tuple[Record, int]]) -> list[Record]:
        taken = []
        for record, end in lines:
            taken.append(record)
            self._position, self.rounds = end, record.round + 1
            for found in evaluations_of([record]):
                self.metric = found.metric
        return taken


def _lines(path: Path, start: int = 0, first: int = 0) -> Iterator[tuple[Record, int]]:
    """Yield the record of each whole line from a position on, `first` being the first, and where the line ends."""
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(start)
        content = file.read()
    end = start
    for number, line in enumerate(content.split(b"\n")[:-1], start=first):
        try:
            record = _record(line, number)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
            raise UserError(f"{path} is damaged at byte {end}: {error}") from error
        end += len(line) + 1
        yield record, end


def _record(line: bytes, number: int) -> Record:
    """Return the record of a line, which must be that round's; digests vouch for its values."""
    facts = parse_json(line)
    devices = facts.pop("devices", None)
    lists = {name: tuple(facts[name]) for name in _LISTS if name in facts}
    record = Record(**facts | lists, devices=None if devices is None else Devices.read(devices))
    if record.round != number:
        raise ValueError(f"round {record.round} stands where {number} should")
    return record
