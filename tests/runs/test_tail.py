"""`Tail` follows a history file that another process writes, tears and cuts back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ehfl.runs import HistoryFile, Record, Tail, rewind, rounds_digest

RECORDS = [
    Record(0, 2, 0.1, 2.5, first_loss=3.0, first_metric=0.125),
    Record(1, 0, 0.0, None),
    Record(2, 5, 0.3, 0.5, test_loss=0.7, test_metric=0.25),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rounds.jsonl"


def write(path: Path, records: Sequence[Record]) -> None:
    with HistoryFile(path) as file:
        for record in records:
            file.append(record)


def seen(tail: Tail) -> tuple[int, float | None]:
    tail.read()
    return tail.rounds, tail.metric


def test_it_follows_a_growing_file(path: Path) -> None:
    tail = Tail(path)
    found = [seen(tail)]  # there is no file yet

    for record in RECORDS:
        write(path, [record])
        found += [seen(tail), seen(tail)]  # looking again changes nothing
    write(
        path, [Record(3, 1, 0.1, 1.0), Record(4, 1, 0.1, 1.0, test_loss=0.5, test_metric=0.5), Record(5, 1, 0.1, 1.0)]
    )

    assert found == [(0, None), *[(1, 0.125)] * 2, *[(2, 0.125)] * 2, *[(3, 0.25)] * 2]
    assert seen(tail) == (6, 0.5)  # of three new lines, the last that was evaluated


def test_it_waits_for_the_end_of_a_torn_line(path: Path) -> None:
    write(path, RECORDS[:2])
    line = json.dumps(Record(2, 1, 0.1, 1.0, test_loss=0.5, test_metric=0.75).facts()) + "\n"
    tail, found = Tail(path), []

    for start, end in ((0, 1), (1, 30), (30, len(line) - 1), (len(line) - 1, len(line))):
        with path.open("a") as file:
            file.write(line[start:end])
        found.append(seen(tail))

    assert found == [(2, 0.125), (2, 0.125), (2, 0.125), (3, 0.75)]


def test_of_a_file_that_was_cut_back_it_starts_over(path: Path) -> None:
    write(path, RECORDS)
    tail = Tail(path)
    assert seen(tail) == (3, 0.25)

    rewind(path, 1, rounds_digest(RECORDS[:1]))
    assert seen(tail) == (1, 0.125)  # of x_0; the evaluation of round 2 is yet to come

    write(path, RECORDS[1:])
    assert seen(tail) == (3, 0.25)


def test_of_a_file_that_was_cut_back_and_has_grown_beyond_it_starts_over(path: Path) -> None:
    write(path, RECORDS)
    tail = Tail(path)
    assert seen(tail) == (3, 0.25)

    rewind(
        path, 1, rounds_digest(RECORDS[:1])
    )  # a resumed run writes the same rounds with other seconds, so its lines have other lengths
    write(path, [Record(t, 1, 0.1, 1.0, test_loss=0.5, test_metric=t / 10, seconds=0.123456) for t in range(1, 6)])

    assert seen(tail) == (6, 0.5)


def test_damage_is_left_to_the_run_to_complain_of(path: Path) -> None:
    write(path, RECORDS[:1])
    with path.open("a") as file:
        file.write("not json\n")
    tail = Tail(path)

    assert seen(tail) == (1, 0.125)
    path.unlink()
    assert seen(tail) == (1, 0.125)  # deleted under its feet: what was known stays
