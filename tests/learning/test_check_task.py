"""`check_task`: silence for tasks that keep the rules, and a plain line for each rule that one breaks."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ehfl import Metric, Participation, check_task, train
from ehfl.learning import Examples, Task, initialise
from ehfl.validation import BrokenRules, InvalidValue


@pytest.mark.parametrize("name", ["digits", "quadratic", "wells"])
def test_every_task_of_ours_keeps_the_rules(name: str) -> None:
    state = torch.get_rng_state()

    check_task(name)

    assert torch.equal(torch.get_rng_state(), state)


def test_a_users_task_keeps_them_too(blobs: Task) -> None:
    check_task(blobs)
    check_task(blobs, examples=1, seed=5)


def changed(blobs: Task, **changes: Any) -> Any:
    """The blobs, with something of the user's own."""
    kept = ("name", "metric", "training", "test", "model", "loss", "score")
    return types.SimpleNamespace(**{name: getattr(blobs, name) for name in kept} | changes)


def test_of_millions_of_examples_the_last_is_looked_at_too(blobs: Task) -> None:
    size = 2**24 + 4  # its last number is none of float32's
    many = Examples(torch.zeros(1, 2).expand(size, 2), torch.zeros(1, dtype=torch.int64).expand(size))

    check_task(changed(blobs, training=many, test=many))


def network(*layers: nn.Module) -> Callable[[Any], nn.Module]:
    def model(rng: np.random.Generator) -> nn.Module:
        return initialise(nn.Sequential(nn.Linear(2, 8), *layers, nn.Linear(8, 3)), rng)

    return model


class Counter(nn.Module):
    """A layer that counts its calls."""

    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, inputs: Tensor) -> Tensor:
        self.calls += 1
        return inputs


class Shaky(nn.Module):
    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * float(np.random.default_rng().random() if self.training else 1)


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.inner(inputs.mul_(0.5))
        return outputs


class Spare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(2, 3), nn.Linear(2, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.used(inputs)
        return outputs


class Sequences(nn.Module):
    """Each example's two inputs as a sequence of length 2, read by a recurrent or attention layer."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.first, self.layer, self.head = nn.Linear(1, 8), layer, nn.Linear(8, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        found = self.layer(self.first(inputs[:, :, None]))  # (n_examples, 2, 8)
        outputs: Tensor = self.head((found[0] if isinstance(found, tuple) else found)[:, -1])
        return outputs


def sequences(make: Callable[[], nn.Module]) -> Callable[[Any], nn.Module]:
    def model(rng: np.random.Generator) -> nn.Module:
        made = Sequences(make())
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.copy_(torch.from_numpy(rng.normal(0, 0.3, tuple(parameter.shape))))
        return made

    return model


def zero_headed(*layers: nn.Module) -> Callable[[Any], nn.Module]:
    def model(rng: np.random.Generator) -> nn.Module:
        made = network(*layers)(rng)
        nn.init.zeros_(made[-1].weight)  # type: ignore[index]
        return made

    return model


class Centred(nn.Module):
    def forward(self, inputs: Tensor) -> Tensor:
        return inputs - inputs.mean(dim=0)


DEPENDS = "model must be one whose output for an example does not depend on the others of its batch (normalise each "
ONE = nn.Linear(2, 3)
NANS = Examples(torch.full((4, 2), torch.nan), torch.zeros(4, dtype=torch.int64))
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": ""}, "must have a text as its name, got ''"),
    "metric by name": ({"metric": "accuracy"}, "must have an ehfl.Metric as its metric, got 'accuracy'"),
    "data in a pair": ({"test": (1, 2)}, "must have ehfl.learning.Examples as its test set, got tuple"),
    "NaN in data": ({"training": NANS}, "has values that are not finite among the inputs of the training set"),
    "no module": ({"model": lambda rng: len}, "model must be a torch.nn.Module, got builtin_function_or_method"),
    "unseeded": (
        {"model": lambda rng: initialise(nn.Linear(2, 3), np.random.default_rng())},
        "model must be made from the given rng, or by torch's own random numbers, got weight that differs when asked "
        "again",
    ),
    "one for all": (
        {"model": lambda rng: ONE},
        "model must be a new one whenever the task is asked for it, got the same one twice",
    ),
    "batch statistics": ({"model": network(nn.BatchNorm1d(8, track_running_stats=False))}, DEPENDS),
    "batch statistics behind zeros": (
        {"model": zero_headed(nn.BatchNorm1d(8, track_running_stats=False))},
        DEPENDS,
    ),
    "batch mean": ({"model": network(Centred())}, DEPENDS),
    "examples as time": ({"model": sequences(lambda: nn.LSTM(8, 8))}, DEPENDS),
    "double": (
        {"model": lambda rng: network()(rng).double()},
        "model must be one whose trained parameters are float32, got torch.float64 for 0.weight",
    ),
    "frozen": (
        {"model": lambda rng: network()(rng).requires_grad_(requires_grad=False)},
        "model must be one with parameters to learn, got none",
    ),
    "chance by hand": ({"model": network(Shaky())}, "draws chance while training: one batch gave the losses "),
    "state": (
        {"model": network(Counter())},
        "model must be one whose buffers keep their shapes and, if training changes them, are persistent, got 1.calls",
    ),
    "in place": (
        {"model": lambda rng: initialise(InPlace(), rng)},
        "changes what it is given: inputs, in training",
    ),
    "unused": (
        {"model": lambda rng: initialise(Spare(), rng)},
        "has a parameter that the loss does not depend on: unused.weight",
    ),
    "rows mixed up": (
        {"model": network(nn.Flatten(0), nn.Unflatten(0, (-1, 8)), nn.AvgPool1d(8), nn.Flatten(0))},
        "model must be one that returns a tensor with a row for each of 8 examples, got shape (3,)",
    ),
    "loss by example": (
        {"loss": lambda outputs, targets: nn.functional.cross_entropy(outputs, targets, reduction="none")},
        "must return one number as loss, a tensor without axes, got torch.float32 of shape (64,)",
    ),
    "loss as a number": (
        {"loss": lambda outputs, targets: 0.5},
        "must return one number as loss, a tensor without axes, got float",
    ),
    "loss without gradient": (
        {"loss": lambda outputs, targets: outputs.detach().mean()},
        "must return a loss to differentiate, got one without gradient",
    ),
    "exit": ({"loss": lambda outputs, targets: sys.exit()}, "fails: SystemExit"),
    "NaN as loss": (
        {"loss": lambda outputs, targets: outputs.mean() * torch.nan},
        "must return a finite loss, got nan for the first model",
    ),
    "percent": (
        {"score": lambda outputs, targets: 87.5},
        "score of task blobs must be a finite number in [0, 1], the bounds of accuracy, got 87.5",
    ),
    "score with chance": (
        {"score": lambda outputs, targets: float(np.random.default_rng().uniform())},
        "has a score that is not reproducible: the same outputs gave ",
    ),
    "score in place": (
        {"score": lambda outputs, targets: float(outputs.zero_().sum())},
        "changes what it is given: outputs, in score",
    ),
    "no score": ({"score": lambda outputs, targets: None}, "score of task blobs must be one number, "),
}

TWICE = {"unused": 2, "in place": 2}  # a weight and a bias; in training and in evaluation


@pytest.mark.parametrize(
    "model",
    [
        network(nn.GroupNorm(2, 8)),
        network(nn.LayerNorm(8), nn.ReLU()),
        network(*(layer for _ in range(20) for layer in (nn.Linear(8, 512), nn.ReLU(), nn.Linear(512, 8)))),
        sequences(lambda: nn.LSTM(8, 8, batch_first=True)),
        sequences(lambda: nn.GRU(8, 4, num_layers=2, bidirectional=True, batch_first=True)),
        sequences(lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)),
        zero_headed(nn.LayerNorm(8)),
        network(nn.Dropout(0.1)),
        network(nn.BatchNorm1d(8)),
        lambda rng: nn.Sequential(nn.Linear(2, 8).requires_grad_(requires_grad=False), nn.Linear(8, 3)),
    ],
    ids=[
        "group norm",
        "layer norm",
        "deep",
        "lstm",
        "gru",
        "transformer",
        "zero head",
        "dropout",
        "batch norm",
        "frozen",
    ],
)
def test_models_that_answer_for_each_example_alone_pass(blobs: Task, model: Any) -> None:
    for seed in range(3):
        check_task(changed(blobs, model=model), seed=seed)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_told_in_a_plain_line(blobs: Task, case: str) -> None:
    changes, fault = BROKEN[case]

    with pytest.raises(BrokenRules, match=r"^SimpleNamespace breaks the rules:") as told:
        check_task(changed(blobs, **changes))

    assert told.value.faults[0].startswith(fault)
    assert "\n" not in told.value.faults[0]
    assert len(told.value.faults) == TWICE.get(case, 1), told.value.faults


def test_all_faults_of_a_task_are_listed_at_once(blobs: Task) -> None:
    broken = changed(
        blobs, name="", metric="accuracy", model=lambda rng: initialise(Spare(), rng), test=NANS, loss=lambda *_: 0.5
    )

    with pytest.raises(BrokenRules) as told:
        check_task(broken)

    assert told.value.faults == (
        "must have a text as its name, got ''",
        "must have an ehfl.Metric as its metric, got 'accuracy'",
        "has values that are not finite among the inputs of the test set",
        "must return one number as loss, a tensor without axes, got float",
    )


def test_faults_of_training_and_of_the_score_are_listed_at_once(blobs: Task) -> None:
    with pytest.raises(BrokenRules) as told:
        check_task(changed(blobs, model=lambda rng: initialise(Spare(), rng), score=lambda outputs, targets: 87.5))

    assert [fault[:30] for fault in told.value.faults] == [
        "has a parameter that the loss ",
        "has a parameter that the loss ",
        "score of task blobs must be a ",
    ]


def test_what_the_users_code_raises_is_told_with_its_line(blobs: Task, tmp_path: Path) -> None:
    class Mine:
        def __getattr__(self, name: str) -> Any:
            return getattr(blobs, name)

        def score(self, outputs: Tensor, targets: Tensor) -> float:
            return 1 / 0

    with pytest.raises(BrokenRules) as told:
        check_task(Mine())

    assert told.value.faults[0].startswith("fails: ZeroDivisionError: division by zero (test_check_task.py:")


# regression: (n, 1) less (n,) is (n, n) for torch


def fitted(shape: tuple[int, ...], loss: Any) -> Any:
    inputs = torch.linspace(0, 1, 30)[:, None]
    examples = Examples(inputs, (2 * inputs + 1).reshape(shape))
    return types.SimpleNamespace(
        name="line", metric=Metric("RMSE", lower_is_better=True), training=examples, test=examples, loss=loss,
        model=lambda rng: initialise(nn.Linear(1, 1), rng), score=lambda outputs, targets: 1.0,
    )  # fmt: skip


def squares(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).square().mean()


def test_a_loss_of_every_output_beside_every_target_is_told() -> None:
    check_task(fitted((30, 1), squares))
    check_task(fitted((30,), lambda outputs, targets: squares(outputs[:, 0], targets)))
    with pytest.raises(BrokenRules) as told:
        check_task(fitted((30,), squares))

    assert told.value.faults == (
        "has a loss that compares every output with every target: outputs of shape (30, 1) and targets of shape (30,) "
        "(give them the same shape)",
    )


# what train itself refuses


@pytest.mark.parametrize(
    "case", ["unseeded", "one for all", "state", "batch statistics", "double", "frozen", "no module"]
)
def test_train_refuses_a_model_that_could_not_be_trained_the_same_again(
    blobs: Task, gaps: Participation, case: str
) -> None:
    changes, fault = BROKEN[case]

    with pytest.raises(InvalidValue) as refused:
        train(changed(blobs, **changes), gaps, local_steps=1)

    assert str(refused.value).startswith(fault)


def test_data_that_an_evaluation_changed_are_told_and_not_gone_on_with(blobs: Task, gaps: Participation) -> None:
    examples = Examples(blobs.test.inputs.clone(), blobs.test.targets)
    task = changed(blobs, test=examples, model=lambda rng: initialise(InPlace(), rng))

    with pytest.raises(InvalidValue, match=r"^task blobs must be one that leaves the examples as they are, got them"):
        train(task, gaps, local_steps=1)
