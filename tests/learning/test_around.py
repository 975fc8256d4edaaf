"""Local rules and server optimisers around other aggregations, worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from bowls import Bowls, played

from ehfl import Participation
from ehfl.learning import (
    AGGREGATIONS,
    Aggregation,
    FedAdagrad,
    FedAdam,
    FedAvgM,
    FedDyn,
    FedProx,
    FedYogi,
    InverseProbability,
    Scaffold,
    Task,
    Update,
    train,
)
from ehfl.learning.aggregation.contract import (
    assignment_of,
    informed,
    share_of,
    traffic_of,
    wants_probabilities,
    wants_weights,
)
from ehfl.runs import Traffic
from ehfl.validation import InvalidValue


def after(aggregation: Aggregation, *deltas: list[float]) -> list[float]:
    """Return x_1, x_2, ... from 0, where rounds have these updates, one a client."""
    x, state, found = torch.zeros(1), aggregation.init(3, 1), []
    for moves in deltas:
        updates = [Update(i, x, x + move, 0.5, steps=1, examples=1, eta=1.0) for i, move in enumerate(moves)]
        x, state = aggregation.apply(x, iter(updates), state)
        found.append(x.item())
    return found


def test_adam_by_hand() -> None:
    # d = (2 + 4)/2 = 3: m = 1.5, v = 1/4 + 9/2 - 1/8 = 0.25/2 + 4.5 = 4.625; the empty round changes nothing;
    # d = 1: m = 1.25, v = 4.625/2 + 0.5 = 2.8125.
    found = after(FedAdam(server_step=1, beta1=0.5, beta2=0.5, tau=0.5), [2.0, 4.0], [], [1.0])

    first = 1.5 / (4.625**0.5 + 0.5)
    assert found == pytest.approx([first, first, first + 1.25 / (2.8125**0.5 + 0.5)], rel=1e-6)


def test_yogi_and_adagrad_by_hand() -> None:
    # v = 1/4 - (1/2) 9 sign(1/4 - 9) = 4.75; then d = 1 < 4.75: v = 4.75 - 1/2.
    yogi = after(FedYogi(server_step=1, beta1=0.0, beta2=0.5, tau=0.5), [3.0], [1.0])
    adagrad = after(FedAdagrad(server_step=1, tau=0.5), [3.0], [1.0])  # v = 9.25, then 10.25

    assert yogi == pytest.approx(np.cumsum([3 / (4.75**0.5 + 0.5), 1 / (4.25**0.5 + 0.5)]).tolist(), rel=1e-6)
    assert adagrad == pytest.approx(np.cumsum([3 / (9.25**0.5 + 0.5), 1 / (10.25**0.5 + 0.5)]).tolist(), rel=1e-6)


def test_dynamic_regularisation_finds_the_mean_of_unlike_minima_whoever_takes_part_most() -> None:
    """Minima 0 and 21 with curvatures 1 and 2: 14. Client 0 is heard three times as often."""
    bowls = Bowls(np.array([[1.0], [2.0]]), np.array([[0.0], [21.0]]), steps=20)
    turns = [[0], [0], [0, 1]] * 150

    models, _ = played(FedDyn(alpha=1.0), bowls, np.zeros(1), turns, [0.2] * len(turns))

    assert models[-1].item() == pytest.approx(14, abs=1e-3)


def test_what_the_inner_one_asks_for_goes_through() -> None:
    inner = FedAdam(of={"name": "scaffold", "of": "scheduled"})
    chances = informed(FedAvgM(of=FedProx(of="inverse-probability")), [0.5, 0.25])

    assert wants_weights(inner)
    assert not wants_weights(FedAdam())
    assert traffic_of(inner, 10) == Traffic(10, 2, 2)
    assert share_of(FedAvgM(of="weighted"), 7) == 7
    assert wants_probabilities(FedProx(of="inverse-probability"))
    assert chances == FedAvgM(of=FedProx(of=InverseProbability((0.5, 0.25))))
    assert not wants_probabilities(chances)


def test_corrections_add_up() -> None:
    both, x = FedProx(of=Scaffold(of=FedDyn(alpha=0.5)), mu=0.25), torch.zeros(2)
    state = both.init(2, 2)
    _, state = both.apply(x, [Update(0, x, x + 1, 0.5, steps=1, examples=1, eta=1.0)], state)

    given = assignment_of(both, x, 0, state)

    # FedDyn: pull 1/2 and shift -g_0 = 1/2; SCAFFOLD: c_0 = -1, c = -1/2, shift c - c_0 = 1/2; FedProx: pull 1/4.
    assert given.pull == 0.75
    assert given.shift is not None and given.shift.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("outer", ["fedprox:0", "fedavgm:0", {"name": "fedavgm", "momentum": 0.0}])
@pytest.mark.parametrize("inner", ["mean", "mifa", "fedau", "fedawe", "feddyn"])
def test_around_without_effect_trains_what_the_inner_one_does(
    outer: Any, inner: str, blobs: Task, gaps: Participation
) -> None:
    quick: dict[str, Any] = {"local_steps": 2, "batch_size": 8, "eval_every": 8, "device": "cpu"}
    table = AGGREGATIONS.table(outer) | {"of": inner}

    plain, wrapped = (train(blobs, gaps, **quick, aggregation=one) for one in (inner, table))

    np.testing.assert_allclose(wrapped.weights, plain.weights, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "fedadam", "of": "mifaa"}, r"of must be one of .*mifaa"),
        (
            {"name": "fedadam", "of": {"name": "fedprox", "mu": -1}},
            r"of.mu must be .*got -1",
        ),
        ({"name": "fedadam", "beta2": 1}, r"beta2 must be a number in \[0, 1\), got 1"),
        ({"name": "fedyogi", "tau": 0}, r"tau must be a number > 0|tau must be .*got 0"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        AGGREGATIONS.make(given)
