"""Vectors of clients, in memory and in a file: shared, never changed, found again after a kill."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ehfl import Bernoulli, Fleet, Participation, RoundRobin, simulate
from ehfl.learning import Rows, Task, memory, train
from ehfl.learning.checkpoint import NAME, PREVIOUS, CheckpointError
from ehfl.learning.memory import as_arrays, from_arrays
from ehfl.runs import Record
from ehfl.validation import InvalidValue

CPU = torch.device("cpu")
QUICK: dict[str, Any] = {"local_steps": 2, "batch_size": 8, "eval_every": 3, "checkpoint_every": 2, "device": "cpu"}


def vector(value: float) -> Tensor:
    return torch.tensor([value, -value])


@pytest.fixture(params=["memory", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "memory" else tmp_path / "v.rows"


def test_a_copy_shares_what_is_not_replaced(place: Path | None) -> None:
    first = Rows(3, 2, place)
    first.put(vector(1), [0, 1])
    second = first.copy()
    second[1] = vector(2)

    assert [first[client].tolist() for client in range(3)] == [[1, -1], [1, -1], [0, 0]]
    assert [second[client].tolist() for client in range(3)] == [[1, -1], [2, -2], [0, 0]]
    assert first.clients == second.clients == [0, 1]


def test_what_is_put_there_is_a_copy(place: Path | None) -> None:
    rows, given_ = Rows(1, 2, place), vector(3)
    rows.put(given_, [0])
    given_.zero_()

    assert rows[0].tolist() == [3, -3]


def test_clients_are_found_by_numbers_of_any_kind_and_only_those_that_exist() -> None:
    rows = Rows(3, 2)
    rows[torch.tensor(1)] = vector(5)  # as from a loop over a tensor

    assert rows[1].tolist() == rows[np.int64(1)].tolist() == rows[torch.tensor(1)].tolist() == [5, -5]
    for client in (-1, 3):
        with pytest.raises(IndexError, match=re.escape(f"client must be in [0, 2], got {client}")):
            rows[client]
    with pytest.raises(ValueError, match=re.escape("vector must be of shape (2,), got one of shape (3,)")):
        rows[0] = torch.zeros(3)


def test_the_state_of_a_checkpoint_is_found_again(place: Path | None) -> None:
    rows = Rows(5, 2, place)
    rows.put(vector(1), [4, 2])
    rows.put(vector(7), [0])
    state = {"memory": rows, "total": torch.arange(2.0)}

    arrays = as_arrays(state)
    again = from_arrays(arrays, {"memory": Rows(5, 2, place), "total": torch.zeros(2)}, CPU)

    assert [again["memory"][client].tolist() for client in range(5)] == [[7, -7], [0, 0], [1, -1], [0, 0], [1, -1]]
    assert again["total"].tolist() == [0, 1]
    assert arrays["memory/which"].tolist() == [0, 1, 1]  # two vectors, one of which two clients share
    assert {name: a.tolist() for name, a in as_arrays(again).items()} == {n: a.tolist() for n, a in arrays.items()}


def test_an_empty_state_is_found_again(place: Path | None) -> None:
    rows = Rows(5, 2, place)

    again = rows.filled(rows.as_arrays())

    assert again.clients == []
    assert again[3].tolist() == [0, 0]


@settings(max_examples=25)
@given(turns=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=10, max_size=30))
def test_no_file_of_the_run_or_its_last_two_checkpoints_changes_or_goes(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[int, bool]]
) -> None:
    """Rows as a run has them: replaced turn by turn, and held at some turns, as by a checkpoint."""
    folder = tmp_path_factory.mktemp("rows") / "v.rows"
    rows, plain = Rows(4, 2, folder), dict.fromkeys(range(4), 0)
    held: list[tuple[Rows, dict[int, int]]] = []
    for turn, (client, keeps) in enumerate(turns, start=1):
        rows, plain = rows.copy(), plain | {client: turn}
        rows.put(vector(turn), [client])
        if keeps:
            held = [*held, (rows, plain)][-2:]
            memory.delete_unused({"v": rows}, [{"v": some} for some, _ in held])
            assert len(list(folder.iterdir())) <= 8  # two checkpoints of four clients
        for some, expected in [(rows, plain), *held]:
            assert [int(some[i][0]) for i in range(4)] == list(expected.values())


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_a_file_that_changed_is_refused(tmp_path: Path, damage: str) -> None:
    rows = Rows(2, 2, tmp_path / "v.rows")
    rows.put(vector(1), [0])
    arrays, (path,) = rows.as_arrays(), rows.files
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if damage == "cut" else bytes([content[0] ^ 1]) + content[1:])

    with pytest.raises(CheckpointError, match=r"does not match the checkpoint: delete .* to run it again"):
        Rows(2, 2, tmp_path / "v.rows").filled(arrays)


def test_a_file_that_was_half_written_is_written_again(tmp_path: Path) -> None:
    rows = Rows(2, 2, tmp_path / "v.rows")
    rows.put(vector(1), [0])
    (path,) = rows.files
    path.write_bytes(b"half")

    rows.put(vector(1), [1])

    assert rows[1].tolist() == [1, -1]


def test_the_announced_size_is_that_of_the_files(blobs: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 clients, 4 a round in turn, a checkpoint every 5 rounds: 40 vectors, and two times 20 that were replaced."""
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 0)
    mains = simulate(Fleet(clients=40, harvest=Bernoulli(1.0)), RoundRobin(4), rounds=60)
    sizes: list[int] = []

    def look(record: Record) -> None:
        sizes.append(sum(path.stat().st_size for path in tmp_path.glob("*.rows/*")))

    history = train(
        blobs, mains, local_steps=1, aggregation="mifa", run_dir=tmp_path, checkpoint_every=5, on_round=look
    )

    announced = memory.most_on_disk(4 * 40 * history.weights.size, n_clients=40, turns=20)
    assert 0.8 * announced <= max(sizes) <= announced


@pytest.mark.parametrize("round_", range(8))
@pytest.mark.parametrize("aggregation", ["mifa", "fedawe"])
def test_with_its_memory_in_a_file_a_killed_run_ends_with_the_same_bits(
    blobs: Task, gaps: Participation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, round_: int, aggregation: str
) -> None:
    in_memory = train(blobs, gaps, **QUICK, aggregation=aggregation)
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 0)
    alone, killed = tmp_path / "alone", tmp_path / "killed"
    whole = train(blobs, gaps, **QUICK, aggregation=aggregation, run_dir=alone)

    def stop(record: Record) -> None:
        if record.round == round_:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(blobs, gaps, **QUICK, aggregation=aggregation, run_dir=killed, on_round=stop)
    assert len(list(killed.glob("*.rows"))) == 1
    resumed = train(blobs, gaps, **QUICK, aggregation=aggregation, run_dir=killed)

    assert resumed.records == whole.records == in_memory.records
    assert resumed.weights.tobytes() == whole.weights.tobytes() == in_memory.weights.tobytes()
    assert (killed / NAME).read_bytes() == (alone / NAME).read_bytes()
    assert not list(tmp_path.rglob("*.rows"))  # what nobody needs any more is gone


def test_the_checkpoint_before_finds_its_vectors(
    blobs: Task, gaps: Participation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(blobs, gaps, **QUICK, aggregation="mifa")
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 0)

    def stop(record: Record) -> None:
        if record.round == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(blobs, gaps, **QUICK, aggregation="mifa", run_dir=tmp_path, on_round=stop)
    (tmp_path / NAME).write_bytes(b"damaged")
    assert (tmp_path / PREVIOUS).exists()

    again = train(blobs, gaps, **QUICK, aggregation="mifa", run_dir=tmp_path)

    assert again.weights.tobytes() == whole.weights.tobytes()


def test_rows_of_any_two_names_are_in_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 0)
    names = ["control.x", "control.y", "sent/x"]
    state = memory.in_files({name: Rows(1, 2) for name in names}, tmp_path)

    for value, name in enumerate(names, start=1):
        state[name].put(vector(value), [0])

    assert [state[name][0].tolist() for name in names] == [[1, -1], [2, -2], [3, -3]]
    assert len(list(tmp_path.iterdir())) == 3
    memory.delete_files(state)
    assert not list(tmp_path.iterdir())


def test_memory_that_does_not_fit_is_refused_before_anything_is_trained(
    blobs: Task, gaps: Participation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Record] = []
    monkeypatch.setattr(Rows, "full_size", 10**18)

    with pytest.raises(InvalidValue, match=r"aggregation must be small enough for the memory that is free .* got Mifa"):
        train(blobs, gaps, **QUICK, aggregation="mifa", on_round=seen.append)
    with pytest.raises(
        InvalidValue, match=r"whose memory of clients fits on the disk .*, got Mifa \(1,000,000,000 GB\)"
    ):
        train(blobs, gaps, **QUICK, aggregation="mifa", on_round=seen.append, run_dir=tmp_path)

    assert not seen
