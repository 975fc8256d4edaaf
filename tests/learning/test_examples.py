"""Data of other forms: tuples and dicts of tensors, datasets, users, and LEAF's files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ehfl import Participation
from ehfl.learning import Examples, Metric, check_task, evaluate, load_task, train
from ehfl.learning.clients import deal
from ehfl.learning.identity import data_digest
from ehfl.learning.tasks.examples import joined
from ehfl.learning.tasks.leaf import CHARACTERS
from ehfl.partition import PARTITIONS, InLabelOrder, Natural


class Net(nn.Module):
    """Takes points and a mask by name or by place; returns a dict, as models of Hugging Face do."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 3)

    def forward(self, points: Tensor, mask: Tensor) -> dict[str, Any]:
        return {"logits": self.inner(points) * mask[:, None], "cache": None}


class Masked:
    """Three classes of points with a mask."""

    name, metric = "masked", Metric("accuracy", bounds=(0, 1))

    def __init__(self, form: type = dict) -> None:
        rng = np.random.default_rng(5)
        labels = np.arange(450) % 3
        points = torch.from_numpy(rng.normal(size=(450, 2)) + np.array([[0, 3], [3, 0], [-3, -3]])[labels]).float()
        parts = {"points": points, "mask": torch.ones(450)}
        inputs = parts if form is dict else tuple(parts.values())
        self.training = self.test = Examples(inputs, torch.from_numpy(labels), users=labels % 2)

    def model(self, rng: np.random.Generator) -> nn.Module:
        return Net()

    def loss(self, outputs: dict[str, Tensor], targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(outputs["logits"], targets)

    def score(self, outputs: dict[str, Tensor], targets: Tensor) -> float:
        return (outputs["logits"].argmax(dim=1) == targets).float().mean().item()


@pytest.mark.parametrize("form", [dict, tuple])
def test_dicts_and_tuples_train_with_either_engine(form: type, gaps: Participation) -> None:
    task = Masked(form)
    check_task(task)

    plain, stacked = (train(task, gaps, batch_size=8, step_size=0.1, engine=name) for name in ("plain", "stacked"))

    np.testing.assert_allclose(plain.weights, stacked.weights, atol=1e-6)
    assert (plain.final_metric or 0) > 0.8


def test_outputs_of_chunks_are_those_of_all_examples() -> None:
    class Answer(dict[str, Any]):
        @property
        def logits(self) -> Tensor:
            return self["logits"]  # type: ignore[no-any-return]

    found = joined([Answer(logits=torch.ones(2, 3), loss=torch.tensor(1.0)) for _ in range(2)], [2, 2])

    assert isinstance(found, Answer) and found.logits.shape == (4, 3) and found["loss"] == 1
    assert [one.shape[0] for one in joined([(torch.ones(2), torch.ones(2, 2))] * 3, [2] * 3)] == [6, 6]


class Jittered(torch.utils.data.Dataset[dict[str, Any]]):
    """Points that are moved a little whenever they are read."""

    def __init__(self, noise: float) -> None:
        self.noise, self.base = noise, Masked()

    def __len__(self) -> int:
        return 90

    def __getitem__(self, row: int) -> dict[str, Any]:
        inputs, targets = self.base.training.batch(torch.tensor([row]))
        moved = inputs["points"][0] + self.noise * torch.randn(2)
        return {"points": moved, "mask": 1.0, "label": int(targets[0]), "who": f"user {row % 4}"}


class OfDataset(Masked):
    def __init__(self, noise: float, *, cached: bool) -> None:
        keys: dict[str, Any] = {"inputs": ("points", "mask"), "targets": "label", "users": "who"}
        self.training = Examples.of(Jittered(noise), **keys, cached=cached)
        self.test = Examples.of(Jittered(0.0), **keys)


def test_a_dataset_is_read_once_or_whenever_its_items_are_drawn(gaps: Participation) -> None:
    once, anew = OfDataset(0.0, cached=True), OfDataset(0.0, cached=False)
    settings: dict[str, Any] = {"batch_size": 8, "step_size": 0.1, "engine": "plain", "partition": "natural"}

    one, other = train(once, gaps, **settings), train(anew, gaps, **settings)

    assert np.array_equal(one.weights, other.weights)  # without augmentation they are the same
    assert data_digest(anew) == data_digest(OfDataset(0.0, cached=False)) != data_digest(OfDataset(0.5, cached=False))
    assert evaluate(once, once.model(np.random.default_rng(0))).loss > 0


def test_augmentation_comes_from_seed_client_and_round(gaps: Participation, tmp_path: Path) -> None:
    def stop(record: Any) -> None:
        if record.round == 1:
            raise KeyboardInterrupt

    task = OfDataset(0.5, cached=False)
    check_task(task)
    settings: dict[str, Any] = {"batch_size": 8, "step_size": 0.1}
    runs = [train(task, gaps, **settings, workers=n) for n in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        train(task, gaps, **settings, run_dir=tmp_path, checkpoint_every=1, on_round=stop)

    assert all(np.array_equal(run.weights, runs[0].weights) for run in runs)
    assert np.array_equal(train(task, gaps, **settings, run_dir=tmp_path).weights, runs[0].weights)
    assert not np.array_equal(train(OfDataset(0.0, cached=False), gaps, **settings).weights, runs[0].weights)


class Stream(torch.utils.data.IterableDataset[tuple[Tensor, int]]):
    def __iter__(self) -> Iterator[tuple[Tensor, int]]:
        yield torch.ones(2), 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([{"x": 1}], {}), "dataset must be one whose items have 0, got one with x"),
        (([("text", 1)], {}), "dataset must be one with items of numbers"),
        (([(torch.ones(2), 1), (torch.ones(3), 1)], {}), "dataset must be one with items of numbers"),
        (([(1, 2)], {"users": "who"}), "dataset must be one whose items have 'who', got tuple"),
        (([], {}), "dataset must be a map-style one with items"),
        ((Stream(), {}), r"list\(\.\.\.\) makes one of an iterable\), got Stream"),
        ((torch.utils.data.DataLoader([(torch.ones(2), 1)]), {}), "dataset must be a map-style one"),  # type: ignore[arg-type]
    ],
)
def test_datasets_that_make_no_batch_are_refused_in_one_line(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        Examples.of(given[0], **given[1])
    assert "\n" not in str(error.value)


def test_natural_shares_are_whole_users() -> None:
    users = np.array([2, 0, 1, 1, 0, 2, 2, 3])
    natural = Natural().with_users(users)
    targets = np.zeros(8)

    assert [part.tolist() for part in natural.partition(targets, 4, seed=0)] == [[1, 4], [2, 3], [0, 5, 6], [7]]
    for seed in range(5):
        shares = natural.partition(targets, 3, seed)
        held = [set(users[share].tolist()) for share in shares]
        assert sorted(user for mine in held for user in mine) == [0, 1, 2, 3]
        assert {len(mine) for mine in held} == {1, 2}
    with pytest.raises(ValueError, match=r"clients must be at most 4 \(the users of the data\), got 5"):
        natural.partition(targets, 5, seed=0)
    with pytest.raises(ValueError, match="partition must be another than natural: the task's examples have no users"):
        PARTITIONS.make("natural").partition(targets, 2, 0)


def test_natural_shares_can_be_ordered_by_label() -> None:
    shares = deal(Masked(), 2, InLabelOrder(Natural()), seed=0)

    assert sorted(share.size for share in shares) == [150, 300]


def leaf(folder: Path, users: dict[str, Any]) -> Path:
    for part in ("train", "test"):
        (folder / part).mkdir(parents=True)
        content = {"users": list(users), "num_samples": [len(one["y"]) for one in users.values()], "user_data": users}
        (folder / part / "all_data_niid_0.json").write_text(json.dumps(content))
    return folder


def test_femnist_is_read_by_writer_and_trains(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    writers = {f"f{n:04}": {"x": rng.uniform(size=(n + 1, 784)).tolist(), "y": [n, *([61] * n)]} for n in (3, 1, 2)}
    task = load_task("femnist", leaf(tmp_path, writers))

    assert task.training.inputs.shape == (9, 1, 28, 28) and task.training.targets.tolist() == [
        1,
        61,
        2,
        61,
        61,
        3,
        *[61] * 3,
    ]
    assert [part.tolist() for part in deal(task, 3, Natural(), 0)] == [[0, 1], [2, 3, 4], [5, 6, 7, 8]]
    np.testing.assert_allclose(task.training.inputs[0].flatten(), writers["f0001"]["x"][0], rtol=1e-6)
    check_task(task)


def test_shakespeare_is_read_by_role(tmp_path: Path) -> None:
    text = "Now is the winter of our discontent made glorious summer by this sun of York; and"[:80]
    task = load_task(
        "shakespeare", leaf(tmp_path, {"A": {"x": [text], "y": ["!"]}, "B": {"x": [text, text], "y": ["a", "}"]}})
    )

    assert "".join(CHARACTERS[one] for one in task.training.inputs[0].tolist()) == text and len(CHARACTERS) == 80
    assert task.training.targets.tolist() == [2, CHARACTERS.index("a"), 79]
    assert task.training.users.tolist() == [0, 1, 1]
    assert sum(one.numel() for one in task.model(np.random.default_rng(0)).parameters()) == 819_920


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ({"A": {"x": ["short"], "y": ["a"]}}, "data must be files as LEAF writes them.*is not a string of 80"),
        ({"A": {"x": ["é" * 80], "y": ["a"]}}, "data must be files as LEAF writes them"),
        ({"A": {"x": ["a" * 80]}}, "data must be files as LEAF writes them.*KeyError"),
        ({"A": {"x": ["a" * 80], "y": []}}, "data must be files as LEAF writes them.*1 x and 0 y"),
        ({}, "data must be a folder of LEAF's with examples in train"),
    ],
)
def test_other_files_are_refused_by_name(users: dict[str, Any], message: str, tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "one.json").write_text(json.dumps({"users": list(users), "user_data": users}))
    with pytest.raises(ValueError, match=message) as error:
        load_task("shakespeare", tmp_path)
    assert "\n" not in str(error.value)
