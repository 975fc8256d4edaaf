"""The battery of eq. (2), plain and compiled: one cost and ceiling for all clients, or one for each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ehfl.energy.battery import MAX_LEVEL, Settled, settle, settle_plain
from ehfl.randomness import TILE

LARGE = 2 * TILE + 77  # two whole tiles and a part of one: compiled


def as_levels(*levels: int) -> NDArray[np.int32]:
    return np.array(levels, dtype=np.int32)


NOBODY = as_levels()[:0]


def test_settling_takes_the_cost_adds_the_units_and_counts_what_does_not_fit() -> None:
    energy = as_levels(3, 0, 5, 5, 2)
    settled = settle(energy, as_levels(0, 2), as_levels(2), np.array([0, 1, 1, 1, 9]), as_levels(5))

    assert energy.tolist() == [1, 1, 4, 5, 5]
    assert settled == Settled(harvested=12, wasted=7, unable=-1, paid=4)


def test_settling_takes_each_clients_own_cost_and_fills_up_to_its_own_ceiling() -> None:
    energy = as_levels(3, 4, 5, 0)
    settled = settle(energy, as_levels(0, 1, 2), as_levels(1, 2, 5, 9), np.array([2, 2, 2, 2]), as_levels(9, 3, 1, 0))

    assert energy.tolist() == [4, 3, 1, 0]  # 3-1+2, 4-2+2 of 3, 5-5+2 of 1, 0+2 of 0
    assert settled == Settled(harvested=8, wasted=4, unable=-1, paid=8)


def test_settling_below_the_highest_level_wastes_nothing() -> None:
    energy = as_levels(0, 1000)
    settled = settle(energy, as_levels(1), as_levels(1), np.array([4, 4]), as_levels(MAX_LEVEL))

    assert energy.tolist() == [4, 1003]
    assert settled == Settled(harvested=8, wasted=0, unable=-1, paid=1)


def test_a_battery_of_capacity_zero_wastes_every_unit() -> None:
    energy = as_levels(0, 0)
    settled = settle(energy, NOBODY, as_levels(1), np.array([1, 2]), as_levels(0))

    assert settled == Settled(harvested=3, wasted=3, unable=-1)
    assert energy.tolist() == [0, 0]


@pytest.mark.parametrize("ceiling", [2, MAX_LEVEL])
@pytest.mark.parametrize("clients", [8, LARGE])
def test_settling_names_a_client_that_could_not_pay_and_what_it_held(clients: int, ceiling: int) -> None:
    energy = np.full(clients, 2, dtype=np.int32)
    energy[5] = 1
    units = np.ones(clients, dtype=np.uint8)
    settled = settle(energy, as_levels(3, 5, 7), as_levels(2), units, as_levels(ceiling))

    assert (settled.unable, settled.held) == (5, 1)


@pytest.mark.parametrize("clients", [8, LARGE])
def test_a_client_that_cannot_pay_its_own_cost_is_named_among_others_that_can(clients: int) -> None:
    energy = np.full(clients, 2, dtype=np.int32)
    costs = np.ones(clients, dtype=np.int32)
    costs[[1, 4]] = 3  # client 1 does not take part
    settled = settle(energy, as_levels(3, 4, 7), costs, np.ones(clients, np.uint8), as_levels(9))

    assert (settled.unable, settled.held) == (4, 2)


@pytest.mark.parametrize("clients", [8, LARGE])
def test_a_client_that_could_not_pay_is_found_even_where_the_harvest_then_fills_it_up(clients: int) -> None:
    energy = np.full(clients, 2, dtype=np.int32)
    energy[5] = 0
    units = np.full(clients, 3, dtype=np.uint8)
    settled = settle(energy, as_levels(5, 7), as_levels(1), units, as_levels(2))

    assert (settled.unable, settled.held) == (5, 0)


@pytest.mark.parametrize("clients", [8, LARGE])
def test_of_several_that_could_not_pay_the_last_is_named(clients: int) -> None:
    energy = np.arange(clients, dtype=np.int32) % 7
    settled = settle(energy, as_levels(1, 2, 3, 6), as_levels(5), np.ones(clients, np.uint8), as_levels(9))

    assert (settled.unable, settled.held) == (3, 3)  # 6 holds 6


@given(
    seed=st.integers(0, 2**32),
    size=st.integers(TILE + 1, LARGE),
    own=st.tuples(st.booleans(), st.booleans()),  # whether each client has a cost, a ceiling of its own
    most=st.sampled_from([1, 2, 255]),
    pay=st.sampled_from(["those who can", "anyone"]),
)
@settings(max_examples=40)
def test_compiled_settling_equals_the_plain(seed: int, size: int, own: tuple[bool, bool], most: int, pay: str) -> None:
    chance = np.random.default_rng(seed)
    cost = chance.integers(1, 4, size if own[0] else 1).astype(np.int32)
    ceiling = chance.choice([1, 2, 7, MAX_LEVEL], size if own[1] else 1).astype(np.int32)
    before = np.minimum(chance.integers(0, 10, size), ceiling).astype(np.int32)
    payers = (before >= cost) if pay == "those who can" else np.full(size, fill_value=True)
    clients = np.flatnonzero(payers & (chance.random(size) < 0.5)).astype(np.int32)
    units = chance.integers(0, most, size, endpoint=True, dtype=np.uint8)
    energy, expected = before.copy(), before.copy()
    settled = settle(energy, clients, cost, units, ceiling)

    plain = settle_plain(expected, clients, cost, units, ceiling)
    assert (settled.unable, settled.held) == (plain.unable, plain.held)
    if plain.unable < 0:  # else levels and sums are of no use
        assert settled == plain
        assert np.array_equal(energy, expected)


@pytest.mark.parametrize("clients", [3, LARGE])
def test_the_highest_level_and_the_largest_harvest_do_not_overflow(clients: int) -> None:
    energy = np.full(clients, MAX_LEVEL, dtype=np.int32)
    settled = settle(energy, as_levels(0), as_levels(1), np.full(clients, 255, np.uint8), as_levels(MAX_LEVEL))

    assert (energy == MAX_LEVEL).all()
    assert settled == Settled(harvested=255 * clients, wasted=255 * clients - 1, unable=-1, paid=1)
