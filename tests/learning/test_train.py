from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ehfl import AlwaysOn, Bernoulli, Fleet, Greedy, Participation, simulate
from ehfl.history import read_history
from ehfl.learning import CheckpointError, Diverged, Record, ShardPartitioner, Task, load_task, train
from ehfl.learning.checkpoint import NAME, read_checkpoint
from ehfl.theory import STEP_SIZES, make_step_size

QUICK: dict[str, Any] = {"local_steps": 2, "batch_size": 8, "eval_every": 3, "checkpoint_every": 2}


def test_digits_are_learned_on_harvested_energy(digits: Task) -> None:
    played = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Greedy(), rounds=40)

    history = train(digits, played, eval_every=40)

    assert history.metric_name == "accuracy"
    assert history.final_metric is not None
    assert history.final_metric > 0.9
    assert [record.participants for record in history.records] == played.counts.tolist()
    assert [record.step_size for record in history.records] == make_step_size("nominal")(played.counts).tolist()
    assert history.records[0].train_loss is None  # nothing harvested yet


@pytest.mark.parametrize("name", ["quadratic", "wells"])
def test_known_problems_come_near_their_minimum(name: str) -> None:
    mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(4), rounds=60)

    history = train(load_task(name), mains, step_size=0.3, batch_size=250)

    assert history.metric_name == "gap"
    assert history.final_metric == pytest.approx(0, abs=0.01)
    assert history.records[-1].test_loss == history.final_metric  # f* = 0


def test_the_same_seed_gives_the_same_run_for_any_eval_every(blobs: Task, gaps: Participation) -> None:
    often, seldom, other = (
        train(blobs, gaps, **QUICK | {"eval_every": every}, seed=seed) for every, seed in ((1, 0), (100, 0), (1, 1))
    )

    assert often.weights.tobytes() == seldom.weights.tobytes() != other.weights.tobytes()
    assert [r.train_loss for r in often.records] == [r.train_loss for r in seldom.records]
    assert len(often.evaluations) == gaps.rounds
    assert seldom.evaluations == often.evaluations[-1:]


def test_global_generators_are_neither_asked_nor_moved(digits: Task, gaps: Participation) -> None:
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = torch.get_rng_state(), repr(np.random.get_state(legacy=True))  # noqa: NPY002
        states.append(train(digits, gaps, **QUICK).weights.tobytes())
        assert torch.equal(torch.get_rng_state(), before[0])
        assert repr(np.random.get_state(legacy=True)) == before[1]  # noqa: NPY002
    assert states[0] == states[1]


def test_empty_rounds_leave_the_model_and_its_scores(blobs: Task, gaps: Participation) -> None:
    records = train(blobs, gaps, **QUICK | {"eval_every": 1}).records

    for record, before in zip(records[1:], records, strict=False):
        assert (record.test_loss == before.test_loss) == (record.participants == 0)


def test_with_a_folder_the_run_is_the_same_and_on_the_disk(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    plain, kept = train(blobs, gaps, **QUICK), train(blobs, gaps, **QUICK, run_dir=tmp_path)

    assert kept.records == plain.records
    assert kept.weights.tobytes() == plain.weights.tobytes()
    assert read_history(tmp_path / "rounds.jsonl") == list(plain.records)
    assert read_checkpoint(tmp_path / NAME).weights.tobytes() == plain.weights.tobytes()


def test_a_finished_run_is_not_run_again(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    first = train(blobs, gaps, **QUICK, run_dir=tmp_path)
    played: list[Record] = []

    again = train(blobs, gaps, **QUICK, run_dir=tmp_path, on_round=played.append)

    assert played == []
    assert again.records == first.records
    assert again.weights.tobytes() == first.weights.tobytes()


def test_an_interrupted_run_goes_on_from_its_last_checkpoint(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    def stop(record: Record) -> None:
        if record.round == 4:
            raise KeyboardInterrupt

    played: list[Record] = []
    whole = train(blobs, gaps, **QUICK)
    with pytest.raises(KeyboardInterrupt):
        train(blobs, gaps, **QUICK, run_dir=tmp_path, on_round=stop)

    resumed = train(blobs, gaps, **QUICK, run_dir=tmp_path, on_round=played.append)

    assert [record.round for record in played] == [4, 5, 6, 7]
    assert resumed.records == whole.records
    assert resumed.weights.tobytes() == whole.weights.tobytes()


def test_a_damaged_checkpoint_costs_rounds_but_not_the_result(
    blobs: Task, gaps: Participation, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = train(blobs, gaps, **QUICK, run_dir=tmp_path)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-3])

    with caplog.at_level(logging.WARNING, "ehfl.learning"):
        again = train(blobs, gaps, **QUICK, run_dir=tmp_path)

    assert str(path) in caplog.text
    assert again.records == whole.records
    assert again.weights.tobytes() == whole.weights.tobytes()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"batch_size": 9}, "batch_size is 8 there and 9 here"),
        ({"step_size": "linear"}, "step_sizes is another"),
        ({"partition": ShardPartitioner()}, "partition"),
        ({"clip": 1.0}, "clip"),
        ({"eval_every": 1}, "eval_every"),
    ],
)
def test_a_checkpoint_of_another_spec_is_refused(
    blobs: Task, gaps: Participation, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)

    with pytest.raises(CheckpointError, match=named):
        train(blobs, gaps, **QUICK | change, run_dir=tmp_path)


def test_a_checkpoint_of_another_participation_is_refused(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)
    other = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), Greedy(), rounds=gaps.rounds)

    with pytest.raises(CheckpointError, match="participation is"):
        train(blobs, other, **QUICK, run_dir=tmp_path)


def test_divergence_stops_the_run_and_keeps_the_last_good_checkpoint(
    blobs: Task, gaps: Participation, tmp_path: Path
) -> None:
    def sudden(counts: Any) -> np.ndarray:
        return np.where(np.arange(len(counts)) < 4, 0.1, 1e38)

    with pytest.raises(Diverged, match="round 4") as stopped:
        train(blobs, gaps, **QUICK | {"local_steps": 5}, step_size=sudden, run_dir=tmp_path)

    kept = read_checkpoint(tmp_path / NAME)
    assert "\n" not in str(stopped.value)
    assert kept.rounds == 4
    assert np.isfinite(kept.weights).all()
    assert [record.round for record in read_history(tmp_path / "rounds.jsonl")] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", STEP_SIZES)
def test_every_step_size_trains(blobs: Task, gaps: Participation, name: str) -> None:
    records = train(blobs, gaps, **QUICK, step_size=name).records

    assert [record.step_size for record in records] == make_step_size(name)(gaps.counts).tolist()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"step_size": "nominl"}, "did you mean nominal"),
        ({"step_size": -1.0}, "value must be a finite number > 0"),
        ({"step_size": lambda counts: np.ones(3)}, r"step_size must be finite, one a round \(8\)"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda, mps, got tpu"),
        ({"eval_every": 0}, "eval_every must be a whole number >= 1"),
        ({"checkpoint_every": 0}, "checkpoint_every must be a whole number >= 1"),
        ({"threads": 0}, "threads must be a whole number >= 1"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_input_is_refused_by_name(blobs: Task, gaps: Participation, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(blobs, gaps, **QUICK | wrong)


def test_the_thread_count_is_given_back(blobs: Task, gaps: Participation) -> None:
    seen = []
    before = torch.get_num_threads()

    train(blobs, gaps, **QUICK, threads=2, on_round=lambda _: seen.append(torch.get_num_threads()))

    assert set(seen) == {2}
    assert torch.get_num_threads() == before
