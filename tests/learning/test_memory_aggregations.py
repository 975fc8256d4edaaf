"""Aggregations that remember every client, worked by hand, and what their papers promise of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from bowls import Bowls, Turns, played
from torch import Tensor

from ehfl import AlwaysOn, Bernoulli, Fleet, simulate
from ehfl.arrays import FloatArray
from ehfl.learning import Aggregation, ByData, FedAwe, FedVarp, Mean, Mifa, Scaffold, State, Update, train
from ehfl.learning.aggregation.contract import assignment_of
from ehfl.validation import InvalidValue

Deltas = Mapping[int, float]  # what each participant's steps add, by client


class Given:
    """Rounds in which each participant adds a number to the model that it is given."""

    def __init__(self, aggregation: Aggregation, n_clients: int, start: float) -> None:
        self.aggregation = aggregation
        self.x, self.state = torch.tensor([start, -start]), aggregation.init(n_clients, 2)
        self.starts: list[list[float]] = []

    def round(self, deltas: Deltas) -> float:
        """Play a round and return the model's first parameter; its second is the same but for the sign."""
        self.starts.append([])
        self.x, self.state = self.aggregation.apply(self.x, self._updates(deltas), self.state)
        assert self.x[1] == -self.x[0]
        return self.x[0].item()

    def _updates(self, deltas: Deltas) -> Iterator[Update]:
        for client, delta in deltas.items():
            start = assignment_of(self.aggregation, self.x, client, self.state).start
            self.starts[-1].append(start[0].item())
            yield Update(client, start, start + torch.tensor([delta, -delta]), 0.5, steps=2, examples=1, eta=0.5)


# Nobody; client 0; client 1; nobody; client 0 again.
ROUNDS: list[Deltas] = [{}, {0: 4.0}, {1: -2.0}, {}, {0: 1.0}]


@pytest.mark.parametrize(
    ("server_step", "expected"),
    [
        # eta G = (0, 0), (4, 0), (4, -2), (4, -2), (1, -2), of which half the sum is added, but in rounds of no client,
        # where eta = 0: 0, 2, 1, 0, -0.5.
        (1.0, [10.0, 12.0, 13.0, 13.0, 12.5]),
        (0.5, [10.0, 11.0, 11.5, 11.5, 11.25]),
    ],
)
def test_mifa_by_hand(server_step: float, expected: list[float]) -> None:
    given = Given(Mifa(server_step=server_step), n_clients=2, start=10.0)

    assert [given.round(deltas) for deltas in ROUNDS] == expected
    assert [given.state["memory"][i].tolist() for i in range(2)] == [[2.0, -2.0], [-4.0, 4.0]]


def test_mifa_by_data_by_hand() -> None:
    """Client 0 holds 1 example and client 1 three: x moves by the sum of D_i eta G_i over the sum of D_i."""
    aggregation, x = ByData(of="mifa"), torch.tensor([10.0])
    state, found = aggregation.init(2, 1), []
    for client, examples, delta in ((0, 1, 4.0), (1, 3, -2.0), (0, 1, 8.0)):
        update = Update(client, x, x + delta, 0.5, steps=1, examples=examples, eta=0.5)
        x, state = aggregation.apply(x, iter([update]), state)
        found.append(x.item())

    # 4/2, as client 1 counts as much until it is heard; (4 - 3 * 2)/4; (8 - 3 * 2)/4.
    assert found == [12.0, 11.5, 12.0]
    assert aggregation.share(3) == 3


@pytest.mark.parametrize("engine", ["plain", "stacked"])
def test_an_aggregation_sees_round_and_seed(engine: str) -> None:
    seen: list[tuple[int, int, int]] = []

    class Seeing(Mean):
        def apply(self, x: torch.Tensor, updates: Iterable[Update], state: State) -> tuple[torch.Tensor, State]:
            given = list(updates)
            seen.extend((update.round, update.seed, update.client) for update in given)
            return Mean().apply(x, given, state)

    mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(4), rounds=2)
    train("quadratic", mains, seed=5, engine=engine, aggregation=Seeing(), local_steps=1)

    assert seen == [(t, 5, client) for t in range(2) for client in range(4)]


@pytest.mark.parametrize(
    ("server_step", "expected"),
    [
        # eta y = (0, 0) at first. Round 1: (4 - 0) + 0 = 4. Round 2: (-2 - 0) + (4 + 0)/2 = 0. Round 3 has no clients,
        # so eta = 0. Round 4: (1 - 4) + (4 - 2)/2 = -2.
        (1.0, [10.0, 14.0, 14.0, 14.0, 12.0]),
        (0.25, [10.0, 11.0, 11.0, 11.0, 10.5]),
    ],
)
def test_fedvarp_by_hand(server_step: float, expected: list[float]) -> None:
    given = Given(FedVarp(server_step=server_step), n_clients=2, start=10.0)

    assert [given.round(deltas) for deltas in ROUNDS] == expected
    assert [given.state["memory"][i].tolist() for i in range(2)] == [[2.0, -2.0], [-4.0, 4.0]]


def test_fedvarp_by_hand_with_two_at_a_time() -> None:
    given = Given(FedVarp(), n_clients=4, start=0.0)

    # y = 0: (2 + 4)/2 + 0 = 3. Then y = (2, 4, 0, 0): ((6 - 4) + (8 - 0))/2 + (2 + 4)/4 = 5 + 1.5.
    assert [given.round(deltas) for deltas in ({0: 2.0, 1: 4.0}, {1: 6.0, 2: 8.0})] == [3.0, 9.5]


def test_fedawe_by_hand() -> None:
    given = Given(FedAwe(), n_clients=2, start=8.0)

    # Both have 8. Client 0 was never there (tau = -1), so in round 1 its step counts 2: 8 + 2 * 1 = 10, then 10 + 2.
    # Round 4: client 0 was there in round 2, 12 + 2 * 1 = 14; client 1 starts from x_0, 8 + 5 * 2 = 18. Both keep 16.
    # In round 5 client 1 goes on from there: 16 - 1. The model is the mean of 10 and 8, 12 and 8, 16 and 16, 16 and 15.
    rounds: list[Deltas] = [{}, {0: 1.0}, {0: 2.0}, {}, {0: 1.0, 1: 2.0}, {1: -1.0}]

    assert [given.round(deltas) for deltas in rounds] == [8.0, 9.0, 10.0, 10.0, 16.0, 15.5]
    assert given.starts == [[], [8.0], [10.0], [], [12.0, 8.0], [16.0]]
    assert given.state["last"].tolist() == [4, 5]


def test_fedawe_by_hand_with_a_server_step() -> None:
    given = Given(FedAwe(server_step=0.5), n_clients=4, start=8.0)

    # Clients 1 and 3 come in round 3, four rounds after round -1: 8 + 2 * 3 = 14 and 8 + 2 * 1 = 10, of which they keep
    # the mean, 12; the others have 8. In round 4 client 1 goes on by half a step, from 12 to 14, and client 3 keeps 12.
    rounds: list[Deltas] = [{}, {}, {}, {1: 3.0, 3: 1.0}, {1: 4.0}]

    assert [given.round(deltas) for deltas in rounds] == [8.0, 8.0, 8.0, 10.0, 10.5]
    assert [given.state["models"][i][0].item() for i in range(4)] == [8.0, 14.0, 8.0, 12.0]


@pytest.mark.parametrize("turns", [[[0], [1], [], [0, 1, 2]], [[], [2], [2], [2], [0, 1], [0, 1, 2]], [[0, 1, 2]]])
def test_fedawe_counts_each_client_as_often_as_there_were_rounds(turns: Turns) -> None:
    """The paper's proposition 1: echoed, the turns of whoever takes part in the last of R rounds add up to R."""
    deltas = [1.0, -4.0, 9.0]
    given = Given(FedAwe(), n_clients=3, start=0.0)

    for clients in turns:
        last = given.round({client: deltas[client] for client in clients})

    assert last == pytest.approx(len(turns) * sum(deltas) / 3)


def test_fedvarp_is_right_on_average_and_without_variance_when_nothing_changes() -> None:
    """Over all draws of two of four clients its step is the mean of all updates; once known, it is so in each."""
    before: Deltas = {0: 3.0, 1: -1.0, 2: 5.0, 3: 1.0}
    now = [1.0, 4.0, -2.0, 6.0]

    def step(deltas: Sequence[float], pair: Sequence[int]) -> float:
        given = Given(FedVarp(), n_clients=4, start=0.0)
        first = given.round(before)
        return given.round({i: deltas[i] for i in pair}) - first

    pairs = list(itertools.combinations(range(4), 2))

    assert np.mean([step(now, pair) for pair in pairs]) == pytest.approx(sum(now) / 4)
    assert len({step(now, pair) for pair in pairs}) > 1
    assert {step(list(before.values()), pair) for pair in pairs} == {2.0}


def test_mifa_is_the_mean_of_all_whoever_comes_when_nothing_changes() -> None:
    updates: Deltas = {0: 3.0, 1: -1.0, 2: 4.0}
    given = Given(Mifa(), n_clients=3, start=0.0)
    given.round(updates)

    for count, clients in enumerate(([0], [1, 2], [2]), start=2):
        assert given.round({i: updates[i] for i in clients}) == 2.0 * count


# f_0(x) = x^2 / 2 and f_1(x) = (x - 21)^2: their mean is least at 14. Client 0 comes in every round, client 1 in every
# third, so in a plain mean they weigh 5/6 = (1/2 + 1 + 1)/3 and 1/6, and 5/6 x + 2/6 (x - 21) = 0 at x = 6.
BOWLS = Bowls(np.array([[1.0], [2.0]]), np.array([[0.0], [21.0]]), steps=1)
TRUE, HEARD = 14.0, 6.0


def ends(aggregation: Aggregation, eta: float) -> FloatArray:
    """Return the models of three rounds, in which all has happened that there is, after many."""
    turns = [[0, 1] if t % 3 == 0 else [0] for t in range(3 * round(4 / eta))]
    models, _ = played(aggregation, BOWLS, np.zeros(1), turns, [eta] * len(turns))
    last: FloatArray = models[-3:, 0]
    return last


@pytest.mark.parametrize("aggregation", [Mifa(), FedVarp(), Scaffold()])
def test_memory_finds_the_minimum_with_any_step(aggregation: Aggregation) -> None:
    assert ends(aggregation, 0.25) == pytest.approx(TRUE, abs=1e-4)
    assert ends(aggregation, 0.1) == pytest.approx(TRUE, abs=1e-4)


@pytest.mark.parametrize("aggregation", [Mifa(), FedVarp(), Scaffold()])
def test_memory_finds_the_minimum_where_steps_vary_with_the_number_of_participants(aggregation: Aggregation) -> None:
    """Client 0 alone takes turns with clients 1 and 2; minima 0, 30 and 30, so the mean's is at 20.

    Memory of Delta in place of Delta/eta gives client 0 less weight than it has, and ends at 22.16.
    """
    bowls = Bowls(np.ones((3, 1)), np.array([[0.0], [30.0], [30.0]]), steps=1)
    turns = [[0], [1, 2], []] * 300
    models, _ = played(aggregation, bowls, np.zeros(1), turns, [0.1 * len(clients) ** 0.5 for clients in turns])

    assert models[-6:, 0] == pytest.approx(20.0, abs=1e-3)


def test_the_mean_finds_the_minimum_of_those_who_are_heard() -> None:
    """However short its steps are, which is what the audit's effective weights say."""
    assert ends(Mean(), 0.04) == pytest.approx(HEARD, abs=0.4)
    assert ends(Mean(), 0.01) == pytest.approx(HEARD, abs=0.1)


def test_fedawe_comes_as_close_to_the_minimum_as_its_steps_are_short() -> None:
    """Each return is a jump by all that was missed, so constant steps never let it rest: its error is of order eta."""
    errors = [float(np.abs(ends(FedAwe(), eta) - TRUE).max()) for eta in (0.08, 0.02)]

    assert errors[0] > 0.5
    assert errors[1] / errors[0] == pytest.approx(1 / 4, rel=0.2)


@pytest.mark.parametrize("kind", [Mifa, FedVarp, FedAwe, Scaffold])
@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_a_server_step_must_be_a_positive_number(kind: Callable[..., Aggregation], wrong: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^server_step must be a number in \[1e-30, 1e30\], got "):
        kind(server_step=wrong)


def test_a_state_is_left_as_it_is_given() -> None:
    """Two rounds from one state do not see each other, though they share the vectors of all other clients."""
    for aggregation in (Mifa(), FedVarp(), FedAwe(), Scaffold()):
        given = Given(aggregation, n_clients=3, start=1.0)
        given.round({0: 1.0, 1: 2.0})
        before: tuple[Tensor, State] = (given.x, given.state)

        first = given.round({1: 5.0})
        given.x, given.state = before
        given.round({2: -7.0})
        given.x, given.state = before

        assert given.round({1: 5.0}) == first
