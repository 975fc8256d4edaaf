from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from ehfl.learning.checkpoint import NAME, PREVIOUS, Checkpoint, CheckpointError, latest_checkpoint, read_checkpoint

SETTINGS: dict[str, str | int | float | bool | None] = {"task": "blobs", "seed": 3, "clip": None}


def checkpoint(rounds: int) -> Checkpoint:
    return Checkpoint(rounds, np.arange(5, dtype=np.float32) + rounds, SETTINGS)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    checkpoint(4).write(tmp_path)

    found = latest_checkpoint(tmp_path, SETTINGS)

    assert found is not None
    assert found.rounds == 4
    assert found.weights.dtype == np.float32
    assert found.weights.tolist() == [4, 5, 6, 7, 8]


def test_the_one_before_is_kept_and_nothing_else(tmp_path: Path) -> None:
    for rounds in (0, 2, 4):
        checkpoint(rounds).write(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([NAME, PREVIOUS])
    assert [read_checkpoint(tmp_path / name).rounds for name in (NAME, PREVIOUS)] == [4, 2]


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path, SETTINGS) is None


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    checkpoint(2).write(tmp_path)
    path = tmp_path / NAME
    whole = path.read_bytes()

    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises(CheckpointError, match=NAME):
            read_checkpoint(path)


@pytest.mark.parametrize("cut", [0, 7, 100, -1])
def test_a_damaged_one_is_named_and_the_one_before_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cut: int
) -> None:
    checkpoint(2).write(tmp_path)
    checkpoint(4).write(tmp_path)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:cut])

    with caplog.at_level(logging.WARNING, "ehfl.learning"):
        found = latest_checkpoint(tmp_path, SETTINGS)

    assert found is not None
    assert found.rounds == 2
    assert str(path) in caplog.text


def test_two_damaged_ones_are_an_error_not_a_fresh_start(tmp_path: Path) -> None:
    for name in (NAME, PREVIOUS):
        (tmp_path / name).write_bytes(b"nothing of use")

    with pytest.raises(CheckpointError, match="holds no whole checkpoint: delete its files to start the run over"):
        latest_checkpoint(tmp_path, SETTINGS)


def test_one_of_another_run_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    checkpoint(2).write(tmp_path)

    with pytest.raises(CheckpointError, match=r"another run \(seed is 3 there and 4 here\): take another folder"):
        latest_checkpoint(tmp_path, SETTINGS | {"seed": 4})


def test_a_setting_that_is_new_here_is_a_difference(tmp_path: Path) -> None:
    checkpoint(2).write(tmp_path)

    with pytest.raises(CheckpointError, match="momentum"):
        latest_checkpoint(tmp_path, SETTINGS | {"momentum": 0.9})
