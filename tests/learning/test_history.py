"""Records, and the lines of a file in which they survive a kill."""

from __future__ import annotations

import json
import resource
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ehfl import Participation
from ehfl.runs import (
    Devices,
    Evaluation,
    History,
    HistoryFile,
    Metric,
    Record,
    read_history,
    rewind,
    rounds_digest,
)  # fmt: skip
from ehfl.validation import UserError, one_line

RECORDS = [
    Record(0, 2, 0.1, 2.5, first_loss=3.0, first_metric=0.125, seconds=1.0),
    Record(1, 0, 0.0, None),
    Record(2, 3, 0.1 + 0.2, 1 / 3, test_loss=0.7, test_metric=0.25, losses=(1 / 3, 0.1, 2.0), eval_seconds=2.0),
]
RECORDS[2] = replace(RECORDS[2], start_loss=-0.1, update_square=1e-9 / 3, update_spread=0.0)  # the others are older
LINE = Record(0, 1, 0.1, 1.0).facts()


def written(path: Path, records: Sequence[Record] = RECORDS) -> Path:
    with HistoryFile(path) as file:
        for record in records:
            file.append(record)
    return path


def test_lines_read_back_to_the_bit(tmp_path: Path) -> None:
    found = read_history(written(tmp_path / "rounds.jsonl"))

    assert found == RECORDS
    assert [record.losses for record in found] == [None, None, (1 / 3, 0.1, 2.0)]
    assert [(record.seconds, record.eval_seconds) for record in found] == [(1.0, 0.0), (0.0, 0.0), (0.0, 2.0)]


def test_what_few_records_have_is_in_a_line_only_where_it_is_kept(tmp_path: Path) -> None:
    first = Record(0, 0, 0.1, None, losses=(), first_loss=2.0, first_metric=0.0)
    path = written(tmp_path / "rounds.jsonl", [first, Record(1, 1, 0.1, 2.0)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert (lines[0]["losses"], lines[0]["first_loss"], lines[0]["first_metric"]) == ([], 2.0, 0.0)
    assert lines[0].keys() - lines[1].keys() == {"losses", "first_loss", "first_metric"}
    assert [record.losses for record in read_history(path)] == [(), None]


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_not_written(tmp_path: Path, loss: float) -> None:
    with HistoryFile(tmp_path / "rounds.jsonl") as file, pytest.raises(ValueError, match="JSON"):
        file.append(Record(0, 1, 0.1, loss))
    assert (tmp_path / "rounds.jsonl").read_bytes() == b""


def test_a_line_is_in_the_file_as_soon_as_its_round_is_over(tmp_path: Path) -> None:
    with HistoryFile(tmp_path / "rounds.jsonl") as file:
        file.append(RECORDS[0])
        assert json.loads((tmp_path / "rounds.jsonl").read_text())["participants"] == 2


def test_timing_alone_makes_no_difference() -> None:
    assert Record(0, 1, 0.1, 2.0, seconds=1.0) == Record(0, 1, 0.1, 2.0, seconds=9.0)
    assert Record(0, 1, 0.1, 2.0) != Record(0, 1, 0.1, 2.1)


def test_a_torn_last_line_is_left_out_and_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path / "rounds.jsonl")
    with path.open("a") as file:
        file.write('{"round": 3, "partic')

    assert read_history(path) == RECORDS
    assert rewind(path, 3, rounds_digest(RECORDS)) == RECORDS
    assert path.read_text().endswith("}\n")


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_rewinding_cuts_the_file_back_to_the_checkpoint(tmp_path: Path, rounds: int) -> None:
    path = written(tmp_path / "rounds.jsonl")

    assert rewind(path, rounds, rounds_digest(RECORDS[:rounds])) == RECORDS[:rounds]
    assert read_history(path) == RECORDS[:rounds]


def test_rounds_that_a_checkpoint_stands_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lacks rounds before 4"):
        rewind(written(tmp_path / "rounds.jsonl"), 4, rounds_digest(RECORDS))


def test_damage_behind_the_checkpoint_is_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path / "rounds.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"round": 2', b'"round": 7'))

    assert rewind(path, 2, rounds_digest(RECORDS[:2])) == RECORDS[:2]
    assert read_history(path) == RECORDS[:2]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            b'"test_metric": 0.25',
            b'"test_metric": 0.75',
            "checksum mismatch in its first 3 rounds",
        ),
        (
            b'"train_loss": 2.5',
            b'"train_loss": 3.5',
            "checksum mismatch in its first 3 rounds",
        ),
        (b'"round": 1', b'"round": 5', "round 5 stands where 1 should"),
        (b'"round": 1', b'"round": 0', "round 0 stands where 1 should"),
        (b"}", b", ", "is damaged at byte 0"),
    ],
)
def test_a_resumed_run_does_not_carry_damage_on(tmp_path: Path, old: bytes, new: bytes, why: str) -> None:
    path = written(tmp_path / "rounds.jsonl")
    damaged = path.read_bytes().replace(old, new, 1)
    path.write_bytes(damaged)

    with pytest.raises(UserError) as refused:
        rewind(path, 3, rounds_digest(RECORDS))

    assert why in str(refused.value)
    assert str(refused.value).endswith(f": delete {tmp_path} to run it again")
    assert path.read_bytes() == damaged


def test_digests_leave_times_out(tmp_path: Path) -> None:
    later = [replace(record, seconds=9.0) for record in RECORDS]
    with HistoryFile(tmp_path / "rounds.jsonl") as file:
        file.append(RECORDS[0])
    with HistoryFile(tmp_path / "rounds.jsonl", RECORDS[:1]) as file:
        for record in RECORDS[1:]:
            file.append(record)

    assert file.digest == rounds_digest(RECORDS) == rounds_digest(later) != rounds_digest(RECORDS[:2])


def test_a_full_disk_is_told_with_the_files_name(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with HistoryFile(path) as file:
        file.append(RECORDS[0])
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large") as caught:
                file.append(RECORDS[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert one_line(caught.value) == f"{path}: File too large"
    assert read_history(path) == RECORDS[:1]  # what was torn is left out


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        "{}",
        *(
            json.dumps(LINE | {"round": 1} | change)
            for change in ({"round": 0}, {"round": 2}, {"more": 1}, {"losses": 5})
        ),
        "3",
        "null",
    ],
)  # fmt: skip
def test_a_line_that_was_never_written_is_named_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_text(json.dumps(LINE) + "\n" + line + "\n")

    with pytest.raises(UserError, match=rf"rounds.jsonl is damaged at byte {len(json.dumps(LINE)) + 1}: "):
        read_history(path)


def test_a_history_knows_its_evaluations(gaps: Participation) -> None:
    def history(records: Sequence[Record]) -> History:
        return History(tuple(records), Metric("accuracy", bounds=(0, 1)), np.zeros(1, dtype=np.float32), gaps)

    assert history(RECORDS).evaluations == (Evaluation(0, 3.0, 0.125), Evaluation(3, 0.7, 0.25))
    assert history(RECORDS).final_metric == 0.25
    assert history(RECORDS[1:2]).final_metric is None


SEEN = Devices(energy=(2, None, 1, 0), asked=(0, 2), lost={2: "no reply in 30 s"}, spent=(5, 3, 4, 4))


def test_what_a_server_saw_of_its_devices_is_read_back(tmp_path: Path) -> None:
    found = read_history(written(tmp_path / "rounds.jsonl", [Record(0, 1, 0.1, 2.0, devices=SEEN)]))

    assert found[0].devices == SEEN
    assert (SEEN.online, SEEN.took_part) == ((0, 2, 3), (0,))


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"lost": None}, "damaged"),
    ],
)
def test_devices_that_cannot_have_been_seen_are_refused(tmp_path: Path, wrong: dict[str, object], fault: str) -> None:
    path = tmp_path / "rounds.jsonl"
    facts = Record(0, 1, 0.1, 2.0, devices=SEEN).facts()
    path.write_text(json.dumps(facts | {"devices": facts["devices"] | wrong}) + "\n")

    with pytest.raises(UserError, match=fault):
        read_history(path)
