from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from torch import Tensor, nn

from ehfl import Participation
from ehfl.learning import Examples, Task, initialise, load_task, train
from ehfl.learning.device import pick_device
from ehfl.learning.evaluation import CHUNK, evaluate
from ehfl.learning.initialisation import blank, check_model
from ehfl.learning.tasks import TASKS
from ehfl.randomness import Purpose, generator


@pytest.mark.parametrize("name", [name for name in TASKS if name != "cifar10"])
class TestEveryTask:
    def test_is_named_and_has_a_model_that_takes_its_inputs(self, name: str) -> None:
        task = load_task(name)
        model = task.model(generator(0, Purpose.INIT))
        check_model(model)

        batch, targets = task.training.inputs[:7], task.training.targets[:7]
        loss = task.loss(model(batch), targets)

        assert task.name == name
        assert loss.shape == ()
        assert len(torch.autograd.grad(loss, list(model.parameters()))) > 0
        assert isinstance(task.metric(model(batch), targets), float)

    def test_its_model_and_data_are_functions_of_the_seed(self, name: str) -> None:
        first, again = (load_task(name) for _ in range(2))
        weights = [[p.tolist() for p in task.model(generator(4, Purpose.INIT)).parameters()] for task in (first, again)]

        assert weights[0] == weights[1]
        assert torch.equal(first.training.inputs, again.training.inputs)


def test_digits_are_split_once_and_for_all(digits: Task) -> None:
    assert (len(digits.training), len(digits.test)) == (1437, 360)
    assert torch.bincount(digits.test.targets).min() > 20


def test_digits_are_those_of_scikit_learn(digits: Task) -> None:
    pixels, labels = load_digits(return_X_y=True)
    original = sorted(zip(pixels.tolist(), labels.tolist(), strict=True))

    inputs = torch.cat([digits.training.inputs, digits.test.inputs])
    targets = torch.cat([digits.training.targets, digits.test.targets])
    assert sorted(zip((16 * inputs.view(-1, 64)).tolist(), targets.tolist(), strict=True)) == original


def test_the_problems_noise_cancels_over_the_training_set() -> None:
    task = load_task("wells")
    model = task.model(generator(0, Purpose.INIT))

    (slope,) = torch.autograd.grad(
        task.loss(model(task.training.inputs), task.training.targets), list(model.parameters())
    )

    # at x = 1, u / (1 + u^2)^2 = 1/4 times the curvature
    assert slope.tolist() == pytest.approx((np.linspace(0.1, 1.0, 20) / 4).tolist(), abs=1e-6)
    assert task.training.inputs.pow(2).sum(dim=1).mean().item() == pytest.approx(1.0, rel=1e-5)


def test_a_task_of_ones_own_is_found_by_name(blobs: Task, gaps: Participation, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("my_package_of_tasks")
    module.make = lambda: blobs  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)

    task = load_task("my_package_of_tasks:make")

    assert task is blobs
    assert len(train(task, gaps, local_steps=1).records) == gaps.rounds


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digit", "task must be one of digits, cifar10, .*did you mean digits"),
        ("no.such.module:make", "importable as package.module:factory, got no.such.module:make"),
        ("math:nothing", "importable as package.module:factory, got math:nothing"),
    ],
)
def test_a_task_that_is_not_there_is_named(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_task(name)


def test_evaluation_weighs_the_last_smaller_chunk_rightly() -> None:
    task = load_task("digits")
    model = task.model(generator(0, Purpose.INIT))
    assert len(task.test) % CHUNK != 0

    loss, metric = evaluate(task, model, task.test)

    with torch.no_grad():
        outputs = model(task.test.inputs)
        assert loss == pytest.approx(task.loss(outputs, task.test.targets).item(), rel=1e-5)
    assert metric == pytest.approx(task.metric(outputs, task.test.targets))


def test_initialise_fills_within_the_fan_in_bound_and_spreads_evenly() -> None:
    layer = initialise(blank(nn.Conv2d, 4, 200, 5), generator(0, Purpose.INIT))
    weights = layer.weight.detach().flatten()
    bound = 1 / 10  # fan in 100

    assert weights.abs().max() <= bound
    # variance of a uniform is b^2 / 3; 20,000 draws know it to 5 * sqrt(0.8 / 20000) of itself
    assert weights.var().item() == pytest.approx(bound**2 / 3, rel=5 * (0.8 / 20_000) ** 0.5)
    assert layer.bias is not None
    assert layer.bias.abs().max() <= bound


def test_a_model_that_averaging_would_break_is_refused() -> None:
    with pytest.raises(ValueError, match="model must be without running statistics"):
        check_model(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    with pytest.raises(ValueError, match="model must be one with parameters to learn"):
        check_model(nn.ReLU())


@pytest.mark.parametrize("targets", [torch.zeros(2), torch.zeros(0)])
def test_examples_come_in_pairs(targets: Tensor) -> None:
    with pytest.raises(ValueError, match="as many inputs as targets"):
        Examples(torch.zeros(len(targets) and 3), targets)


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (torch.cuda, torch.backends.mps):
        monkeypatch.setattr(kind, "is_available", lambda: False)

    with pytest.raises(ValueError, match=rf"device must be one that this machine has \(cpu\), got {name}"):
        pick_device(name)
    assert pick_device("auto").type == "cpu"


def test_auto_takes_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)

    assert pick_device("auto").type == "cuda"
