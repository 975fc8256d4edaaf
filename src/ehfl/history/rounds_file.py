"""rounds.jsonl: one line a round, written when the round is over, and read back only if it is as it was written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ehfl.files import digest_of_text, naming, parse_json, refuse_pipe, written_whole
from ehfl.history.devices import Devices
from ehfl.history.records import LARGEST, Metric, Record, evaluations_of
from ehfl.validation import UserError, is_number

NAME = "rounds.jsonl"
_WHOLE = {"round", "participants"}
_TIMES = {"seconds", "eval_seconds"}
_AT_LEAST_0 = {*_TIMES, "update_square", "update_spread"}
_FEWEST = {"start_loss": 1, "update_square": 1, "update_spread": 2}  # participants in a round that has such a value
_ACCURACIES = {"by_class", "by_client", "first_by_class"}
_OPTIONAL = {"train_loss", "test_loss", "test_metric", "losses", "steps", "first_loss", "first_metric"}


class HistoryFile:
    """Append-only JSON lines, one a round: each is handed to the system as soon as its round is over."""

    def __init__(self, path: Path, past: Iterable[Record] = ()) -> None:
        """Open the file, which holds these rounds already."""
        self.path = path
        self._digest = _digest_without_times(past)
        self._file: IO[bytes] = path.open("ab", buffering=0)

    def append(self, record: Record) -> None:
        """Write one line; a kill of this process cannot lose it any more."""
        rest = _line(record)
        with naming(self.path):
            while rest:  # a disk that is nearly full takes a part
                rest = rest[self._file.write(rest) :]
        self._digest.update(_line(record, times=False))

    @property
    def digest(self) -> str:
        """What the rounds so far are known by, times left out: equal runs have equal digests."""
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
    """Return what rounds are known by, times left out: equal runs have equal digests."""
    return _digest_without_times(records).hexdigest()


def lines_digest(records: Iterable[Record]) -> str:
    """Return the sha256 of the file that holds these rounds and no others."""
    return digest_of_text(b"".join(map(_line, records)))


def _digest_without_times(records: Iterable[Record]) -> hashlib._Hash:
    return hashlib.sha256(b"".join(_line(record, times=False) for record in records))


def _line(record: Record, *, times: bool = True) -> bytes:
    facts = record.facts()
    kept = facts if times else {name: value for name, value in facts.items() if name not in _TIMES}
    return json.dumps(kept, allow_nan=False).encode() + b"\n"


def read_history(path: Path, metric: Metric | None = None) -> list[Record]:
    """Return the rounds that a history file holds; a last line that was torn by a kill is left out.

    Values outside the bounds of the metric, where it is given, are refused.
    """
    records = [record for record, _ in _lines(path)]
    _check_lengths(path, records)
    for found in evaluations_of(records):
        if metric is not None and metric.within(found.metric) != found.metric:
            fault = f"{metric.name} after {found.rounds} rounds is {found.metric:g}, outside its bounds {metric.bounds}"
            raise UserError(f"{path} is damaged: {fault}")
    return records


def _check_lengths(path: Path, records: Iterable[Record]) -> None:
    """Refuse accuracies of so many classes or clients in one round and of other numbers in another."""
    found = evaluations_of(records)
    for what in ("by_class", "by_client"):
        sizes = {len(shares) for one in found if (shares := getattr(one, what)) is not None}
        if len(sizes) > 1:
            raise UserError(f"{path} is damaged: {what} has {' and '.join(map(str, sorted(sizes)))} values")


def rewind(path: Path, rounds: int, digest: str) -> list[Record]:
    """Cut the file back to its first `rounds` rounds, those that a checkpoint stands for, and return them.

    They must be known by the checkpoint's digest: a resumed run does not carry damage on.
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
        fault = f"its first {rounds} rounds are not those that the checkpoint was made after"
        raise UserError(f"{path} was changed since it was written: {fault}: {remedy}")
    if path.exists():
        # A new file, so that a process that was taken for dead and works on does not write into it.
        with written_whole(path) as file:
            file.write(path.read_bytes()[: kept[-1][1] if kept else 0])
    return records


class Tail:
    """The end of a history file that another process is writing: how far it has come, and its last evaluation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._restart()

    def _restart(self) -> None:
        self._position = 0
        self.rounds = 0
        self.metric: float | None = None

    def read(self) -> list[Record]:
        """Take in the lines that were added, and return their rounds.

        A file that is shorter than before belongs to a resumed run: then all of its rounds are returned, round 0 first.
        """
        if not self._path.is_file():
            return []
        if self._path.stat().st_size < self._position:
            self._restart()
        try:
            return self._take(_lines(self._path, self._position, self.rounds))
        except UserError:
            # A run that was resumed may have cut the file back and grown it since, so that we stand inside a line.
            self._restart()
            with suppress(UserError):  # the run itself will complain of a damaged file
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
    refuse_pipe(path)
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
    """Return the record of a line, which must be that round's, and what would be written of it again."""
    facts = parse_json(line)
    devices = facts.pop("devices", None)
    lists = {name: tuple(facts[name]) for name in ("losses", "steps", *_ACCURACIES) if name in facts}
    record = Record(**facts | lists, devices=None if devices is None else Devices.read(devices))
    for name, value in record.facts().items():
        if not _could_be(name, value):
            raise ValueError(f"{name} cannot be {value!r}")
    if record.round != number:
        raise ValueError(f"round {record.round} stands where {number} should")
    if (record.by_class or record.by_client) and record.test_metric is None:
        raise ValueError("it has accuracies by class or client and was not evaluated")
    for name, fewest in _FEWEST.items():
        if getattr(record, name) is not None and record.participants < fewest:
            raise ValueError(f"{name} of {record.participants} participants")
    if record.losses is not None and len(record.losses) != record.participants:
        raise ValueError(f"{len(record.losses)} losses of {record.participants} participants")
    if record.steps is not None and len(record.steps) != record.participants:
        raise ValueError(f"steps of {len(record.steps)} turns and {record.participants} participants")
    if record.devices is not None and len(record.devices.took_part) != record.participants:
        raise ValueError(f"{len(record.devices.took_part)} devices took part, not {record.participants}")
    if _line(record) != line + b"\n":
        raise ValueError("it is not written as ehfl writes it")
    return record


def _could_be(name: str, value: Any) -> bool:
    if value is None:
        return name in _OPTIONAL
    if name in _WHOLE:
        return _is_usable(value) and isinstance(value, int) and value >= 0
    if name == "devices":
        return True  # it has been looked at when it was made
    if name in ("losses", "steps"):
        return all(_is_usable(one) and (name == "losses" or (isinstance(one, int) and one >= 1)) for one in value)
    if name in _ACCURACIES:
        return bool(value) and all(share is None or (_is_usable(share) and 0 <= share <= 1) for share in value)
    return _is_usable(value) and (value >= 0 or name not in _AT_LEAST_0)


def _is_usable(value: object) -> bool:
    return is_number(value) and abs(value) <= LARGEST
