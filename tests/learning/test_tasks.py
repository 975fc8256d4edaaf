from __future__ import annotations

import hashlib
import sys
import types
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ehfl import Participation
from ehfl.learning import RMSE, Examples, Task, initialise, load_task, rmse, train
from ehfl.learning.first_model import check_model
from ehfl.randomness import Purpose, generator


@pytest.mark.parametrize("name", ["digits", "quadratic", "wells"])
class TestEveryTask:
    def test_is_known_by_its_name(self, name: str) -> None:
        assert load_task(name).name == name

    def test_its_model_and_data_are_functions_of_the_seed(self, name: str) -> None:
        first, again = (load_task(name) for _ in range(2))
        weights = [[p.tolist() for p in task.model(generator(4, Purpose.INIT)).parameters()] for task in (first, again)]

        assert weights[0] == weights[1]
        assert torch.equal(first.training.inputs, again.training.inputs)


def test_digits_are_split_once_and_for_all(digits: Task) -> None:
    assert (len(digits.training), len(digits.test)) == (1437, 360)
    assert torch.bincount(digits.test.targets).min() > 20


def test_digits_are_the_published_images(digits: Task) -> None:
    """The digest was taken from scikit-learn's load_digits, which reads the same file of the UCI repository."""
    with (files("ehfl.learning.tasks") / "digits.npz").open("rb") as file, np.load(file) as stored:
        pixels, labels = stored["pixels"], stored["labels"]

    assert (pixels.shape, labels.shape, pixels.max()) == ((1797, 64), (1797,), 16)
    packed = pixels.astype(np.uint8).tobytes() + labels.astype(np.uint8).tobytes()
    assert hashlib.sha256(packed).hexdigest()[:16] == "87ff0c9e40dc7e2c"
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_digits_has_every_image_once_with_its_label(digits: Task) -> None:
    with (files("ehfl.learning.tasks") / "digits.npz").open("rb") as file, np.load(file) as stored:
        original = sorted(zip(stored["pixels"].tolist(), stored["labels"].tolist(), strict=True))

    inputs = torch.cat([digits.training.inputs, digits.test.inputs])
    targets = torch.cat([digits.training.targets, digits.test.targets])
    assert (inputs.dtype, inputs.shape[1:], targets.dtype) == (torch.float32, (1, 8, 8), torch.int64)
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
    module.Blobs = type(blobs)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)

    task = load_task("my_package_of_tasks:Blobs")

    assert type(task) is type(blobs)
    assert len(train(task, gaps, local_steps=1).records) == gaps.rounds


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digit", "task must be one of digits, cifar10, .*did you mean digits"),
        ("no.such.module:make", "importable as package.module:Class, got no.such.module:make"),
        ("math:nothing", "importable as package.module:Class, got math:nothing"),
        ("math:sqrt", "task must be a class with .*, got math:sqrt, which is not a class"),
        ("types:SimpleNamespace", "task must be a class with model, .*, got types:SimpleNamespace without model"),
    ],
)
def test_a_task_that_is_not_there_is_named_in_one_line(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        load_task(name)
    assert "\n" not in str(refused.value)


def test_data_for_a_task_that_brings_its_own_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^task.data must be a parameter of digits, left out: it takes no parameters"):
        load_task("digits", "somewhere")


def test_initialise_fills_within_the_fan_in_bound_and_spreads_evenly() -> None:
    layer = initialise(nn.Conv2d(4, 200, 5), generator(0, Purpose.INIT))
    weights = layer.weight.detach().flatten()
    bound = 1 / 10  # fan in 100

    assert weights.abs().max() <= bound
    # variance of a uniform is b^2 / 3; 20,000 draws know it to 5 * sqrt(0.8 / 20000) of itself
    assert weights.var().item() == pytest.approx(bound**2 / 3, rel=5 * (0.8 / 20_000) ** 0.5)
    assert layer.bias is not None
    assert layer.bias.abs().max() <= bound


def test_initialise_fills_layers_without_bias_and_leaves_other_parameters_alone() -> None:
    layers = nn.Sequential(nn.Linear(4, 2, bias=False), nn.GroupNorm(1, 2))
    initialise(layers, generator(0, Purpose.INIT))

    weight, scale, shift = (parameter.detach() for parameter in layers.parameters())
    rng = generator(0, Purpose.INIT)
    assert weight.tolist() == rng.uniform(-0.5, 0.5, size=(2, 4)).astype(np.float32).tolist()  # fan in 4
    assert (scale.tolist(), shift.tolist()) == ([1, 1], [0, 0])


def test_a_model_without_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match="model must be one with parameters to learn"):
        check_model(nn.ReLU())


def test_rmse_is_over_all_entries_and_refuses_shapes_that_torch_would_spread() -> None:
    assert rmse(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.0], [3.0, 0.0]])) == 2.0
    assert RMSE.allows(rmse(torch.ones(3), torch.ones(3))) and RMSE.sign == -1
    with pytest.raises(ValueError, match=r"^outputs must be of the shape of the targets, got \(3, 1\) and \(3,\)$"):
        rmse(torch.ones(3, 1), torch.ones(3))


@pytest.mark.parametrize("targets", [torch.zeros(2), torch.zeros(0)])
def test_examples_come_in_pairs(targets: Tensor) -> None:
    with pytest.raises(ValueError, match="as many inputs as targets"):
        Examples(torch.zeros(len(targets) and 3), targets)


@pytest.mark.parametrize("inputs", [{"text": [1, 2]}, np.zeros((8, 2)), {}])
def test_inputs_that_make_no_batch_are_refused_by_what_they_are(inputs: Any) -> None:
    kind = type(inputs).__name__
    allowed = "a tensor with an example a row, or a tuple or dict of these; a dataset is read by Examples.of"
    with pytest.raises(ValueError, match=rf"^examples\.inputs must be {allowed}, got {kind}$"):
        Examples(inputs, torch.zeros(8))
