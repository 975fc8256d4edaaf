"""What travels to which client: the model once where all get it, and each client's own where they differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from flwr.app import RecordDict

from ehfl.flower.server.devices import Orders
from ehfl.flower.wire.messages import Request
from ehfl.learning import FedAwe, FedProx, Mean, Mifa, Scaffold
from ehfl.learning.aggregation.contract import Aggregation, Order, State, Update, assignment_of

N, SIZE = 4, 3
X = torch.arange(SIZE, dtype=torch.float32)
ORDERS = Orders("0a1b2c3d", "myopic", 3, "d1", mains_powered=False)


def after(aggregation: Aggregation, *rounds: Sequence[int]) -> State:
    """Return what is remembered after rounds with these participants, each of whom moves by its own number."""
    x, state = X, aggregation.init(N, SIZE)
    for clients in rounds:
        given = {i: assignment_of(aggregation, x, i, state).start for i in clients}
        updates = (Update(i, given[i], given[i] + i + 1, 0.5, steps=2, examples=9, eta=0.5) for i in clients)
        x, state = aggregation.apply(x, updates, state)
    return state


def sent(aggregation: Aggregation, state: State) -> list[RecordDict]:
    given = {i: assignment_of(aggregation, X, i, state) for i in range(N)}
    orders = {i: Order(i, 5, one.start, 2, 0.5, 3, one.pull, one.shift) for i, one in given.items()}
    message = ORDERS.train(orders)
    return [message(client) for client in range(N)]


@pytest.mark.parametrize("aggregation", [Mean(), Mifa(), FedProx(0.25)])
def test_what_is_the_same_for_all_is_made_once(aggregation: Aggregation) -> None:
    first, *others = sent(aggregation, after(aggregation, [0, 1]))

    assert all(content is first for content in others)
    request = Request.read(first)
    assert (request.run, request.round, request.eta) == ("0a1b2c3d", 5, 0.5)
    assert (request.arm, request.seed, request.digest) == ("myopic", 3, "d1")
    assert request.weights is not None and request.weights.tolist() == X.tolist()
    assert request.pull == (0.25 if isinstance(aggregation, FedProx) else 0)
    assert request.shift is None


def test_with_scaffold_the_model_is_put_into_bytes_once_and_the_shifts_are_each_clients_own() -> None:
    # Clients 0 and 1 moved by 1 and 2 in K eta = 1, so that c_0 = -1, c_1 = -2 and c, the mean over four, -0.75.
    contents = sent(Scaffold(), after(Scaffold(), [0, 1]))

    assert len({id(content.array_records["model"]) for content in contents}) == 1
    shifts = [Request.read(content).shift for content in contents]
    np.testing.assert_array_equal(np.stack([s for s in shifts if s is not None])[:, 0], [0.25, 1.25, -0.75, -0.75])


def test_with_fedawe_clients_start_from_their_own_models() -> None:
    # Round 0: x + (1 + 2) / 2 for clients 0 and 1. Round 1: client 2 starts from x and has been away twice.
    contents = sent(FedAwe(), after(FedAwe(), [0, 1], [2]))

    models = [Request.read(content).weights for content in contents]
    assert [model[0] for model in models if model is not None] == [1.5, 1.5, 6, 0]
    assert contents[0] is contents[1]  # they hold the same model since round 0
