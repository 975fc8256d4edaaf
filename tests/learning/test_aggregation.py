"""One contract over every registered aggregation; where each of them is the plain mean, and how exactly.

What a member computes beyond that is worked by hand in a file of its own.
"""

from __future__ import annotations

import dataclasses
import math
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ehfl import Participation
from ehfl.learning import AGGREGATIONS, Aggregation, Mean, State, Task, Update, Weighted, train
from ehfl.learning.aggregation.contract import informed, share_of
from ehfl.learning.checkpoint import NAME
from ehfl.learning.memory import Rows, as_arrays
from ehfl.runs import Record

N_CLIENTS, N_PARAMS = 6, 1000
SIZES = [10, 1, 7, 300, 25, 2]  # examples of each client

# All but FedDyn and the adaptive optimisers are the mean where all clients take part, each with as many examples, sure
# to take part and with a weight of 1. Here is what that takes beyond the defaults, and how exact it is: to the bit for
# means of models, up to the rounding of float32 for steps by updates.
BITS, ROUNDING = 0.0, 2.0**-23
MEANS: dict[str, tuple[dict[str, Any], float]] = {
    "mean": ({}, BITS),
    "weighted": ({}, BITS),
    "inverse-probability": ({}, ROUNDING),
    "fedau": ({}, ROUNDING),
    "scheduled": ({}, ROUNDING),
    "fednova": ({}, ROUNDING),
    "fedprox": ({}, BITS),
    "mifa": ({}, ROUNDING),
    "fedvarp": ({}, ROUNDING),
    "fedawe": ({}, ROUNDING),
    "scaffold": ({}, ROUNDING),
    "fedavgm": ({"momentum": 0.0}, ROUNDING),
}


def example(name: str, chance: float = 0.5, n_clients: int = N_CLIENTS, **parameters: Any) -> Aggregation:
    """Return a member as a run would have it: knowing how likely clients are to take part, if it wants to."""
    return informed(AGGREGATIONS.make({"name": name, **parameters}), [chance] * n_clients)


def drawn(seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(N_PARAMS, generator=torch.Generator().manual_seed(seed)).to(dtype)


def update(client: int, x: Tensor, weights: Tensor, examples: int | None = None) -> Update:
    return Update(client, x, weights, loss=0.5, steps=5, examples=examples or SIZES[client], eta=0.1)


def updates_from(x: Tensor, clients: Sequence[int]) -> Iterator[Update]:
    """Yield what each client makes of x, one at a time, and keep none."""
    for client in clients:
        yield update(client, x, x + drawn(client, x.dtype))


def bits(tensor: Tensor) -> bytes:
    return tensor.numpy().tobytes()


def state_bits(state: State) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in as_arrays(state).items()}


def kind_of(value: Tensor | Rows) -> tuple[object, ...]:
    return (value.n_clients, value.n_params) if isinstance(value, Rows) else (value.shape, value.dtype)


@pytest.fixture(params=AGGREGATIONS.members)
def aggregation(request: pytest.FixtureRequest) -> Aggregation:
    return example(request.param)


class TestEveryAggregation:
    @pytest.mark.parametrize("clients", [[], [3], [0, 2, 5]], ids=["none", "one", "some"])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_keeps_shape_and_kind_and_changes_nothing_in_place(
        self, aggregation: Aggregation, dtype: torch.dtype, clients: list[int]
    ) -> None:
        x, state = drawn(9, dtype), aggregation.init(N_CLIENTS, N_PARAMS)
        given = list(updates_from(x, clients))
        before = bits(x), state_bits(state), [bits(one.weights) for one in given]

        after, remembered = aggregation.apply(x, iter(given), state)

        assert (after.shape, after.dtype, after.device) == (x.shape, x.dtype, x.device)
        assert (bits(x), state_bits(state), [bits(one.weights) for one in given]) == before
        assert bool(torch.isfinite(after).all())
        assert {name: kind_of(value) for name, value in remembered.items()} == {
            name: kind_of(value) for name, value in state.items()
        }

    def test_is_a_function_of_its_arguments(self, aggregation: Aggregation) -> None:
        x, state = drawn(9), aggregation.init(N_CLIENTS, N_PARAMS)

        first, again = (aggregation.apply(x, updates_from(x, [1, 4]), state) for _ in range(2))
        aggregation.apply(drawn(8), updates_from(drawn(8), [0]), state)
        last = aggregation.apply(x, updates_from(x, [1, 4]), state)

        assert bits(first[0]) == bits(again[0]) == bits(last[0])
        assert state_bits(first[1]) == state_bits(again[1]) == state_bits(last[1])

    def test_says_what_an_empty_round_does(self, aggregation: Aggregation) -> None:
        x, promise = drawn(9), " ".join((type(aggregation).__doc__ or "").split())
        state = aggregation.apply(x, updates_from(x, [0, 1]), aggregation.init(N_CLIENTS, N_PARAMS))[1]

        after, _ = aggregation.apply(x, iter(()), state)

        assert "An empty round" in promise
        assert (bits(after) == bits(x)) == ("An empty round leaves the model unchanged" in promise)

    def test_the_order_of_participants_changes_rounding_alone(self, aggregation: Aggregation) -> None:
        x, state = drawn(9), aggregation.init(N_CLIENTS, N_PARAMS)

        orders = [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 0, 5, 1, 4, 2]]
        first, *others = (aggregation.apply(x, updates_from(x, order), state)[0] for order in orders)

        assert not torch.equal(first, x)
        for other in others:  # sums in float64 differ in their last bits, which moves float32 by one place at most
            torch.testing.assert_close(other, first, rtol=2**-23, atol=2**-23)

    def test_takes_each_update_once_and_keeps_none(self, aggregation: Aggregation) -> None:
        """While a model is being trained, of those before it the last alone may still be in memory."""
        x, made, alive = drawn(9), [], []  # type: ignore[var-annotated]

        def updates() -> Iterator[Update]:
            for client in range(N_CLIENTS):
                alive.append(sum(one() is not None for one in made))
                weights = x + drawn(client)
                made.append(weakref.ref(weights))
                one = update(client, x, weights)
                del weights
                yield one
                del one

        after, state = aggregation.apply(x, updates(), aggregation.init(N_CLIENTS, N_PARAMS))

        assert len(made) == N_CLIENTS
        assert max(alive) <= 1
        # What is kept of each client is in rows, which can be put into a file.
        kept = [value.numel() for value in state.values() if not isinstance(value, Rows)]
        assert after.numel() + sum(kept) < N_CLIENTS * N_PARAMS
        assert all(one() is None for one in made)

    def test_counts_every_client_with_examples_in_the_loss(self, aggregation: Aggregation) -> None:
        shares = [share_of(aggregation, examples) for examples in (1, 2, 50, 10**6)]

        assert all(math.isfinite(share) and share > 0 for share in shares)

    @pytest.mark.parametrize("name", AGGREGATIONS.members)
    def test_killed_and_resumed_it_ends_with_the_same_bits(
        self, name: str, blobs: Task, gaps: Participation, tmp_path: Path
    ) -> None:
        """After round 5 the last checkpoint is that of round 3: empty rounds before and behind it."""
        quick: dict[str, Any] = {
            "local_steps": 2, "eval_every": 3, "checkpoint_every": 4, "aggregation": example(name, n_clients=4)
        }  # fmt: skip
        gaps = dataclasses.replace(gaps, weights=np.full(gaps.indices.size, 1.5))  # as if a scheduler had brought them
        whole = train(blobs, gaps, **quick, run_dir=tmp_path / "whole")

        def stop(record: Record) -> None:
            if record.round == 5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(blobs, gaps, **quick, run_dir=tmp_path / "killed", on_round=stop)
        resumed = train(blobs, gaps, **quick, run_dir=tmp_path / "killed")

        assert resumed.records == whole.records
        assert (tmp_path / "killed" / NAME).read_bytes() == (tmp_path / "whole" / NAME).read_bytes()

    @pytest.mark.parametrize("name", AGGREGATIONS.members)
    def test_is_a_frozen_value_that_its_name_makes_again(self, name: str) -> None:
        aggregation = AGGREGATIONS.make(name)
        table = AGGREGATIONS.spelled_out(name)
        again = AGGREGATIONS.make(table)

        assert again == aggregation
        assert hash(again) == hash(aggregation)
        assert AGGREGATIONS.make(AGGREGATIONS.text(table)) == aggregation
        assert repr(again) == repr(aggregation)  # what a checkpoint is known by
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            aggregation.anything = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MEANS)
def test_with_all_clients_alike_in_every_round_it_is_the_mean(name: str) -> None:
    parameters, tolerance = MEANS[name]
    aggregation = example(name, chance=1.0, **parameters)
    x, state = drawn(9), aggregation.init(N_CLIENTS, N_PARAMS)

    for t in range(3):
        given = [update(client, x, x + drawn(10 * t + client), examples=7) for client in range(N_CLIENTS)]
        mean, _ = Mean().apply(x, iter(given), {})
        after, state = aggregation.apply(x, iter(given), state)
        torch.testing.assert_close(after, mean, rtol=tolerance, atol=tolerance)
        x = mean


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("name", [name for name, (_, tolerance) in MEANS.items() if tolerance == BITS])
def test_equal_clients_give_a_mean_of_models_that_is_theirs_to_the_bit(name: str, count: int) -> None:
    x, weights, aggregation = drawn(9), drawn(1), example(name)

    equal = (update(client, x, weights.clone()) for client in range(count))
    after, _ = aggregation.apply(x, equal, aggregation.init(N_CLIENTS, N_PARAMS))

    assert bits(after) == bits(weights)


def test_members_are_known_by_their_names() -> None:
    assert (AGGREGATIONS.make("mean"), AGGREGATIONS.make({"name": "weighted"})) == (Mean(), Weighted())
    assert len({Mean(), Weighted(), Mean()}) == 2


def test_the_mean_counts_clients_and_the_weighted_mean_counts_examples() -> None:
    x = torch.tensor([100.0, 100.0])
    ends = [torch.tensor([1.0, 8.0]), torch.tensor([5.0, 0.0]), torch.tensor([0.0, 4.0])]

    def given() -> Iterator[Update]:
        return (update(i, x, end, examples) for i, (end, examples) in enumerate(zip(ends, (1, 2, 5), strict=True)))

    # (1 + 5 + 0) / 3 and (8 + 0 + 4) / 3; (1 * 1 + 2 * 5 + 5 * 0) / 8 and (1 * 8 + 2 * 0 + 5 * 4) / 8
    assert Mean().apply(x, given(), {})[0].tolist() == [2.0, 4.0]
    assert Weighted().apply(x, given(), {})[0].tolist() == [1.375, 3.5]
    assert (share_of(Mean(), 7), share_of(Weighted(), 7)) == (1, 7)


def test_a_long_sum_is_as_exact_as_float32_can_be() -> None:
    """In float32, 20,000 models near 1 would add up to an error of some 1e-5."""
    x = torch.zeros(1)
    step = 2.0**-20
    many = (update(0, x, torch.tensor([1 + (k % 3) * step])) for k in range(20_001))

    assert Mean().apply(x, many, {})[0].item() == 1 + step  # the mean of 0, 1 and 2 steps, exactly


def test_every_member_is_in_both_tables_of_its_page_with_its_parameters() -> None:
    page = (Path(__file__).parents[2] / "docs" / "aggregation.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.partition("## Where we differ")[0].splitlines() if line.startswith("| `")]

    assert sorted(row[1] for row in rows) == sorted([f" `{name}` " for name in AGGREGATIONS.members] * 2)
    for name in AGGREGATIONS.members:
        _, facts = (row for row in rows if row[1] == f" `{name}` ")
        parameters = [key for key in AGGREGATIONS.spelled_out(name) if key != "name"]
        assert all(f"`{parameter}` " in facts[2] for parameter in parameters), name
