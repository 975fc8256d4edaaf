"""FedAvgM worked by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ehfl import Fleet, Greedy, Replay, simulate
from ehfl.learning import FedAvgM, Update, train
from ehfl.learning.tasks.problems import ProblemTask
from ehfl.theory import Quadratic
from ehfl.validation import InvalidValue


def test_velocity_remembers_the_mean_of_updates() -> None:
    aggregation, x = FedAvgM(momentum=0.5, server_step=0.1), torch.tensor([1.0])
    state = aggregation.init(3, 1)

    def moved(client: int, delta: float) -> Update:
        return Update(client, x, x + delta, 0.5, 1, 1)

    x, state = aggregation.apply(x, [moved(0, 2.0), moved(1, 4.0)], state)  # v = 3
    assert x.item() == pytest.approx(1.3)
    x, state = aggregation.apply(x, iter(()), state)  # nobody: v stays, x stays
    assert x.item() == pytest.approx(1.3)
    assert state["velocity"].item() == pytest.approx(3.0)
    x, state = aggregation.apply(x, [moved(2, -0.5)], state)  # v = 1.5 - 0.5
    assert x.item() == pytest.approx(1.4, rel=1e-6)


def test_momentum_on_the_quadratic_is_worked_by_hand() -> None:
    task = ProblemTask("by hand", Quadratic([1.0], variance=0.0), variance=0.0, minimum=0.0, examples=2, start=4.0)
    fleet = Fleet(clients=1, harvest=Replay([[1], [0], [1], [0]]), initial=1)
    history = train(
        task, simulate(fleet, Greedy(), rounds=4), local_steps=1, step_size=0.5, aggregation="fedavgm:0.5", eval_every=1
    )

    # A step halves x, so Delta = -x/2, and v = v/2 + Delta. Round 2 is empty: both stay.
    # x: 4, 4 - 2 = 2, 2 - (1 + 1) = 0, 0, 0 - (1 + 0) = -1; f is x^2 / 2
    assert [record.test_loss for record in history.records] == [2.0, 0.0, 0.0, 0.5]


@pytest.mark.parametrize("momentum", [-0.1, 1, 1.5, float("nan"), "much"])
def test_a_momentum_that_would_never_end_is_refused(momentum: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^momentum must be a number in \[0, 1\), got "):
        FedAvgM(momentum=momentum)
