"""The battery of eq. (2), plain and compiled."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ehfl import Fleet, Greedy, Replay, simulate
from ehfl.energy import battery
from ehfl.energy.battery import MAX_LEVEL, Settled, settle
from ehfl.randomness import TILE

LARGE = 2 * TILE + 77  # two whole tiles and a part of one: compiled


def as_levels(*levels: int) -> NDArray[np.int32]:
    return np.array(levels, dtype=np.int32)


def test_settling_takes_the_cost_adds_the_units_and_counts_what_does_not_fit() -> None:
    energy = as_levels(3, 0, 5, 5, 2)
    settled = settle(energy, as_levels(0, 2), 2, np.array([0, 1, 1, 1, 9]), capacity=5)

    assert energy.tolist() == [1, 1, 4, 5, 5]
    assert settled == Settled(harvested=12, wasted=7, unable=-1)


def test_settling_with_an_infinite_battery_wastes_nothing() -> None:
    energy = as_levels(0, 1000)
    settled = settle(energy, as_levels(1), 1, np.array([4, 4]), math.inf)

    assert energy.tolist() == [4, 1003]
    assert settled == Settled(harvested=8, wasted=0, unable=-1)


def test_a_battery_of_capacity_zero_wastes_every_unit() -> None:
    energy = as_levels(0, 0)

    assert settle(energy, as_levels()[:0], 1, np.array([1, 2]), 0) == Settled(harvested=3, wasted=3, unable=-1)
    assert energy.tolist() == [0, 0]


@pytest.mark.parametrize("capacity", [2, math.inf])
@pytest.mark.parametrize("clients", [8, LARGE])
def test_settling_names_a_client_that_could_not_pay(clients: int, capacity: float) -> None:
    energy = np.full(clients, 2, dtype=np.int32)
    energy[5] = 1
    units = np.ones(clients, dtype=np.uint8)
    settled = settle(energy, as_levels(3, 5, 7), 2, units, capacity)

    assert settled.unable == 5


@pytest.mark.parametrize("clients", [8, LARGE])
def test_a_client_that_paid_and_was_then_filled_up_is_not_taken_for_one_that_could_not(clients: int) -> None:
    energy = np.full(clients, 2, dtype=np.int32)
    energy[5] = 0
    units = np.full(clients, 3, dtype=np.uint8)
    settled = settle(energy, as_levels(5, 7), 1, units, capacity=2)

    assert settled.unable == 5


@given(
    seed=st.integers(0, 2**32),
    size=st.integers(TILE + 1, LARGE),
    capacity=st.sampled_from([1, 2, 7, MAX_LEVEL, math.inf]),
    cost=st.integers(1, 3),
    most=st.sampled_from([1, 2, 255]),
)
@settings(max_examples=30)
def test_compiled_settling_equals_the_plain(seed: int, size: int, capacity: float, cost: int, most: int) -> None:
    chance = np.random.default_rng(seed)
    before = chance.integers(0, int(min(capacity, 9)), size, endpoint=True).astype(np.int32)
    clients = np.flatnonzero((before >= cost) & (chance.random(size) < 0.5)).astype(np.int32)
    units = chance.integers(0, most, size, endpoint=True, dtype=np.uint8)
    energy, expected = before.copy(), before.copy()
    settled = settle(energy, clients, cost, units, capacity)

    ceiling = MAX_LEVEL if math.isinf(capacity) else int(capacity)
    assert settled == battery._settle_plain(expected, clients, cost, units, ceiling)
    assert np.array_equal(energy, expected)


@pytest.mark.parametrize("clients", [3, LARGE])
def test_a_harvest_too_large_to_count_is_refused(clients: int) -> None:
    fleet = Fleet(clients=clients, harvest=Replay(np.full((1, clients), 2**32 + 1)), capacity=5)

    with pytest.raises(ValueError, match=f"units must be at most {MAX_LEVEL}, got 4294967297"):
        simulate(fleet, Greedy(), rounds=1)


@pytest.mark.parametrize("clients", [3, LARGE])
def test_an_infinite_battery_that_outgrows_its_counter_says_so(clients: int) -> None:
    energy = np.full(clients, MAX_LEVEL, dtype=np.int32)

    with pytest.raises(OverflowError, match=f"a battery passed {MAX_LEVEL} units: give a capacity"):
        settle(energy, as_levels(0), 1, np.ones(clients, np.uint8), math.inf)
