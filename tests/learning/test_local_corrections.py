"""SCAFFOLD and FedProx, which change what clients compute, through the engine and worked by hand.

Client 0 has f_0(x) = x^2 / 2, client 1 has f_1(x) = (x - 21)^2. With eta = 1/2 a step takes client 0 half the way to 0,
and client 1 the whole way to 21. With K = 2 the mean makes (x/4 + 21)/2 of x, which is 12 at rest; but 14 is where the
mean of f_0 and f_1 is least, x + 2 (x - 21) = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
import torch
from bowls import Bowls
from bowls import played as on_bowls
from torch import Tensor, nn
from turns import player

from ehfl.learning import Aggregation, Examples, FedProx, LocalSgd, Mean, Metric, Scaffold
from ehfl.learning.server import Server

AT_REST, TRUE = 12.0, 14.0
BOTH = [[0, 1]]


class _Point(nn.Module):
    """x, from 0; called on rows (a, b) it returns a/2 (x - b)^2 of each."""

    def __init__(self) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.zeros(1))

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs[:, 0] / 2 * (self.x - inputs[:, 1]) ** 2


@dataclass(frozen=True, eq=False)
class TwoBowls:
    """The two functions as a task: one example each."""

    name: str = "two bowls"
    metric: ClassVar[Metric] = Metric("loss", lower_is_better=True)
    training: Examples = field(init=False)
    test: Examples = field(init=False)

    def __post_init__(self) -> None:
        examples = Examples(torch.tensor([[1.0, 0.0], [2.0, 21.0]]), torch.tensor([0, 1]))
        object.__setattr__(self, "training", examples)
        object.__setattr__(self, "test", examples)

    def model(self, rng: np.random.Generator) -> nn.Module:
        return _Point()

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return outputs.mean()

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        return outputs.mean().item()


def played(
    aggregation: Aggregation, turns: Sequence[Sequence[int]], *, steps: int = 2, eta: float = 0.5
) -> tuple[list[float], Server]:
    """Return x_1, x_2, ... of these rounds, and the server that made them."""
    task = TwoBowls()
    both = player(task, [np.array([0]), np.array([1])], LocalSgd(local_steps=steps), aggregation)
    found = []
    for t, clients in enumerate(turns):
        both.play(t, clients, eta)
        found.append(both.model.weights.item())
    return found, both.server


def test_scaffold_by_hand() -> None:
    # Round 0, c = c_0 = c_1 = 0: client 0 stays at 0, client 1 goes to 21, x = 10.5 as for the mean. As K eta = 1,
    # c_0 = 0 and c_1 = -21, the mean of client 1's gradients -42 and 0; c = -10.5.
    # Round 1: client 0's gradient 10.5 is corrected by c - c_0 = -10.5: it stays. Client 1's, -21, is by -10.5 + 21: it
    # goes by 5.25 to 15.75, where -10.5 + 10.5 = 0. x = 10.5 + 5.25/2. c_0 = 0 + 10.5 - 0, c_1 = -21 + 10.5 - 5.25.
    models, server = played(Scaffold(), BOTH * 2)

    assert models == [10.5, 13.125]
    assert [server.state["controls"][i].item() for i in range(2)] == [10.5, -15.75]
    assert server.state["mean"].item() == -2.625


def test_scaffold_with_a_server_step_of_a_half_goes_half_the_way() -> None:
    models, server = played(Scaffold(server_step=0.5), BOTH)

    assert models == [5.25]
    assert [server.state["controls"][i].item() for i in range(2)] == [0.0, -21.0]  # as without


def test_the_first_round_of_scaffold_is_the_means() -> None:
    assert played(Scaffold(), BOTH)[0] == played(Mean(), BOTH)[0] == [10.5]
    assert played(Scaffold(), [[], [1]])[0] == played(Mean(), [[], [1]])[0] == [0.0, 21.0]


def test_scaffold_finds_the_minimum_where_several_local_steps_lead_the_mean_astray() -> None:
    assert played(Mean(), BOTH * 30)[0][-1] == pytest.approx(AT_REST, abs=1e-5)
    assert played(Scaffold(), BOTH * 30)[0][-1] == pytest.approx(TRUE, abs=1e-5)


def test_scaffold_finds_it_though_one_of_them_comes_in_every_third_round_only() -> None:
    """Once c_i is client i's gradient at the minimum and c = 0, nobody moves, whoever comes."""
    rounds = [[0, 1], [0], [0]] * 20

    assert played(Scaffold(), rounds)[0][-3:] == pytest.approx([TRUE] * 3, abs=1e-4)
    # Each round of client 0 alone makes x/4 of x: 21/2 + x/128 = x after both came, x = 1344/127.
    assert played(Mean(), rounds)[0][-3:] == pytest.approx([1344 / 127, 336 / 127, 84 / 127], abs=1e-4)


def test_in_an_empty_round_scaffold_keeps_model_and_control_variates() -> None:
    models, server = played(Scaffold(), [*BOTH, [], []])

    assert models == [10.5, 10.5, 10.5]
    assert server.state["mean"].item() == -10.5


def test_without_a_step_scaffold_learns_nothing_of_gradients() -> None:
    _, server = played(Scaffold(), BOTH, eta=0.0)

    assert [server.state["controls"][i].item() for i in range(2)] == [0.0, 0.0]


def test_fedprox_by_hand() -> None:
    # mu = 1 adds y - x, which is 0 at the first step. Round 0: client 0 stays at 0; client 1 goes to 21, then back to
    # 10.5. Round 1, x = 5.25: client 0 goes to 2.625, where 2.625 - 2.625 = 0; client 1 to 21, then to (21 + 5.25)/2.
    # At rest x = (x/2 + (21 + x)/2)/2 = 10.5: with so few steps a pull takes it further from 14 than the mean is.
    models, _ = played(FedProx(mu=1.0), BOTH * 30)

    assert models[:2] == [5.25, 7.875]
    assert models[-1] == pytest.approx(10.5, abs=1e-5)


@pytest.mark.parametrize("steps", [1, 3])
def test_fedprox_is_the_mean_where_mu_is_0_or_there_is_one_step(steps: int) -> None:
    mean = played(Mean(), BOTH * 3, steps=steps)[0]

    assert played(FedProx(mu=0.0), BOTH * 3, steps=steps)[0] == mean
    assert (played(FedProx(mu=1.0), BOTH * 3, steps=steps)[0] == mean) == (steps == 1)


@pytest.mark.parametrize(("mu", "steps", "limit"), [(0.0, 150, 21 / 2), (2.0, 60, 63 / 5), (18.0, 20, 399 / 29)])
def test_fedprox_comes_closer_to_the_minimum_the_more_it_pulls(mu: float, steps: int, limit: float) -> None:
    """With many steps y_i = (a_i b_i + mu x)/(a_i + mu), and x rests where the sum of a_i (b_i - x)/(a_i + mu) is 0.

    For mu = 0 that is 21/2, the mean of the clients' own minima; for mu = 2, x/3 = 2 (21 - x)/4, x = 63/5; for mu = 18,
    x/19 = 2 (21 - x)/20, x = 399/29 = 13.76; it tends to 14.
    """
    bowls = Bowls(np.array([[1.0], [2.0]]), np.array([[0.0], [21.0]]), steps)

    turns = BOTH * (3000 // steps)
    models, _ = on_bowls(FedProx(mu=mu), bowls, np.zeros(1), turns, [0.05] * len(turns))

    assert models[-1].item() == pytest.approx(limit, abs=0.02)
