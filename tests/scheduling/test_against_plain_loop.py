"""Every registered scheduler on fleets of all sorts: exactly what the plain loop plays, and eq. (2) in every round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.energy import Bernoulli, Fleet
from ehfl.randomness import TILE
from ehfl.scheduling import SCHEDULERS, Course, Lockstep, Participation, simulate
from plain_loop import PLAIN, Played, Setting, bernoulli_rows, play_plainly, sustainable

NAMES = list(SCHEDULERS.members)
LARGE = TILE + 300
T = TypeVar("T")


def loss(t: int, client: int) -> float:
    """Return what a client reports: few values, so that there are ties."""
    return (2 * t + 3 * client) % 5 / 2


@dataclass(frozen=True)
class Case:
    """A fleet with one rate per client, and what is asked of it; capacity, initial and cost as a fleet takes them."""

    rates: list[float]
    capacity: float | list[float]
    initial: int | list[int]
    cost: int | list[int]
    target: int | None
    rounds: int
    seed: int
    losses: bool = False  # whether participants report losses

    def fleet(self) -> Fleet:
        rates = self.rates
        return Fleet(len(rates), Bernoulli(rates), capacity=self.capacity, initial=self.initial, cost=self.cost)

    def each(self, value: float | Sequence[float]) -> list[float]:
        return list(value) if isinstance(value, Sequence) else [value] * len(self.rates)

    def costs(self) -> list[int]:
        return [int(cost) for cost in self.each(self.cost)]

    def played(self, name: str, *, record_energy: bool = False) -> Participation:
        fleet, scheduler = self.fleet(), SCHEDULERS.make(name)
        if not self.losses:
            return simulate(fleet, scheduler, self.rounds, self.seed, target=self.target, record_energy=record_energy)
        course = Course(Lockstep(fleet, scheduler, self.rounds, self.seed, self.target, record_energy))
        for t in range(self.rounds):
            course.report(t, [loss(t, client) for client in course.clients(t).tolist()])
        return course.participation()

    def played_plainly(self, name: str) -> Played:
        costs, capacity = self.costs(), self.each(self.capacity)
        width = self.target or sustainable(self.rates, costs, capacity)
        return play_plainly(
            PLAIN[name](Setting(len(self.rates), width, costs, self.seed, self.rates, capacity)),
            bernoulli_rows(self.rates, self.rounds, self.seed),
            [int(level) for level in self.each(self.initial)],
            capacity,
            costs,
            mains_powered=name == "always-on",
            loss=loss if self.losses else None,
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small fleets; each of capacity, initial and cost is one number for all or one per client."""
    clients = draw(st.integers(1, 12))
    capacity = draw(one_or_each(st.sampled_from([0, 1, 2, 3, 7, math.inf]), clients))
    lowest = min(capacity) if isinstance(capacity, list) else capacity
    tops = capacity if isinstance(capacity, list) else [capacity] * clients
    own_levels = st.tuples(*(st.integers(0, int(min(top, 5))) for top in tops)).map(list)
    rate = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
    return Case(
        rates=draw(st.lists(rate, min_size=clients, max_size=clients)),
        capacity=capacity,
        initial=draw(st.integers(0, int(min(lowest, 5))) | own_levels),
        cost=draw(one_or_each(st.integers(1, 3), clients)),
        target=draw(st.none() | st.integers(1, clients)),
        rounds=draw(st.integers(1, 30)),
        seed=draw(st.integers(0, 2**64 - 1)),
        losses=draw(st.booleans()),
    )


def one_or_each(values: st.SearchStrategy[T], clients: int) -> st.SearchStrategy[T | list[T]]:
    return values | st.lists(values, min_size=clients, max_size=clients)


def large_case(seed: int, *, capacity: float = 3, cost: int = 1, clients: int = LARGE) -> Case:
    """A fleet that kernels play: one capacity and one cost for all."""
    chance = np.random.default_rng(seed)
    return Case(
        rates=chance.choice([0.0, 0.05, 0.5, 1.0], clients).tolist(),
        capacity=capacity,
        initial=chance.integers(0, 3, clients).tolist(),
        cost=cost,
        target=clients // 2,
        rounds=12,
        seed=seed,
        losses=seed % 2 == 1,
    )


def large_mixed_case(seed: int, clients: int = LARGE) -> Case:
    """A fleet that kernels play: every client has a capacity (some infinite) and a cost of its own."""
    chance = np.random.default_rng(seed)
    return replace(
        large_case(seed, clients=clients),
        capacity=chance.choice([2.0, 3.0, 5.0, math.inf], clients).tolist(),
        cost=chance.integers(1, 4, clients).tolist(),
        target=clients // 3 if seed % 2 else None,
    )


def assert_equal(fast: Participation, plain: Played) -> None:
    assert [fast.clients(t).tolist() for t in range(fast.rounds)] == plain.participants
    assert fast.final_energy.tolist() == plain.final_energy
    assert fast.spent.tolist() == plain.paid
    totals = fast.totals
    assert (totals.harvested, totals.spent, totals.wasted) == (plain.harvested, plain.spent, plain.wasted)
    assert (totals.initial, totals.stored) == (sum(plain.levels[0]), sum(plain.final_energy))
    assert totals.mains == plain.mains


def assert_obeys_the_model(played: Participation, case: Case) -> None:
    """Conservation, capacity, causality and eq. (2) row by row, from what was recorded."""
    totals = played.totals
    assert totals.initial + totals.harvested == totals.spent + totals.stored + totals.wasted
    assert min(totals.harvested, totals.spent, totals.stored, totals.wasted) >= 0
    energy = played.energy
    assert energy is not None
    assert energy.shape == (case.rounds + 1, len(case.rates))
    assert energy[0].tolist() == case.each(case.initial)
    assert np.array_equal(energy[-1], played.final_energy)
    assert energy.min() >= 0
    capacity, costs = np.array(case.each(case.capacity)), np.array(case.costs())
    assert (energy <= capacity).all()
    units = Bernoulli(case.rates).units(case.seed, range(case.rounds), range(len(case.rates)))
    assert totals.harvested == int(units.sum())
    for t in range(case.rounds):
        chosen = played.clients(t)
        assert played.spent[t] == costs[chosen].sum()
        prices = 0 if played.mains_powered else costs[chosen]
        level = energy[t].astype(np.int64)
        assert (level[chosen] >= prices).all()
        level[chosen] -= prices
        assert np.array_equal(energy[t + 1], np.minimum(level + units[t], capacity))


def test_every_registered_scheduler_has_a_plain_twin() -> None:
    assert list(PLAIN) == NAMES


@pytest.mark.parametrize("name", NAMES)
@given(case=cases())
@settings(max_examples=50)
def test_a_small_fleet_is_played_as_the_plain_loop_plays_it(name: str, case: Case) -> None:
    assert_equal(case.played(name), case.played_plainly(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("seed", "capacity", "cost"), [(0, 3, 1), (1, math.inf, 2)])
def test_a_large_fleet_is_played_as_the_plain_loop_plays_it(name: str, seed: int, capacity: float, cost: int) -> None:
    case = large_case(seed, capacity=capacity, cost=cost)

    assert_equal(case.played(name), case.played_plainly(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [4, 5])
def test_a_large_fleet_of_clients_that_differ_is_played_as_the_plain_loop_plays_it(name: str, seed: int) -> None:
    case = large_mixed_case(seed)

    assert_equal(case.played(name), case.played_plainly(name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("clients", [TILE, TILE + 1])
def test_fleets_on_both_sides_of_the_step_to_kernels_are_played_plainly_too(name: str, clients: int) -> None:
    case = replace(large_mixed_case(3, clients=clients), rounds=6)

    assert_equal(case.played(name), case.played_plainly(name))


@pytest.mark.parametrize("name", NAMES)
@given(case=cases())
@settings(max_examples=50)
def test_energy_is_conserved_and_never_spent_before_it_is_there(name: str, case: Case) -> None:
    assert_obeys_the_model(case.played(name, record_energy=True), case)


@pytest.mark.parametrize("name", NAMES)
@given(
    seed=st.integers(0, 2**32),
    capacity=st.sampled_from([2, 3, 4, math.inf]),
    cost=st.integers(1, 3),
    mixed=st.booleans(),
)
@settings(max_examples=2)
def test_a_large_fleet_conserves_energy_too(name: str, seed: int, capacity: float, cost: int, mixed: bool) -> None:
    case = large_mixed_case(seed) if mixed else large_case(seed, capacity=capacity, cost=cost)

    assert_obeys_the_model(case.played(name, record_energy=True), case)
