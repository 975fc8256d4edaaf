"""A test set is judged as a whole, and what cannot be a result is none."""

from __future__ import annotations

import math
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ehfl import Metric, Participation
from ehfl.learning import Diverged, Examples, Task, load_task, train
from ehfl.learning.evaluation import CHUNK, evaluate
from ehfl.randomness import Purpose, generator
from ehfl.runs import read_history
from ehfl.validation import InvalidValue

QUICK: dict[str, Any] = {"local_steps": 1, "batch_size": 8, "device": "cpu"}


def made_task(score: Any, metric: Metric, loss: Any = nn.functional.mse_loss, inputs: Tensor | None = None) -> Any:
    """A task whose model hands its inputs through, so that outputs are what they are made to be."""
    inputs = torch.linspace(-1, 2, 2 * CHUNK + 7)[:, None] if inputs is None else inputs
    examples = Examples(inputs, torch.zeros_like(inputs))

    def model(rng: object) -> nn.Module:
        layer = nn.Linear(1, 1)
        layer.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.zeros(1)})
        return layer

    return types.SimpleNamespace(
        name="made", metric=metric, training=examples, test=examples, model=model, loss=loss, score=score
    )


def macro_f1(outputs: Tensor, targets: Tensor) -> float:
    found = outputs.argmax(dim=1)
    shares = []
    for label in range(outputs.shape[1]):
        hits = int(((found == label) & (targets == label)).sum())
        shares.append(2 * hits / max(1, int((found == label).sum() + (targets == label).sum())))
    return sum(shares) / len(shares)


def test_macro_f1_of_a_test_set_in_the_order_of_its_labels_is_that_of_the_whole(digits: Any) -> None:
    """Averaged over chunks of 200, most of which lack most classes, it came out far too low."""
    order = torch.argsort(digits.test.targets, stable=True)
    kept = ("model", "loss", "training", "metric")
    task: Any = types.SimpleNamespace(name="f1", score=macro_f1, **{name: getattr(digits, name) for name in kept})
    task.test = Examples(digits.test.inputs[order], digits.test.targets[order])
    model = digits.model(generator(0, Purpose.INIT))

    with torch.no_grad():
        whole = macro_f1(model(digits.test.inputs), digits.test.targets)
    assert evaluate(task, model).metric == pytest.approx(whole, abs=0.01)  # outputs of other chunks may round otherwise


def test_rmse_is_the_root_over_all_examples() -> None:
    task = made_task(
        lambda outputs, targets: float((outputs - targets).square().mean().sqrt()), Metric("RMSE", lower_is_better=True)
    )

    found = evaluate(task, task.model(None))

    errors = task.test.inputs.double()
    assert found.metric == pytest.approx(float(errors.square().mean().sqrt()), rel=1e-6)
    assert found.loss == pytest.approx(float(errors.square().mean()), rel=1e-6)


def test_examples_other_than_the_test_set_can_be_given_and_the_mode_is_given_back() -> None:
    task = load_task("digits")
    model = task.model(generator(0, Purpose.INIT))
    some = Examples(task.training.inputs[:30], task.training.targets[:30])

    for mode in (True, False):
        model.train(mode)
        with torch.no_grad():
            outputs = model(some.inputs)
        assert evaluate(task, model, some) == (
            task.loss(outputs, some.targets).item(),
            task.score(outputs, some.targets),
        )
        assert model.training is mode


SHARE = Metric("accuracy", bounds=(0, 1))


@pytest.mark.parametrize(
    ("score", "metric", "message"),
    [
        (87.5, SHARE, "a finite number in [0, 1], the bounds of accuracy, got 87.5"),
        (-0.1, SHARE, "a finite number in [0, 1], the bounds of accuracy, got -0.1"),
        (math.nan, SHARE, "a finite number in [0, 1], the bounds of accuracy, got nan"),
        (math.inf, Metric("gap"), "a finite number in [-1e+100, 1e+100], the bounds of gap, got inf"),
        (None, SHARE, "one number, the accuracy of all outputs, got None"),
        (torch.ones(3), SHARE, "one number, the accuracy of all outputs, got tensor([1., 1., 1.])"),
    ],
)
def test_a_score_that_is_no_value_of_the_metric_is_refused_where_it_is_made(
    gaps: Participation, tmp_path: Path, score: Any, metric: Metric, message: str
) -> None:
    task = made_task(lambda outputs, targets: score, metric)

    with pytest.raises(InvalidValue) as refused:
        train(task, gaps, **QUICK, run_dir=tmp_path)

    assert str(refused.value) == f"score of task made must be {message}"
    assert read_history(tmp_path / "rounds.jsonl") == []


@pytest.mark.parametrize("score", [1, 1.0000001, -1e-9, np.float32(0.5), torch.tensor(0.5)])
def test_rounding_may_carry_a_score_a_little_beyond_the_bounds(score: Any) -> None:
    task = made_task(lambda outputs, targets: score, SHARE)

    assert evaluate(task, task.model(None)).metric == float(score)


@pytest.mark.parametrize("value", [1.7e308, -1.7e308])
def test_a_value_whose_square_overflows_is_in_no_record(value: float, gaps: Participation, tmp_path: Path) -> None:
    """A report could not take means and deviations of it."""

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:  # of the whole set alone
        return outputs.double().square().mean() + (value if len(outputs) > 50 else 0.0)

    wide, steep = made_task(lambda *_: value, Metric("gap")), made_task(lambda *_: 0.5, SHARE, loss)
    with pytest.raises(InvalidValue, match=r"^score of task made must be a finite number in \[-1e\+100, 1e\+100\]"):
        train(wide, gaps, **QUICK, run_dir=tmp_path / "wide")
    with pytest.raises(Diverged, match=r"^test loss is -?1\.7e\+308 after 0 rounds"):
        train(steep, gaps, **QUICK, run_dir=tmp_path / "steep")

    assert not any(path.read_bytes() for path in tmp_path.glob("*/rounds.jsonl"))


def test_a_test_loss_that_is_no_number_is_divergence_and_in_no_record(gaps: Participation, tmp_path: Path) -> None:
    def loss(outputs: Tensor, targets: Tensor) -> Tensor:  # infinite for the whole set alone
        return outputs.square().mean() * (math.inf if len(outputs) > 50 else 1.0)

    task = made_task(lambda outputs, targets: 0.5, SHARE, loss)

    with pytest.raises(Diverged, match=r"^test loss is inf after 0 rounds: look at the task's model and data$"):
        train(task, gaps, **QUICK, run_dir=tmp_path)
    assert read_history(tmp_path / "rounds.jsonl") == []


class Twice(nn.Module):
    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        return inputs, inputs


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (nn.Flatten(0), "shape (600,)"),
        (nn.Sequential(nn.Flatten(0), Twice()), "tuple"),
        (nn.AdaptiveAvgPool2d(1), "shape (1, 1)"),
    ],
)
def test_a_model_must_answer_for_every_example(model: nn.Module, given: str) -> None:
    task = made_task(None, SHARE, inputs=torch.ones(2 * CHUNK, 3))

    with pytest.raises(InvalidValue) as refused:
        evaluate(task, model)

    assert str(refused.value) == (
        f"model must be one that returns a tensor with a row for each of {CHUNK} examples, got {given}"
    )


def test_an_evaluation_of_a_registered_task_is_what_its_methods_say(digits: Task) -> None:
    model = digits.model(generator(0, Purpose.INIT))
    assert len(digits.test) % CHUNK != 0

    loss, metric = evaluate(digits, model)

    with torch.no_grad():
        outputs = model(digits.test.inputs)
        assert loss == pytest.approx(digits.loss(outputs, digits.test.targets).item(), rel=1e-5)
    assert metric == digits.score(outputs, digits.test.targets)
