"""Runs with a folder: what is on the disk, what is resumed and what is refused."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.utils import parameters_to_vector

from ehfl import Bernoulli, Fleet, Greedy, Participation, simulate
from ehfl.learning import Diverged, Examples, LocalSgd, Mean, Task, Training, initialise, train, training_in_process
from ehfl.learning.checkpoint import NAME, Checkpoint, read_checkpoint
from ehfl.partition import Iid
from ehfl.runs import OtherRun, Record, read_history
from ehfl.theory import Nominal
from ehfl.validation import UserError

QUICK: dict[str, Any] = {"local_steps": 2, "batch_size": 8, "eval_every": 3, "checkpoint_every": 2, "device": "cpu"}


def test_with_a_folder_the_run_is_the_same_and_on_the_disk(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    plain, kept = train(blobs, gaps, **QUICK), train(blobs, gaps, **QUICK, run_dir=tmp_path)

    assert kept.records == plain.records
    assert kept.weights.tobytes() == plain.weights.tobytes()
    assert read_history(tmp_path / "rounds.jsonl") == list(plain.records)


def test_other_tools_read_the_model_by_torchs_names(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    history = train(blobs, gaps, **QUICK, run_dir=tmp_path)
    model = blobs.model(np.random.default_rng(9))

    model.load_state_dict(load_file(tmp_path / NAME))  # strict: every name, and no other

    assert parameters_to_vector(model.parameters()).detach().numpy().tobytes() == history.weights.tobytes()


def test_what_an_aggregation_remembers_is_apart_and_buffers_are_there(
    blobs: Task, gaps: Participation, tmp_path: Path
) -> None:
    class Scaled(nn.Linear):
        def __init__(self) -> None:
            super().__init__(2, 3)
            self.register_buffer("scale", torch.tensor([2.0, 3.0]))
            self.register_buffer("scratch", torch.zeros(5), persistent=False)

    kept = ("name", "metric", "training", "test", "loss", "score")
    task: Any = SimpleNamespace(**{name: getattr(blobs, name) for name in kept})
    task.model = lambda rng: initialise(Scaled(), rng)
    train(task, gaps, **QUICK, aggregation="server_momentum:ServerMomentum", run_dir=tmp_path)
    stored = load_file(tmp_path / NAME)
    apart = {name for name in stored if name.startswith("aggregation/")}

    assert apart == {"aggregation/velocity", "aggregation/rounds"}
    assert stored.keys() - apart == {"weight", "bias", "scale"}
    assert stored["scale"].tolist() == [2.0, 3.0]


def test_the_weights_of_a_model_that_is_built_otherwise_are_refused(
    blobs: Task, gaps: Participation, tmp_path: Path
) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)
    found = read_checkpoint(tmp_path / NAME)
    renamed = {name.replace("0.", "9."): value for name, value in found.model.items()}
    Checkpoint(found.rounds, renamed, found.identity).write(tmp_path)

    with pytest.raises(UserError, match=r"those of another model: 0\.weight is not there and of shape \(8, 2\) here"):
        train(blobs, gaps, **QUICK, run_dir=tmp_path)


def test_other_data_of_the_same_size_make_it_another_run(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)
    kept = ("name", "metric", "test", "model", "loss", "score")
    other: Any = SimpleNamespace(**{name: getattr(blobs, name) for name in kept})
    other.training = Examples(blobs.training.inputs + 1, blobs.training.targets)

    with pytest.raises(OtherRun, match=r"belongs to another run \(data is \w+ there and \w+ here\)"):
        train(other, gaps, **QUICK, run_dir=tmp_path)


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


def test_a_run_whose_rounds_were_changed_does_not_go_on(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)
    (tmp_path / NAME).unlink()  # it would go on from the one before
    path = tmp_path / "rounds.jsonl"
    lines = path.read_bytes()
    at = lines.index(b'"test_metric": 0.') + len(b'"test_metric": 0.')
    path.write_bytes(lines[:at] + (b"9" if lines[at : at + 1] != b"9" else b"8") + lines[at + 1 :])

    with pytest.raises(UserError, match=r"rounds\.jsonl was edited after ehfl wrote it .*: delete .* to run it again"):
        train(blobs, gaps, **QUICK, run_dir=tmp_path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"batch_size": 9}, "batch_size is 8 there and 9 here"),
        ({"step_size": "linear"}, "step_sizes is"),
        ({"partition": "shards"}, "partition is"),
        ({"aggregation": "weighted"}, r"aggregation is Mean\(\) there and Weighted\(\) here"),
        ({"clip": 1.0}, "clip is not set there and 1.0 here"),
        ({"eval_every": 1}, "eval_every is 3 there and 1 here"),
    ],
)
def test_a_checkpoint_of_another_spec_is_refused(
    blobs: Task, gaps: Participation, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)

    with pytest.raises(OtherRun, match=named):
        train(blobs, gaps, **QUICK | change, run_dir=tmp_path)


def test_a_checkpoint_of_another_participation_is_refused(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)
    other = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), Greedy(), rounds=gaps.rounds)

    with pytest.raises(OtherRun, match="participation is"):
        train(blobs, other, **QUICK, run_dir=tmp_path)


def test_divergence_stops_the_run_and_keeps_the_last_good_checkpoint(
    blobs: Task, gaps: Participation, tmp_path: Path
) -> None:
    def sudden(counts: Any) -> np.ndarray:
        return np.where(np.arange(len(counts)) < 4, 0.1, 1e30)

    with pytest.raises(Diverged, match="round 4") as stopped:
        train(blobs, gaps, **QUICK | {"local_steps": 5, "step_size": sudden, "weight_decay": 1.0}, run_dir=tmp_path)

    kept = read_checkpoint(tmp_path / NAME)
    assert "\n" not in str(stopped.value)
    assert kept.rounds == 4
    assert all(np.isfinite(value).all() for value in kept.model.values())
    assert [record.round for record in read_history(tmp_path / "rounds.jsonl")] == [0, 1, 2, 3]


def test_a_prepared_run_is_known_by_the_identity_that_it_is_given(
    blobs: Task, gaps: Participation, tmp_path: Path
) -> None:
    def prepared(facts: dict[str, Any] | None) -> Training:
        identity = None if facts is None else lambda rounds: facts
        return training_in_process(
            blobs, gaps, rule=LocalSgd(2, 8), step_size=Nominal(), aggregation=Mean(),
            partition=Iid(), eval_every=3, device="cpu", identity=identity,
        )  # fmt: skip

    history = prepared({"spec": "mine"}).run(tmp_path, checkpoint_every=2)

    assert prepared(None).n_parameters == history.weights.size == 2 * 8 + 8 + 8 * 3 + 3
    assert history.records == train(blobs, gaps, **QUICK).records
    assert read_checkpoint(tmp_path / NAME).identity == {"spec": "mine"}
    with pytest.raises(OtherRun, match="spec is mine there and yours here"):
        prepared({"spec": "yours"}).run(tmp_path)
