from __future__ import annotations

import logging
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save

from ehfl.learning.checkpoint import NAME, PREVIOUS, Checkpoint, CheckpointError, latest_checkpoint, read_checkpoint
from ehfl.runs import OtherRun, check_same
from ehfl.validation import one_line

IDENTITY: dict[str, Any] = {"task": "blobs", "seed": 3, "clip": None, "step_size": {"name": "nominal", "initial": 0.15}}
STATE: dict[str, NDArray[Any]] = {
    "velocity": np.linspace(0, 1, 5, dtype=np.float32),
    "memory": np.arange(6, dtype=np.float64).reshape(2, 3),
    "seen": np.array([True, False]),
    "rounds": np.array(7),  # no axis at all
}


def checkpoint(rounds: int) -> Checkpoint:
    model = {"0.weight": np.arange(4, dtype=np.float32).reshape(2, 2) + rounds, "0.bias": np.ones(2, np.float32)}
    return Checkpoint(rounds, model, IDENTITY, STATE, f"{rounds} rounds")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    checkpoint(4).write(tmp_path)

    found = latest_checkpoint(tmp_path, IDENTITY)

    assert found is not None
    assert found.rounds == 4
    assert {name: value.tolist() for name, value in found.model.items()} == {
        "0.weight": [[4, 5], [6, 7]],
        "0.bias": [1, 1],
    }
    assert all(value.dtype == np.float32 for value in found.model.values())
    assert found.identity == IDENTITY
    assert found.history == "4 rounds"


@pytest.mark.parametrize("name", STATE)
def test_what_the_aggregation_remembers_is_read_back_by_name(tmp_path: Path, name: str) -> None:
    checkpoint(4).write(tmp_path)

    state = read_checkpoint(tmp_path / NAME).state

    assert state.keys() == STATE.keys()
    assert (state[name].dtype, state[name].shape) == (STATE[name].dtype, STATE[name].shape)
    assert state[name].tobytes() == STATE[name].tobytes()


def test_equal_checkpoints_are_equal_files(tmp_path: Path) -> None:
    contents = set()
    for order in (list(STATE), list(reversed(STATE))):
        state = {name: STATE[name] for name in order}
        Checkpoint(1, {"x": np.zeros(3, np.float32)}, IDENTITY, state).write(tmp_path)
        contents.add((tmp_path / NAME).read_bytes())

    assert len(contents) == 1


def test_the_one_before_is_kept_and_nothing_else(tmp_path: Path) -> None:
    for rounds in (0, 2, 4):
        checkpoint(rounds).write(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([NAME, PREVIOUS])
    assert [read_checkpoint(tmp_path / name).rounds for name in (NAME, PREVIOUS)] == [4, 2]


def test_without_room_the_one_before_stays_and_nothing_else(tmp_path: Path) -> None:
    checkpoint(2).write(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            checkpoint(4).write(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert one_line(caught.value) == f"{tmp_path / NAME}: File too large"
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert read_checkpoint(tmp_path / NAME).rounds == 2


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert latest_checkpoint(tmp_path, IDENTITY) is None


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:
    checkpoint(2).write(tmp_path)
    path = tmp_path / NAME
    whole = path.read_bytes()

    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises(CheckpointError, match=NAME):
            read_checkpoint(path)


def test_one_of_another_version_is_refused_by_its_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr("ehfl.learning.checkpoint._FORMAT", 2)
        checkpoint(2).write(tmp_path)

    with pytest.raises(CheckpointError, match="format 2, this version reads 3"):
        read_checkpoint(tmp_path / NAME)


@pytest.mark.parametrize("facts", ["[" * 100_000, "[1]", "{}", '{"format": NaN}'])
def test_facts_that_were_never_written_are_refused(tmp_path: Path, facts: str) -> None:
    (tmp_path / NAME).write_bytes(save({"x": np.zeros(3)}, metadata={"ehfl": facts}))

    with pytest.raises(CheckpointError, match=f"{NAME} is damaged: "):
        read_checkpoint(tmp_path / NAME)


@pytest.mark.parametrize("cut", [0, 7, 100, -1])
def test_a_damaged_one_is_named_and_the_one_before_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cut: int
) -> None:
    checkpoint(2).write(tmp_path)
    checkpoint(4).write(tmp_path)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:cut])

    with caplog.at_level(logging.WARNING, "ehfl.learning"):
        found = latest_checkpoint(tmp_path, IDENTITY)

    assert found is not None
    assert found.rounds == 2
    assert str(path) in caplog.text


def test_two_damaged_ones_are_an_error_not_a_fresh_start(tmp_path: Path) -> None:
    for name in (NAME, PREVIOUS):
        (tmp_path / name).write_bytes(b"nothing of use")

    with pytest.raises(CheckpointError, match="has no undamaged checkpoint: delete its files to start the run over"):
        latest_checkpoint(tmp_path, IDENTITY)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"seed": 4}, "seed is 3 there and 4 here"),
        ({"clip": 0.5}, "clip is not set there and 0.5 here"),
        ({"momentum": 0.9}, "momentum is not set there and 0.9 here"),
        ({"step_size": {"name": "nominal", "initial": 0.3}}, "step_size.initial is 0.15 there and 0.3 here"),
        ({"step_size": "own"}, "step_size is {'initial': 0.15, 'name': 'nominal'} there and own here"),
    ],
)
def test_one_of_another_run_is_refused_and_the_difference_named(
    tmp_path: Path, change: dict[str, Any], difference: str
) -> None:
    checkpoint(2).write(tmp_path)

    with pytest.raises(OtherRun) as refused:
        latest_checkpoint(tmp_path, IDENTITY | change)

    remedy = "take another folder, or delete its files to start over"
    assert str(refused.value) == f"{tmp_path / NAME} belongs to another run ({difference}): {remedy}"


def test_of_many_differences_three_are_named() -> None:
    there, here = {"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 2, "b": 2, "c": 2, "d": 2}

    with pytest.raises(OtherRun, match=r"\(a is 1 .*, b is 1 .*, c is 1 there and 2 here, \.\.\.\): go away$"):
        check_same(there, here, Path("folder"), "go away")
    check_same(there, dict(there), Path("folder"), "go away")


def test_arrays_in_any_order_of_memory_are_read_back(tmp_path: Path) -> None:
    turned = np.arange(6.0).reshape(2, 3).T
    Checkpoint(1, {"x": turned}, IDENTITY, {"turned": turned}).write(tmp_path)

    found = read_checkpoint(tmp_path / NAME)
    assert found.state["turned"].tolist() == found.model["x"].tolist() == turned.tolist()
