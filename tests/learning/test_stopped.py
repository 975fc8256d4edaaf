"""A run that on_round ends early, and runs that go on for more rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl import STOP, Bernoulli, Fleet, Lockstep, Myopic, Participation, PowerOfChoice, simulate
from ehfl.learning import Task, memory, train
from ehfl.runs import OtherRun, Record

FLEET = Fleet(clients=4, harvest=Bernoulli(0.6))
QUICK: dict[str, Any] = {"batch_size": 8, "step_size": 0.1, "eval_every": 2, "aggregation": "mifa"}


def played(rounds: int) -> Participation:
    return simulate(FLEET, Myopic(2), rounds=rounds, seed=3)


def after(rounds: int) -> Any:
    def on_round(record: Record) -> object:
        return STOP if record.round + 1 == rounds else None

    return on_round


def test_on_round_ends_a_run_and_its_rounds_are_kept(blobs: Task, tmp_path: Path) -> None:
    whole = train(blobs, played(8), **QUICK)

    for folder in (None, tmp_path):
        stopped = train(blobs, played(8), **QUICK, run_dir=folder, on_round=after(5))
        assert stopped.records == whole.records[:5]

    resumed = train(blobs, played(8), **QUICK, run_dir=tmp_path)
    assert resumed.records == whole.records and np.array_equal(resumed.weights, whole.weights)


def test_a_stopped_run_keeps_the_files_of_its_memory(
    blobs: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(blobs, played(8), **QUICK)
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 0)

    train(blobs, played(8), **QUICK, run_dir=tmp_path, on_round=after(5))
    resumed = train(blobs, played(8), **QUICK, run_dir=tmp_path)

    assert resumed.records == whole.records and np.array_equal(resumed.weights, whole.weights)
    assert not list(tmp_path.glob("*.rows"))


@pytest.mark.parametrize("answer", [None, True, False, "go on", 0])
def test_other_answers_end_nothing(blobs: Task, answer: object) -> None:
    assert len(train(blobs, played(3), **QUICK, on_round=lambda record: answer).records) == 3


def test_a_finished_run_goes_on_for_more_rounds(blobs: Task, tmp_path: Path) -> None:
    whole = train(blobs, played(9), **QUICK)

    short = train(blobs, played(4), **QUICK, run_dir=tmp_path)
    longer = train(blobs, played(9), **QUICK, run_dir=tmp_path)

    assert short.records == whole.records[:4]  # 4 is a multiple of eval_every: its last evaluation was due anyway
    assert longer.records == whole.records and np.array_equal(longer.weights, whole.weights)
    with pytest.raises(OtherRun, match="rounds is 9 there and 4 here"):
        train(blobs, played(4), **QUICK, run_dir=tmp_path)


def test_a_finished_run_whose_memory_was_deleted_is_refused(
    blobs: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 0)
    short = train(blobs, played(4), **QUICK, run_dir=tmp_path)

    with pytest.raises(OtherRun, match="files of the clients' memory were deleted when it finished after 4 rounds"):
        train(blobs, played(9), **QUICK, run_dir=tmp_path)
    assert train(blobs, played(4), **QUICK, run_dir=tmp_path).records == short.records


def test_a_run_in_lockstep_goes_on_too(blobs: Task, tmp_path: Path) -> None:
    def chosen(rounds: int) -> Lockstep:
        return Lockstep(FLEET, PowerOfChoice(2), rounds=rounds, seed=3)

    whole = train(blobs, chosen(6), **QUICK)
    train(blobs, chosen(4), **QUICK, run_dir=tmp_path)

    assert np.array_equal(train(blobs, chosen(6), **QUICK, run_dir=tmp_path).weights, whole.weights)


def test_a_run_whose_step_sizes_depend_on_its_length_is_refused(blobs: Task, tmp_path: Path) -> None:
    settings = QUICK | {"step_size": "theorem"}
    train(blobs, played(4), **settings, run_dir=tmp_path)

    with pytest.raises(OtherRun, match=r"step_sizes is .* the rounds so far do not depend on how many there are"):
        train(blobs, played(9), **settings, run_dir=tmp_path)
