from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from turns import CPU, player

from ehfl import Participation
from ehfl.learning import Examples, LocalSgd, Metric, Task, train
from ehfl.learning.aggregation.contract import Order
from ehfl.learning.engine import device as precision
from ehfl.learning.engine.stacked import Stack
from ehfl.learning.tasks.cifar import paper_network
from ehfl.runs import OtherRun
from ehfl.validation import InvalidValue

QUICK: dict[str, Any] = {"local_steps": 3, "batch_size": 8, "eval_every": 3, "device": "cpu"}
FINE = 1 + 2.0**-10  # float32 holds it, bfloat16 rounds it to 1


@pytest.fixture(autouse=True)
def _bf16_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow bf16 on any processor: it is slow without instructions, and these models are small."""
    monkeypatch.setattr(precision, "_is_fast", lambda device: True)


@dataclass(frozen=True, eq=False)
class Product:
    """One weight, FINE at the start, times the input; the loss is the mean output."""

    name: str = "product"
    metric: ClassVar[Metric] = Metric("mean")
    training: Examples = field(default_factory=lambda: Examples(torch.full((4, 1), FINE), torch.zeros(4)))
    test: Examples = field(default_factory=lambda: Examples(torch.tensor([[FINE]]), torch.zeros(1)))

    def model(self, rng: np.random.Generator) -> nn.Module:
        layer = nn.Linear(1, 1, bias=False)
        nn.init.constant_(layer.weight, FINE)
        return layer

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return outputs.mean()

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        return float(outputs.mean())


@pytest.mark.parametrize(("name", "factor"), [("float32", FINE), ("bf16", 1.0)])
def test_bf16_rounds_the_factors_of_a_product_and_nothing_else(name: str, factor: float) -> None:
    one = player(Product(), [np.array([0])], LocalSgd(local_steps=1, batch_size=1, precision=name))
    eta = 2.0**-12

    update = one.train(one.model.weights.clone(), client=0, t=0, eta=eta)

    assert update.weights.dtype == torch.float32
    assert update.loss == factor * factor  # weight times input
    # The gradient is the input; the weight and its step, far below the resolution of bfloat16, are float32.
    assert update.weights.item() == pytest.approx(FINE - eta * factor, rel=2.0**-23)


def test_evaluation_is_in_float32(gaps: Participation) -> None:
    exact: list[float] = []
    history = train(Product(), gaps, **QUICK, precision="bf16",
                    on_round=lambda record, model: exact.append(model.weight.item() * FINE))  # fmt: skip

    assert history.records[-1].test_loss == pytest.approx(exact[-1], rel=2.0**-23)


def test_a_stack_in_bf16_trains_what_one_client_after_the_other_would(blobs: Task) -> None:
    parts = [np.arange(45), np.arange(45, 90)]
    one = player(blobs, parts, LocalSgd(5, 7, precision="bf16"))
    exact = player(blobs, parts, LocalSgd(5, 7))
    orders = [Order(i, 0, one.model.weights.clone(), 5, 0.1) for i in range(2)]

    together = Stack(one.engine, one.model).train(one.model, orders)
    apart = [one.engine.train(order, one.model) for order in orders]
    in_float32 = [exact.engine.train(order, exact.model) for order in orders]

    for found, expected, plain in zip(together, apart, in_float32, strict=True):
        # Each factor is off by 2^-9 at most, so an update of five steps is off by a few times that; stacks sum in
        # another order, and what is between two layers may be rounded the other way.
        assert (found.weights - expected.weights).norm() < 2.0**-6 * expected.delta.norm()
        assert 0 < (expected.weights - plain.weights).norm() < 2.0**-6 * plain.delta.norm()


def test_no_bit_depends_on_the_number_of_workers(blobs: Task, gaps: Participation) -> None:
    one, three = (train(blobs, gaps, **QUICK, precision="bf16", engine="plain", workers=n) for n in (1, 3))

    assert np.array_equal(one.weights, three.weights)


def test_a_run_is_not_resumed_in_another_precision(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    train(blobs, gaps, **QUICK, run_dir=tmp_path)

    with pytest.raises(OtherRun, match="precision is float32 there and bf16 here"):
        train(blobs, gaps, **QUICK, precision="bf16", run_dir=tmp_path)


def test_the_network_of_the_paper_has_nearly_the_gradient_of_float32() -> None:
    model = paper_network(np.random.default_rng(0))
    images = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8))
    gradients = []
    for name in precision.PRECISIONS:
        loss = nn.functional.cross_entropy(precision.forward(model, images, name), torch.arange(4))
        pieces = torch.autograd.grad(loss, list(model.parameters()))
        gradients.append(torch.cat([piece.flatten() for piece in pieces]))
    plain, rounded = gradients
    assert rounded.dtype == torch.float32
    assert 0 < (rounded - plain).norm() < 0.1 * plain.norm()  # 2^-9 a layer, and some maxima of pooling change places


def test_a_machine_without_instructions_for_it_refuses_it_and_says_what_it_would_cost(
    blobs: Task, gaps: Participation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")

    with pytest.raises(InvalidValue, match=r"precision must be float32 .*would take [\d.]+ times as long.*, got bf16"):
        train(blobs, gaps, **QUICK, precision="bf16")
    precision.check_precision("float32", CPU)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(InvalidValue, match="precision must be one of float32, bf16, got fp16"):
        LocalSgd(precision="fp16")
