from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ehfl.history import HistoryFile, read_history, rewind
from ehfl.learning import History, Record

RECORDS = [
    Record(0, 2, 0.1, 2.5, seconds=1.0),
    Record(1, 0, 0.0, None),
    Record(2, 5, 0.1 + 0.2, 1 / 3, test_loss=0.7, test_metric=0.25, eval_seconds=2.0),
]


def written(path: Path) -> Path:
    with HistoryFile(path) as file:
        for record in RECORDS:
            file.append(record)
    return path


def test_lines_read_back_to_the_bit(tmp_path: Path) -> None:
    assert read_history(written(tmp_path / "rounds.jsonl")) == RECORDS


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
    assert rewind(path, 3) == RECORDS
    assert path.read_text().endswith("}\n")


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_rewinding_cuts_the_file_back_to_the_checkpoint(tmp_path: Path, rounds: int) -> None:
    path = written(tmp_path / "rounds.jsonl")

    assert rewind(path, rounds) == RECORDS[:rounds]
    assert read_history(path) == RECORDS[:rounds]


def test_rounds_that_a_checkpoint_stands_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lacks rounds before 4"):
        rewind(written(tmp_path / "rounds.jsonl"), 4)


def test_damage_in_the_middle_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_text("not json\n")

    with pytest.raises(ValueError, match="is damaged at byte 0"):
        read_history(path)


def test_a_history_knows_its_evaluations() -> None:
    history = History(tuple(RECORDS), "accuracy", np.zeros(1, dtype=np.float32))

    assert [record.round for record in history.evaluations] == [2]
    assert history.final_metric == 0.25
    assert History((), "accuracy", np.zeros(1, dtype=np.float32)).final_metric is None
