"""What a scheduler is told when it breaks a rule in a simulation: who, when, and in the fleet's unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.randomness import TILE
from ehfl.scheduling import Greedy, SchedulerError, View, simulate

LARGE = TILE + 300


@dataclass
class From:
    """Picks nobody until round 3, and then what it is told."""

    choose: Callable[[View], Any]

    def select(self, view: View) -> IntArray:
        chosen: IntArray = self.choose(view) if view.round >= 3 else np.arange(0)
        return chosen


@dataclass
class Always:
    """Picks the same clients in every round."""

    clients: list[int]

    def select(self, view: View) -> IntArray:
        return np.array(self.clients)


@pytest.mark.parametrize("clients", [10, LARGE])
@pytest.mark.parametrize("capacity", [2, math.inf])
def test_spending_what_is_not_there_is_an_error_that_names_round_client_and_level(
    clients: int, capacity: float
) -> None:
    rates = [1.0] * clients
    rates[6] = 0.0
    fleet = Fleet(clients=clients, harvest=Bernoulli(rates), capacity=capacity)

    with pytest.raises(
        SchedulerError,
        match="From spends energy that is not there: round 3, client 6 was picked with 0 units and a round costs 1",
    ):
        simulate(fleet, From(lambda view: np.arange(view.energy.size)), rounds=5)


@pytest.mark.parametrize("clients", [3, LARGE])
def test_the_cost_and_the_unit_named_are_those_of_the_client_and_the_fleet(clients: int) -> None:
    costs = np.full(clients, 5)
    costs[1] = 40
    fleet = Fleet(clients, Bernoulli(0.0), initial=30, cost=costs, unit="mJ")

    with pytest.raises(SchedulerError, match=r"round 0, client 1 was picked with 30 mJ and a round costs 40$"):
        simulate(fleet, Always([0, 1, 2]), rounds=1)


@pytest.mark.parametrize("clients", [3, LARGE])
def test_the_level_named_is_the_one_before_the_rounds_harvest_filled_the_battery(clients: int) -> None:
    class Three:
        def units(self, seed: int, rounds: range, clients: range) -> IntArray:
            return np.full((len(rounds), len(clients)), 3, np.uint8)

        def mean_rates(self, n_clients: int) -> FloatArray:
            return np.full(n_clients, 3.0)

    with pytest.raises(SchedulerError, match="round 0, client 1 was picked with 0 units and a round costs 1"):
        simulate(Fleet(clients=clients, harvest=Three(), capacity=1), Always([1]), rounds=1)


@pytest.mark.parametrize("clients", [10, LARGE])
@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (lambda view: [1, 4, 1], "From picks a client twice: round 3, client 1"),
        (lambda view: np.append(np.arange(view.energy.size), 7), "picks a client twice: round 3, client 7"),
        (lambda view: [view.energy.size], r"picks a client that does not exist: round 3, client \d+ was picked"),
        (lambda view: np.arange(view.energy.size) + 2**32 * (np.arange(view.energy.size) == 5),
         "picks a client that does not exist: round 3, client 4294967301 was picked"),
        (lambda view: [-1, 0], "picks a client that does not exist: round 3, client -1 was picked"),
        (lambda view: view.energy > 0, "must return a list of client numbers: round 3, got bool"),
        (lambda view: [[0, 1]], r"must return a list of client numbers: round 3, got int64 of shape \(1, 2\)"),
        (lambda view: 1 // 0, r"fails: round 3, ZeroDivisionError: .* \(test_faults.py:\d+\)"),
    ],
)  # fmt: skip
def test_a_faulty_choice_is_an_error_that_names_round_and_client(
    clients: int, choose: Callable[[View], Any], message: str
) -> None:
    with pytest.raises(SchedulerError, match=message):
        simulate(Fleet(clients=clients, harvest=Bernoulli(1.0)), From(choose), rounds=5)


@pytest.mark.parametrize("clients", [10, LARGE])
def test_a_choice_in_any_order_is_kept_sorted(clients: int) -> None:
    backwards = From(lambda view: np.arange(view.energy.size)[::-1].copy())
    played = simulate(Fleet(clients=clients, harvest=Bernoulli(1.0)), backwards, rounds=4)

    assert played.clients(3).tolist() == list(range(clients))


@pytest.mark.parametrize("field", ["energy", "cost", "capacity", "rates", "turns", "last_turn"])
def test_what_a_scheduler_sees_cannot_be_written_to(field: str) -> None:
    def cheat(view: View) -> IntArray:
        getattr(view, field)[:] = 9
        return np.arange(0)

    fleet = Fleet(clients=2, harvest=Bernoulli(0.5), capacity=[3, 4], cost=[1, 2])
    with pytest.raises(SchedulerError, match=r"From fails: round 3, ValueError: .*read-only"):
        simulate(fleet, From(cheat), rounds=4)


def test_a_fault_in_a_round_leaves_the_fleet_as_it_was() -> None:
    """Fleets hold no state: what failed once can be played again."""
    fleet = Fleet(clients=2, harvest=Replay([[1, 0], [0, 1]]))
    with pytest.raises(SchedulerError):
        simulate(fleet, Always([0, 1]), rounds=2)

    assert simulate(fleet, Greedy(), rounds=2).counts.tolist() == [0, 1]
