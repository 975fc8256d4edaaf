"""Whom a model serves: accuracy by class and by client, from the test set to rounds.jsonl, meta.json and trials."""

from __future__ import annotations

import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import ehfl
from ehfl.experiment import make_spec, run_all
from ehfl.learning import Examples, Task, deal, train
from ehfl.learning.evaluation import accuracy_by_class, evaluate, right_by_class, right_by_client
from ehfl.learning.tasks.contract import classes_of, label_counts
from ehfl.partition import Shards
from ehfl.runs import HistoryFile, Record, read_history
from ehfl.validation import BrokenRules, InvalidValue

QUICK: dict[str, Any] = {"local_steps": 1, "batch_size": 8, "eval_every": 2, "device": "cpu"}


def changed(task: Task, **changes: Any) -> Any:
    kept = ("name", "metric", "training", "test", "model", "loss", "score")
    return types.SimpleNamespace(**{name: getattr(task, name) for name in kept} | changes)


def test_the_share_of_each_class_that_is_right_by_hand() -> None:
    outputs = torch.eye(4)[[0, 0, 1, 2, 0]]  # answers 0, 0, 1, 2, 0
    targets = torch.tensor([0, 1, 1, 2, 1])

    assert right_by_class(outputs, targets, n_classes=4) == (1.0, 1 / 3, 1.0, None)


def test_clients_are_served_by_their_own_mixture_of_labels() -> None:
    labels = np.array([[4, 0, 0], [1, 3, 0], [1, 1, 2], [0, 0, 5]])

    # The second: (1 x 0.9 + 3 x 0.5) / 4; of the third the last class is left out, of the fourth nothing is left.
    assert right_by_client((0.9, 0.5, None), labels) == (0.9, 0.6, 0.7, None)


def test_classes_weighted_by_their_test_examples_make_up_the_accuracy(digits: Task) -> None:
    model = digits.model(np.random.default_rng(3))
    sizes = np.bincount(digits.test.targets.numpy())

    found = accuracy_by_class(digits, model)

    assert list(found) == list("0123456789")
    shares = [share for share in found.values() if share is not None]
    assert np.dot(shares, sizes) / sizes.sum() == pytest.approx(evaluate(digits, model).metric)


def test_a_class_wise_figure_of_a_task_without_classes_is_one_line() -> None:
    task = ehfl.load_task("quadratic")

    with pytest.raises(InvalidValue) as refused:
        accuracy_by_class(task, task.model(np.random.default_rng(0)))

    assert str(refused.value) == "task must be one with classes, got quadratic, which has none"


def test_labels_are_counted_client_by_client(digits: Task) -> None:
    parts = deal(digits, 20, Shards(2), seed=1)

    counts = label_counts(digits, parts)

    assert counts is not None and counts.shape == (20, 10)
    assert counts.sum(axis=1).tolist() == [part.size for part in parts]
    assert counts.sum(axis=0).tolist() == np.bincount(digits.training.targets.numpy()).tolist()
    assert ((counts > 0).sum(axis=1) <= 4).all()  # two shards, each of at most two digits


NAMES = ("up", "right", "down")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"classes": ("up", "right")}, "as many as there are: targets must be in [0, 1], got 2 in the training set"),
        ({"classes": ("up",)}, "two or more different names of at most 40 printable characters, got ('up',)"),
        ({"classes": ("up", "up", "down")}, "two or more different names of at most 40 printable characters"),
        ({"classes": ("up", "right", "a\nb")}, "two or more different names of at most 40 printable characters"),
        ({"classes": (0, 1, 2)}, "two or more different names of at most 40 printable characters, got (0, 1, 2)"),
        ({"classes": "abc"}, "two or more different names of at most 40 printable characters, got 'abc'"),
        ({"classes": 3}, "two or more different names of at most 40 printable characters, got 3"),
    ],
)
def test_classes_that_cannot_be_such_are_refused(blobs: Task, changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(BrokenRules) as broken:
        ehfl.check_task(changed(blobs, **changes))

    assert f"classes of task blobs must be {fault}" in str(broken.value)


def test_a_model_has_an_output_for_each_class_and_targets_are_whole(blobs: Task, gaps: Any) -> None:
    wide = changed(blobs, classes=(*NAMES, "left"))
    with pytest.raises(
        BrokenRules, match=r"an output for each of its task's 4 classes, got outputs of shape \(64, 3\)"
    ):
        ehfl.check_task(wide)
    with pytest.raises(InvalidValue, match="an output for each of its task's 4 classes"):
        train(wide, gaps, **QUICK)

    real = Examples(torch.zeros(64, 2), torch.zeros(64, 3))
    task = changed(blobs, classes=NAMES, training=real, test=real, loss=nn.functional.mse_loss)
    with pytest.raises(BrokenRules, match=r"left out unless each target is one whole number, got torch.float32"):
        ehfl.check_task(task)


def test_a_class_without_test_examples_has_no_accuracy(blobs: Task, gaps: Any) -> None:
    test = Examples(blobs.test.inputs[blobs.test.targets < 2], blobs.test.targets[blobs.test.targets < 2])
    task = changed(blobs, classes=NAMES, test=test)
    ehfl.check_task(task)

    history = train(task, gaps, **QUICK)

    assert history.by_class["down"] is None
    assert history.worst_class is not None and history.worst_class[0] in ("up", "right")


def test_a_history_knows_whom_its_model_serves(blobs: Task, gaps: Any, tmp_path: Path) -> None:
    task = changed(blobs, classes=NAMES)

    history = train(task, gaps, partition="shards:1", run_dir=tmp_path, **QUICK)

    records = read_history(tmp_path / "rounds.jsonl")
    assert history.classes == NAMES and tuple(records) == history.records
    assert records[0].first_by_class is not None and records[0].by_class is None
    last = history.evaluations[-1]
    assert last.by_class is not None and last.by_client is not None and history.labels is not None
    assert last.by_client == right_by_client(last.by_class, history.labels)
    assert history.by_class == dict(zip(NAMES, last.by_class, strict=True))
    worst = min(share for share in last.by_class if share is not None)
    assert history.worst_class == (NAMES[last.by_class.index(worst)], worst)


def test_a_task_without_classes_has_the_rounds_that_it_had(gaps: Any, tmp_path: Path) -> None:
    history = train("quadratic", gaps, run_dir=tmp_path, **QUICK)

    assert history.by_class == {} and history.worst_class is None and history.labels is None
    assert "by_" not in (tmp_path / "rounds.jsonl").read_text()


SPEC = {
    "name": "tiny", "rounds": 4, "seeds": [2], "schedulers": ["greedy"], "fleet": {"clients": 5, "rate": 0.6},
    "learning": {"task": "digits", "local_steps": 1, "partition": "shards:2", "step_size": 0.1, "device": "cpu"},
    "evaluation": {"every": 2},
}  # fmt: skip


def test_a_run_says_what_its_classes_are_and_who_holds_them(digits: Task, tmp_path: Path) -> None:
    run_all(make_spec(SPEC), tmp_path / "tiny", jobs=1)

    (trial,) = ehfl.read(tmp_path / "tiny").arms[0].trials
    expected = label_counts(digits, deal(digits, 5, Shards(2), seed=2))
    assert trial.classes == classes_of(digits)
    assert trial.labels is not None and expected is not None and trial.labels.tolist() == expected.tolist()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    run_all(make_spec(SPEC), folder, jobs=1)
    return folder


SERVED = Record(1, 1, 0.1, 2.0, 1.0, 0.5, by_class=(0.5, None, 1.0), by_client=(0.5, 0.625))


def test_accuracies_come_back_from_the_file_and_are_part_of_the_round(tmp_path: Path) -> None:
    records = [Record(0, 1, 0.1, 2.0, 1.0, 0.5, first_by_class=(0.0, None, 0.1)), SERVED]
    with HistoryFile(tmp_path / "rounds.jsonl") as file:
        for record in records:
            file.append(record)

    assert read_history(tmp_path / "rounds.jsonl") == records
    assert replace(SERVED, by_class=(0.5, None, 0.9)) != SERVED
