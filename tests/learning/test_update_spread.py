"""What the noise scale is measured from: the first minibatches' loss, the mean update's square, the updates' spread."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from turns import player

from ehfl import Participation
from ehfl.arrays import IntArray
from ehfl.learning import LocalSgd, Task, Update, train
from ehfl.learning.aggregation.contract import Aggregation, State
from ehfl.learning.server import Received, UpdateSpread
from ehfl.learning.tasks.problems import ProblemTask
from ehfl.theory import Quadratic

CPU = torch.device("cpu")


def played(parts: list[IntArray], rule: LocalSgd, clients: list[int]) -> Received:
    """Play a round of f(x) = x^2/2 + z x from x = 1, eta = 1/2, whose examples z are 1, 3, -2 and 0."""
    task = ProblemTask("by hand", Quadratic(curvature=[1.0], variance=1.0), variance=1.0, minimum=0.0, examples=4)
    task.training.inputs.copy_(torch.tensor([[1.0], [3.0], [-2.0], [0.0]]))
    return player(task, parts, rule).play(0, clients, 0.5)


@pytest.mark.parametrize(
    ("steps", "deltas"),
    [
        (1, (-1.5, 0.0)),  # -(1 + z)/2, with a mean z of 2 at the first client and of -1 at the second
        (2, (-2.25, 0.0)),  # then -(-1/2 + 2)/2 more at the first; the second stands at its minimum
    ],
)
def test_two_clients_on_the_quadratic_by_hand(steps: int, deltas: tuple[float, float]) -> None:
    heard = played([np.array([0, 1]), np.array([2, 3])], LocalSgd(steps, batch_size=2), [0, 1])

    mean = sum(deltas) / 2
    assert heard.measured() == pytest.approx({
        "start_loss": 1.0,  # of 1/2 + 2 and 1/2 - 1, however many steps follow
        "update_square": mean**2,
        "update_spread": (deltas[0] - mean) ** 2 + (deltas[1] - mean) ** 2,  # divided by n - 1 = 1
    }, rel=1e-15)  # fmt: skip
    assert (heard.mean_loss() == 1.0) == (steps == 1)


def test_a_lone_participant_has_no_spread_and_an_empty_round_nothing() -> None:
    parts = [np.array([0, 1]), np.array([2, 3])]

    assert played(parts, LocalSgd(1, batch_size=2), [0]).measured() == {"start_loss": 2.5, "update_square": 2.25}
    assert played(parts, LocalSgd(1, batch_size=2), []).measured() == {}


def test_equal_clients_have_a_spread_of_exactly_0() -> None:
    heard = played([np.array([0, 1])] * 7, LocalSgd(3, batch_size=2), list(range(7)))

    assert heard.measured()["update_spread"] == 0.0


numbers = st.floats(-1e3, 1e3, width=32)
pairs = st.tuples(st.lists(numbers, min_size=3, max_size=3), st.lists(numbers, min_size=3, max_size=3))


@given(st.lists(pairs, min_size=1, max_size=7))
def test_squares_of_updates_are_those_of_their_mean_and_of_their_spread(
    ends: list[tuple[list[float], list[float]]],
) -> None:
    """Sum of |Delta_i|^2 = (n - 1) spread + n square, from whatever start each has come; updates stay as they are."""
    updates = [Update(i, torch.tensor(x), torch.tensor(y), 0.5, 1, 1) for i, (x, y) in enumerate(ends)]
    spread = UpdateSpread()
    for update in updates:
        spread.add(update)

    n, deltas = len(ends), np.array([update.delta.double().numpy() for update in updates])
    assert spread.square is not None and (spread.spread is None) == (n == 1)
    total = (deltas**2).sum()
    assert (n - 1) * (spread.spread or 0.0) + n * spread.square == pytest.approx(total, rel=1e-6)
    # A mean that nearly cancels has the rounding of updates that are much longer.
    assert spread.square == pytest.approx((deltas.mean(axis=0) ** 2).sum(), rel=1e-6, abs=1e-6 * total)
    assert [(u.start.tolist(), u.weights.tolist()) for u in updates] == ends


class Finite:
    """The mean of the updates that are finite: a user's own."""

    def init(self, n_clients: int, n_params: int) -> State:
        return {}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        kept = [update.weights for update in updates if update.weights.isfinite().all()]
        return (torch.stack(kept).mean(dim=0) if kept else x), state


def test_an_update_that_is_left_out_since_it_is_not_finite_leaves_a_round_without_these_values() -> None:
    x = torch.zeros(2)
    ends = [torch.ones(2), torch.tensor([1.0, torch.inf])]
    own: Aggregation = Finite()
    heard = Received(iter([Update(i, x, end, 0.5, 1, 1, start_loss=2.0) for i, end in enumerate(ends)]), own)

    assert own.apply(x, heard, {})[0].tolist() == [1, 1]
    assert heard.measured() == {"start_loss": 2.0}


def test_records_have_them_wherever_somebody_took_part(blobs: Task, gaps: Participation) -> None:
    records = train(blobs, gaps, local_steps=1, batch_size=8, step_size=0.1, device="cpu").records

    for record in records:
        found = [value is not None for value in (record.start_loss, record.update_square, record.update_spread)]
        assert found == [record.participants > 0, record.participants > 0, record.participants > 1]
        assert record.start_loss == record.train_loss  # one step: the first minibatch is the only one
