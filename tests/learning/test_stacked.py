from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from turns import CPU, player

from ehfl import AlwaysOn, Bernoulli, Fleet, Participation, simulate
from ehfl.learning import LocalSgd, Task, train
from ehfl.learning.aggregation.contract import Order
from ehfl.learning.engine import stacked
from ehfl.learning.engine.stacked import Stack, stack_of
from ehfl.partition import Dirichlet, Iid

QUICK: dict[str, Any] = {"local_steps": 3, "batch_size": 8, "eval_every": 3, "device": "cpu"}
# Some 25 float32 steps of size below 1, each rounding at 6e-8 of weights of order 1, in another order of summation.
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 2e-6}


def orders(x: Tensor, steps: list[int], *, shift: bool = False, pull: float = 0.0) -> list[Order]:
    rng = torch.Generator().manual_seed(1)
    shifts = [0.1 * torch.randn(x.numel(), generator=rng) if shift and i % 2 else None for i in range(len(steps))]
    return [Order(i, 4, x + 0.01 * i, k, 0.1, 7, pull, shifts[i]) for i, k in enumerate(steps)]


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        (LocalSgd(5, 7), {}),
        (LocalSgd(5, 7, clip=0.3, weight_decay=0.02), {}),
        (LocalSgd(5, 7), {"shift": True}),
        (LocalSgd(5, 7), {"pull": 0.4}),
        (LocalSgd(5, 20), {}),  # clients with fewer examples than that have batches of their own size
    ],
    ids=["plain", "clipped, decayed", "shifted", "pulled", "uneven batches"],
)
def test_a_stack_trains_what_one_client_after_the_other_would(
    blobs: Task, rule: LocalSgd, more: dict[str, Any]
) -> None:
    parts = Dirichlet(0.5).partition(blobs.training.targets.numpy(), 6, seed=2)
    one = player(blobs, parts, rule)
    given = orders(one.model.weights.clone(), [5, 5, 2, 5, 1, 4], **more)

    together = Stack(one.engine, one.model).train(one.model, given)
    apart = [one.engine.train(order, one.model) for order in given]

    for found, expected in zip(together, apart, strict=True):
        assert (found.client, found.steps, found.examples) == (expected.client, expected.steps, expected.examples)
        torch.testing.assert_close(found.weights, expected.weights, **CLOSE)
        assert (found.loss, found.start_loss) == pytest.approx((expected.loss, expected.start_loss), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("others", [0, 1, 2, 5])
def test_a_client_ends_with_the_same_bits_whoever_else_takes_part(blobs: Task, others: int) -> None:
    parts = Iid().partition(blobs.training.targets.numpy(), 6, seed=0)
    one = player(blobs, parts, LocalSgd(5, 7))
    stack, given = Stack(one.engine, one.model), orders(one.model.weights.clone(), [5] * 6)

    (alone,), several = stack.train(one.model, given[:1]), stack.train(one.model, given[: others + 1])

    assert torch.equal(alone.weights, several[0].weights)
    assert alone.loss == several[0].loss


@pytest.mark.parametrize("depth", [2, 3])
def test_no_bit_depends_on_the_number_of_workers_or_the_depth_of_a_stack(
    blobs: Task, gaps: Participation, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(blobs, gaps, **QUICK, engine="stacked")
    monkeypatch.setattr(stacked, "_DEEPEST", depth)
    parted = train(blobs, gaps, **QUICK, engine="stacked", workers=3)

    assert np.array_equal(whole.weights, parted.weights)
    assert whole.records == parted.records


def test_a_stack_leaves_models_and_starts_as_they_are(blobs: Task) -> None:
    one = player(blobs, [np.arange(45), np.arange(45, 90)], LocalSgd(3, 7))
    x = one.model.weights.clone()
    given = [Order(i, 0, x, 3, 0.1) for i in range(2)]

    first, second = Stack(one.engine, one.model).train(one.model, given)

    assert torch.equal(one.model.weights, x)
    assert torch.equal(first.start, x)
    assert not torch.equal(first.weights, second.weights)


@pytest.mark.parametrize("aggregation", ["mean", "scaffold", "fedprox", "mifa"])
def test_training_on_stacks_equals_plain_training(blobs: Task, gaps: Participation, aggregation: str) -> None:
    plain, stacked = (train(blobs, gaps, **QUICK, aggregation=aggregation, engine=e) for e in ("plain", "stacked"))

    np.testing.assert_allclose(stacked.weights, plain.weights, rtol=1e-5, atol=1e-5)
    assert not np.array_equal(stacked.weights, plain.weights)  # so that it was another computation


class Stubborn(nn.Module):
    """A model that asks for a value, which no batch of models has."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x)
        return out if float(out.sum().item()) < 1e9 else out * 2


def test_a_model_that_cannot_be_stacked_trains_one_by_one(blobs: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    model = Stubborn()
    for p in model.parameters():
        p.data.fill_(0.1)
    monkeypatch.setattr(type(blobs), "model", lambda self, rng: _copy(model))
    mains = simulate(Fleet(clients=6, harvest=Bernoulli(0.5)), AlwaysOn(6), rounds=4)

    plain, stacked = (train(blobs, mains, **QUICK, engine=e) for e in ("plain", "stacked"))

    assert np.array_equal(plain.weights, stacked.weights)


def _copy(model: nn.Module) -> nn.Module:
    twin = Stubborn()
    twin.load_state_dict(model.state_dict())
    return twin


@pytest.mark.parametrize(
    ("asked", "participants", "batch", "stacks"),
    [
        ("auto", 10, 8, True),
        ("auto", 3, 8, False),
        ("plain", 10, 8, False),
        ("stacked", 1, 8, True),
        ("auto", 10, 10**6, True),  # blobs: 90 examples of two numbers
    ],
)
def test_auto_stacks_small_models_of_several_participants(
    blobs: Task, asked: str, participants: int, batch: int, stacks: bool
) -> None:
    one = player(blobs, [np.arange(90)], LocalSgd(2, batch))

    assert (stack_of(one.engine, one.model, participants, asked) is not None) == stacks


def test_auto_trains_longer_steps_one_by_one(digits: Task) -> None:
    few, many = (player(digits, [np.arange(900)], LocalSgd(2, batch)) for batch in (8, 200))

    assert stack_of(few.engine, few.model, 10) is not None
    assert stack_of(many.engine, many.model, 10) is None
    assert few.model.weights.device == CPU
