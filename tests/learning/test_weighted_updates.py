"""Steps by weighted updates, worked by hand: inverse probabilities and FedAU's estimates of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from ehfl import Participation
from ehfl.learning import FedAu, InverseProbability, Mean, Scheduled, State, Task, Update, train
from ehfl.learning.aggregation.contract import informed, wants_probabilities
from ehfl.validation import InvalidValue


def any_(value: Any) -> Any:
    """Return a value of a kind that a type checker would refuse."""
    return value


def moved(client: int, x: torch.Tensor, delta: float) -> Update:
    return Update(client, x, x + delta, loss=0.5, steps=1, examples=1)


def test_inverse_probability_by_hand() -> None:
    x = torch.tensor([10.0])
    aggregation = InverseProbability((0.5, 0.25, 1.0, 0.1), server_step=2.0)

    after, state = aggregation.apply(x, [moved(0, x, 1.0), moved(1, x, -3.0)], aggregation.init(4, 1))

    # 10 + 2/4 (1/0.5 - 3/0.25)
    assert after.tolist() == [10 + 0.5 * (2 - 12)]
    assert state == {}


def test_inverse_probability_is_right_on_average() -> None:
    """Over all sets of participants, by their probabilities, the step is the mean over all clients, exactly."""
    chances, deltas, x = (0.5, 0.25, 0.75), (1.0, -2.0, 7.0), torch.zeros(1, dtype=torch.float64)
    aggregation, expected = InverseProbability(chances), 0.0

    for there in np.ndindex(2, 2, 2):
        weight = math.prod(p if i else 1 - p for i, p in zip(there, chances, strict=True))
        updates = [moved(client, x, deltas[client]) for client in range(3) if there[client]]
        expected += weight * float(aggregation.apply(x, updates, {})[0])

    assert expected == pytest.approx(sum(deltas) / 3, abs=1e-15)


def test_weights_of_one_nth_make_a_mean_of_some() -> None:
    """Two of four clients, each taking part with probability 1/2, or weighed by 4/2: their mean, up to rounding."""
    start, end = (torch.randn(500, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    ends = [Update(client, start, end * client, 0.5, 1, 1, weight=2.0) for client in (1, 3)]
    mean, _ = Mean().apply(start, ends, {})

    for aggregation in (InverseProbability((0.5,) * 4), Scheduled()):
        after, _ = aggregation.apply(start, ends, aggregation.init(4, 500))
        torch.testing.assert_close(after, mean, rtol=2**-23, atol=2**-23)


def played(aggregation: FedAu, turns: Sequence[Sequence[int]], n_clients: int) -> tuple[list[float], State]:
    """Return how far each round moves the model when every participant's update is 1."""
    state, steps = aggregation.init(n_clients, 1), []
    x = torch.zeros(1)
    for clients in turns:
        after, state = aggregation.apply(x, [moved(client, x, 1.0) for client in clients], state)
        steps.append(float(after))
    return steps, state


def test_fedau_weighs_by_the_mean_of_past_gaps() -> None:
    # Client 0's turns are in rounds 2, 3, 6: intervals of 3, 1, 3. Each turn is weighed by those before it:
    # 1 (none yet), 3, (3 + 1)/2; then 7/3 in round 7. Client 1 never comes.
    steps, state = played(FedAu(), [[], [], [0], [0], [], [], [0], [0]], n_clients=2)

    assert steps == pytest.approx([0, 0, 1 / 2, 3 / 2, 0, 0, 2 / 2, 7 / 3 / 2])
    assert {name: value.tolist() for name, value in state.items()} == {
        "gap": [0, 8],
        "intervals": [4, 0],
        "rounds": [8, 0],
    }


def test_fedau_cuts_long_gaps() -> None:
    # With K = 2 the five rounds before client 0's first turn are intervals of 2, 2, and 1 + 1 with the turn itself.
    steps, state = played(FedAu(cutoff=2), [[], [], [], [], [], [0], [0]], n_clients=1)

    assert steps == [0, 0, 0, 0, 0, 2.0, 2.0]
    assert (state["intervals"].tolist(), state["rounds"].tolist()) == ([4], [7])


def test_fedau_comes_to_inverse_probabilities() -> None:
    """A gap is geometric with mean 1/p and variance (1 - p)/p^2: the mean of m gaps is within 5 of its deviations."""
    chances, rng = (0.1, 0.3, 0.9), np.random.default_rng(0)
    state, x = FedAu(cutoff=1000).init(3, 1), torch.zeros(1)
    for there in rng.random((4000, 3)) < chances:
        _, state = FedAu(cutoff=1000).apply(x, [moved(i, x, 1.0) for i in np.flatnonzero(there).tolist()], state)

    for client, p in enumerate(chances):
        gaps = int(state["intervals"][client])
        assert abs(int(state["rounds"][client]) / gaps - 1 / p) < 5 * ((1 - p) / gaps) ** 0.5 / p


def test_probabilities_that_are_given_are_not_asked_for() -> None:
    given = InverseProbability(any_([0.5, 1]))  # as a spec has it

    assert given == InverseProbability((0.5, 1.0))
    assert informed(given, (0.1, 0.1)) is given
    assert not wants_probabilities(given)
    assert informed(InverseProbability(server_step=0.5), [0.1]) == InverseProbability((0.1,), 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InverseProbability((0.5, 0.0)),
         "got 0.0 (client 1 never takes part: its weight would be infinite)"),
        (lambda: InverseProbability((0.5, 1.5)), "one number in (0, 1] per client, got 1.5 for client 1"),
        (lambda: InverseProbability((0.5, float("nan"))), "got nan for client 1"),
        (lambda: InverseProbability((-0.5,)), "got -0.5 for client 0"),
        (lambda: InverseProbability(()), "one number in (0, 1] per client, got ()"),
        (lambda: InverseProbability(any_("often")), "probabilities must be auto or one number in (0, 1] per client"),
        (lambda: InverseProbability(any_(0.5)), "got an array of shape ()"),
        (lambda: InverseProbability((0.5,)).init(2, 1), "probabilities must be one per client (2), got a list of 1"),
        (lambda: InverseProbability((0.5,), server_step=0), "server_step must be a number in [1e-30, 1e30], got 0"),
        (lambda: FedAu(cutoff=0), "cutoff must be a whole number in [1, 2147483648], got 0"),
        (lambda: FedAu(cutoff=any_(2.5)), "cutoff must be a whole number"),
        (lambda: FedAu(server_step=float("inf")), "server_step must be a number in [1e-30, 1e30], got inf"),
    ],
)  # fmt: skip
def test_what_makes_no_weights_is_refused_in_one_line(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        make()

    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_train_says_that_probabilities_must_be_given(blobs: Task, gaps: Participation) -> None:
    with pytest.raises(InvalidValue, match=r"^aggregation.probabilities must be one in \(0, 1\] per client"):
        train(blobs, gaps, aggregation="inverse-probability")
