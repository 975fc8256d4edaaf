"""What one client makes of a model: the pure half of a round, which a device can compute alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from turns import Player, player

from ehfl.arrays import IntArray
from ehfl.learning import LocalSgd, Task, Update
from ehfl.learning.tasks.problems import ProblemTask
from ehfl.partition import Iid
from ehfl.theory import Quadratic

CPU = torch.device("cpu")


def engine_on(task: Task, parts: list[IntArray], rule: LocalSgd) -> Player:
    return player(task, parts, rule)


def by_hand(rule: LocalSgd) -> Player:
    """f(x) = (x_0 - 2)^2 / 2 + x_1^2 / 4 without noise, from x = (4, 4), at two clients."""
    bowl = Quadratic(curvature=[1.0, 0.5], minimiser=[2.0, 0.0], variance=0.0)
    task = ProblemTask("by hand", bowl, variance=0.0, minimum=0.0, examples=4, start=4.0)
    return engine_on(task, [np.array([0, 1]), np.array([2, 3])], rule)


def bits(update: Update) -> tuple[Any, ...]:
    arrays = (update.start, update.weights)
    return update.client, update.loss, update.steps, update.examples, *(a.numpy().tobytes() for a in arrays)


def test_a_local_update_is_a_function_of_its_arguments_whatever_was_trained_before(blobs: Task) -> None:
    parts = Iid().partition(blobs.training.targets.numpy(), 3, seed=0)
    fresh, used = (engine_on(blobs, parts, LocalSgd(local_steps=3, batch_size=5)) for _ in range(2))
    x = fresh.model.weights + 0.25
    before = x.clone()

    expected = bits(fresh.train(x, 1, t=4, eta=0.1))
    for client in range(3):
        used.train(x, client, t=0, eta=0.3)
    kept = used.train(x, 1, t=4, eta=0.1)
    used.train(x, 2, t=9, eta=0.2)

    assert bits(kept) == expected  # later training leaves an earlier update as it was
    assert bits(used.train(x, 1, t=4, eta=0.1)) == expected
    assert torch.equal(x, before)
    others = [used.train(x, 2, t=4, eta=0.1), used.train(x, 1, t=5, eta=0.1)]
    assert all(not torch.equal(other.weights, kept.weights) for other in others)


def test_an_update_says_whose_it_is_and_what_changed(blobs: Task) -> None:
    parts: list[IntArray] = [np.arange(20), np.arange(20, 90)]
    engine = engine_on(blobs, parts, LocalSgd(local_steps=3, batch_size=5))
    x = engine.model.weights.clone()

    update = engine.train(x, 1, t=0, eta=0.1)

    assert (update.client, update.steps, update.examples) == (1, 3, 70)
    assert torch.equal(update.start, x)
    assert torch.equal(update.delta, update.weights - x)
    assert update.delta.abs().max() > 0.001


def test_a_round_is_the_mean_of_its_local_updates_to_the_bit(blobs: Task) -> None:
    parts = Iid().partition(blobs.training.targets.numpy(), 3, seed=0)
    played, apart = (engine_on(blobs, parts, LocalSgd(local_steps=3, batch_size=5)) for _ in range(2))
    x = apart.model.weights.clone()

    heard = played.play(2, [0, 1], 0.1)
    updates = [apart.train(x, client, t=2, eta=0.1) for client in (0, 1)]

    assert heard.losses == [update.loss for update in updates]
    assert heard.mean_loss() == sum(heard.losses) / 2
    assert torch.equal(played.model.weights, (sum(u.weights.double() for u in updates) / 2).float())  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("rule", "weights", "loss"),
    [
        # Gradient (w_0 - 2, w_1 / 2), pull 1 * (w - x) with x = (4, 4), eta 1/2. The pull is 0 at first: w = (3, 3).
        # There (1, 1.5) + (-1, -1) = (0, 0.5): w = (3, 2.75); there (1, 1.375) + (-1, -1.25): w = (3, 2.6875).
        # f is 6, then 0.5 + 2.25, then 0.5 + 2.75^2 / 4 = 2.390625.
        (LocalSgd(local_steps=3, batch_size=1), [3.0, 2.6875], (6 + 2.75 + 2.390625) / 3),
        # Decay 1/4 adds w / 4. (2, 2) + (1, 1): w = (2.5, 2.5); there (0.5, 1.25) + (0.625, 0.625) - (1.5, 1.5).
        (LocalSgd(local_steps=2, batch_size=1, weight_decay=0.25), [2.6875, 2.3125], (6 + 0.125 + 1.5625) / 2),
    ],
)
def test_a_pull_back_to_the_start_is_worked_by_hand(rule: LocalSgd, weights: list[float], loss: float) -> None:
    engine = by_hand(rule)
    x = engine.model.weights.clone()

    update = engine.train(x, 0, t=0, eta=0.5, pull=1.0)

    assert update.weights.tolist() == weights
    assert update.loss == pytest.approx(loss)
    assert x.tolist() == [4.0, 4.0]


def test_a_shift_is_added_after_clipping() -> None:
    engine = by_hand(LocalSgd(local_steps=1, batch_size=1, clip=1.0))
    x = torch.tensor([5.0, 8.0])  # gradient (3, 4), clipped to (0.6, 0.8)

    update = engine.train(x, 0, t=0, eta=1.0, shift=torch.tensor([10.0, 20.0]))

    assert update.weights.tolist() == pytest.approx([5 - 10.6, 8 - 20.8])


def test_a_shift_of_zero_is_none_to_the_bit(blobs: Task) -> None:
    engine = engine_on(blobs, [np.arange(90)], LocalSgd(local_steps=4, batch_size=7, clip=0.5, weight_decay=0.01))
    x = engine.model.weights.clone()

    plain, shifted = (engine.train(x, 0, 1, 0.2, shift=s) for s in (None, torch.zeros_like(x)))

    assert bits(plain) == bits(shifted)
