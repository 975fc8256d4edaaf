"""Harvest processes, the battery of eq. (2), and what a fleet refuses."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ehfl import Bernoulli, Fleet, Greedy, Replay, simulate
from ehfl.energy import battery
from ehfl.energy.battery import MAX_LEVEL, Settled, settle
from ehfl.randomness import TILE, Purpose, words

LARGE = 2 * TILE + 77  # two whole tiles and a part of one: compiled


def as_levels(*levels: int) -> NDArray[np.int32]:
    return np.array(levels, dtype=np.int32)


# harvest


def test_rate_zero_never_harvests_and_rate_one_always_does() -> None:
    for clients in (5, LARGE):
        never = Bernoulli(rate=0).units(3, range(4), range(clients))
        always = Bernoulli(rate=1).units(3, range(4), range(clients))

        assert not never.any()
        assert always.all()


def test_a_list_of_rates_has_one_for_each_client() -> None:
    harvest = Bernoulli(rate=[1.0, 0.0, 1.0, 0.0])

    assert harvest.units(0, range(2), range(4)).tolist() == [[1, 0, 1, 0]] * 2
    assert harvest.units(0, range(1), range(1, 3)).tolist() == [[0, 1]]
    assert harvest.mean_rates(4).tolist() == [1.0, 0.0, 1.0, 0.0]


def test_a_harvest_is_a_unit_where_the_word_lies_below_rate_times_two_to_the_32() -> None:
    drawn = words(9, Purpose.HARVEST, range(1), range(3))[0]
    edge = drawn[1] / 2**32  # exactly representable: the word itself is not below it, the next one would be
    above = (int(drawn[1]) + 1) / 2**32

    assert Bernoulli([0.0, edge, 1.0]).units(9, range(1), range(3)).tolist() == [[0, 0, 1]]
    assert Bernoulli([0.0, above, 1.0]).units(9, range(1), range(3)).tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("rate", [1e-5, 0.01, 0.3, 0.5, 1 - 1e-4])
def test_the_rate_is_met(rate: float) -> None:
    """The mean of n draws has standard deviation sqrt(rate (1 - rate) / n); five of them are passed once in 10^6."""
    units = Bernoulli(rate).units(2026, range(200), range(LARGE))

    assert abs(units.mean() - rate) < 5 * math.sqrt(rate * (1 - rate) / units.size)


def test_clients_harvest_independently_of_each_other() -> None:
    """The variance of the sum over m independent clients is m rate (1 - rate); a sample variance of n rounds has
    relative standard deviation sqrt(2 / n).
    """
    totals = Bernoulli(0.3).units(5, range(4000), range(50)).sum(axis=1)

    assert abs(totals.var() / (50 * 0.3 * 0.7) - 1) < 5 * math.sqrt(2 / 4000)


@pytest.mark.parametrize("rate", [0.0, 1e-9, 1e-5, 0.3, 0.5, 1 - 1e-5, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("start", [0, 3 * TILE])
def test_compiled_harvest_of_one_rate_equals_its_definition(rate: float, start: int) -> None:
    clients = range(start, start + LARGE)
    units = Bernoulli(rate).units(2**63 + 5, range(2, 8), clients)

    drawn = words(2**63 + 5, Purpose.HARVEST, range(2, 8), clients)
    assert np.array_equal(units, drawn < rate * 2.0**32)


@pytest.mark.parametrize("clients", [TILE + 1, LARGE])  # TILE + 1: the last tile has a single rate
def test_compiled_harvest_of_many_rates_equals_its_definition(clients: int) -> None:
    rates = np.resize([0.0, 1e-9, 1e-5, 0.3, 0.5, 1 - 1e-9, 1.0], clients)
    rates[-1] = 0.3
    units = Bernoulli(rates).units(4, range(40), range(clients))

    drawn = words(4, Purpose.HARVEST, range(40), range(clients))
    assert np.array_equal(units, drawn < rates * 2.0**32)


@pytest.mark.parametrize("many", [False, True])
def test_compiled_harvest_decides_by_the_lower_half_where_the_upper_is_that_of_the_threshold(many: bool) -> None:
    drawn = words(4, Purpose.HARVEST, range(1), range(LARGE))[0]
    for client in (0, 1, TILE + 5, LARGE - 1):
        for more, expected in ((0, 0), (1, 1)):
            rate = (int(drawn[client]) + more) / 2**32
            units = Bernoulli([rate] * LARGE if many else rate).units(4, range(1), range(LARGE))

            assert units[0, client] == expected


def test_any_part_of_a_large_harvest_computed_alone_is_the_same() -> None:
    rates = np.linspace(0, 1, LARGE)
    whole = Bernoulli(rates).units(1, range(3), range(LARGE))
    part = Bernoulli(rates).units(1, range(1, 2), range(TILE - 5, TILE + 5))

    assert np.array_equal(part, whole[1:2, TILE - 5 : TILE + 5])


def test_replay_gives_back_what_it_was_given() -> None:
    harvest = Replay([[1, 0, 3], [0, 2, 0]])

    assert harvest.units(99, range(2), range(3)).tolist() == [[1, 0, 3], [0, 2, 0]]
    assert harvest.units(0, range(1, 2), range(1, 3)).tolist() == [[2, 0]]
    assert harvest.mean_rates(3).tolist() == [0.5, 1.0, 1.5]


def test_replay_keeps_a_copy_of_its_own() -> None:
    given_arrivals = np.array([[1, 1]])
    harvest = Replay(given_arrivals)
    given_arrivals[:] = 7

    assert harvest.units(0, range(1), range(2)).tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("arrivals", "message"),
    [
        ([[1, -1]], "arrivals must be at least 0, got -1"),
        ([[0.5, 1.0]], "arrivals must be whole numbers of units, got an array of float64"),
        ([[1, 0], [1]], "arrivals must be rows of equal length"),
        ([1, 0], r"arrivals must be of shape \(n_rounds, n_clients\), got shape \(2,\)"),
        ([[]], r"arrivals must be of shape \(n_rounds, n_clients\), got shape \(1, 0\)"),
    ],
)
def test_replay_refuses_what_cannot_have_arrived(arrivals: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Replay(arrivals)


def test_replay_refuses_more_rounds_than_it_has_and_says_how_many_were_asked_for() -> None:
    fleet = Fleet(clients=10, harvest=Replay(np.ones((5, 10), dtype=int)))

    with pytest.raises(ValueError, match=r"rounds must be at most 5 \(as recorded\), got 1000"):
        simulate(fleet, Greedy(), rounds=1000)


@dataclass(frozen=True)
class EveryThirdRound:
    """A user's process: client i gets i + 1 units in rounds 2, 5, 8, ..."""

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[np.int64]:
        due = np.asarray(rounds) % 3 == 2
        units: NDArray[np.int64] = due[:, None] * (np.asarray(clients) + 1)
        return units

    def mean_rates(self, n_clients: int) -> NDArray[np.float64]:
        return (np.arange(n_clients) + 1) / 3


def test_a_harvest_process_of_ones_own_runs_in_a_simulation() -> None:
    fleet = Fleet(clients=2, harvest=EveryThirdRound(), capacity=2)
    played = simulate(fleet, Greedy(), rounds=9, seed=0)

    assert fleet.sustainable == 1
    assert played.counts.tolist() == [0, 0, 0, 2, 1, 0, 2, 1, 0]
    assert (played.totals.harvested, played.totals.spent, played.totals.stored) == (9, 6, 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((1, 2), int), r"units must have shape \(3, 2\), got \(1, 2\)"),
        (np.zeros((3, 2)), r"units must be whole numbers \(.astype\(np.uint8\)\), got float64"),
        (np.full((3, 2), -1), "units must be at least 0, got -1"),
    ],
)
def test_a_harvest_process_that_returns_nonsense_is_named(wrong: NDArray[Any], message: str) -> None:
    class Broken:
        def units(self, seed: int, rounds: range, clients: range) -> NDArray[Any]:
            return wrong

        def mean_rates(self, n_clients: int) -> NDArray[np.float64]:
            return np.ones(n_clients)

        def __repr__(self) -> str:
            return "Broken()"

    with pytest.raises(ValueError, match=r"Broken\(\): " + message):
        simulate(Fleet(clients=2, harvest=Broken()), Greedy(), rounds=3)


# the battery


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


# the fleet


@pytest.mark.parametrize(
    ("clients", "rate", "cost", "expected"),
    [
        (100, 0.29, 1, 29),  # 28.999999999999996 in floating point
        (10, 0.1, 1, 1),  # 0.9999999999999999
        (10, 0.5, 1, 5),
        (10, 0.55, 1, 5),
        (10, 0.5, 2, 2),
        (10, 0.0, 1, 1),  # at least 1
        (3, 0.2, 1, 1),
    ],
)
def test_a_fleet_sustains_the_whole_part_of_its_harvest(clients: int, rate: float, cost: int, expected: int) -> None:
    assert Fleet(clients=clients, harvest=Bernoulli(rate), cost=cost).sustainable == expected


def test_a_fleet_sustains_no_more_clients_than_it_has() -> None:
    assert Fleet(clients=2, harvest=Replay([[9, 9]])).sustainable == 2


def test_a_fleet_starts_at_its_initial_levels() -> None:
    one = Fleet(clients=3, harvest=Bernoulli(0.5), initial=2)
    each = Fleet(clients=3, harvest=Bernoulli(0.5), initial=[0, 1, 5])

    assert (one.start().tolist(), one.total_initial) == ([2, 2, 2], 6)
    assert (each.start().tolist(), each.total_initial) == ([0, 1, 5], 6)
    assert each.start().dtype == np.int32


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (1.5, r"rate must be in \[0, 1\], got 1.5"),
        (-0.1, r"rate must be in \[0, 1\], got -0.1"),
        (math.nan, r"rate must be in \[0, 1\], got nan"),
        (math.inf, r"rate must be in \[0, 1\], got inf"),
        ([0.5, 1.5], r"rate must be in \[0, 1\], got 1.5 for client 1"),
        ([0.5, math.nan], r"rate must be in \[0, 1\], got nan for client 1"),
        ([], "rate must be one number or a list of one per client, got an array of shape"),
        ([[0.5]], "rate must be one number or a list of one per client, got an array of shape"),
        ("sun", r"rate must be a number or a list of numbers in \[0, 1\], got 'sun'"),
    ],
)
def test_a_rate_that_is_no_probability_is_refused(rate: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bernoulli(rate)


HALF = Bernoulli(0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"clients": 0}, r"clients must be a whole number in \[1, 2147483647\], got 0"),
        ({"clients": -3}, "clients must be a whole number"),
        ({"clients": 2.5}, "clients must be a whole number"),
        ({"clients": 2**31}, "clients must be a whole number"),
        ({"capacity": -1}, rf"capacity must be inf or a whole number in \[0, {MAX_LEVEL}\], got -1"),
        ({"capacity": math.nan}, "capacity must be inf or a whole number.*, got nan"),
        ({"capacity": -math.inf}, "capacity must be inf or a whole number.*, got -inf"),
        ({"capacity": 2.5}, "capacity must be inf or a whole number.*, got 2.5"),
        ({"capacity": 2**31}, "capacity must be inf or a whole number.*, got 2147483648"),
        ({"capacity": "big"}, "capacity must be inf or a whole number.*, got 'big'"),
        ({"initial": 3, "capacity": 2}, "initial must be at least 0 and at most the capacity 2, got 3"),
        ({"initial": [0, 3, 0], "capacity": 2}, "initial must be at least 0 and at most the capacity 2, got 3"),
        ({"initial": -1}, f"initial must be at least 0 and at most {MAX_LEVEL}, got -1"),
        ({"initial": 2**31}, f"initial must be at least 0 and at most {MAX_LEVEL}, got 2147483648"),
        ({"initial": 0.5}, "initial must be whole numbers of units, got 0.5"),
        ({"initial": [1, 2]}, r"initial must be one number or one per client \(3\), got an array of \(2,\)"),
        ({"cost": 0}, "cost must be a whole number.*, got 0"),
        ({"cost": 1.5}, "cost must be a whole number.*, got 1.5"),
        ({"harvest": Bernoulli([0.5, 0.5])}, r"rate must be one number or one per client \(3\), got a list of 2"),
        ({"harvest": Replay([[1, 1]])}, r"arrivals must be one column per client \(3\), got 2 columns"),
    ],
)
def test_a_fleet_refuses_bad_input_by_name_range_and_value(arguments: dict[str, Any], message: str) -> None:
    given_arguments: dict[str, Any] = {"clients": 3, "harvest": HALF} | arguments

    with pytest.raises(ValueError, match=message):
        Fleet(**given_arguments)


@pytest.mark.parametrize("rounds", [0, -1, 1.5, 2**31])
def test_a_number_of_rounds_that_cannot_be_played_is_refused(rounds: Any) -> None:
    with pytest.raises(ValueError, match=r"rounds must be a whole number in \[1, 2147483647\], got"):
        simulate(Fleet(clients=3, harvest=HALF), Greedy(), rounds=rounds)


@pytest.mark.parametrize("harvest", [0.5, Bernoulli, None])
def test_what_is_no_harvest_process_is_named(harvest: object) -> None:
    with pytest.raises(ValueError, match="harvest must be a harvest process such as"):
        Fleet(clients=10, harvest=harvest)  # type: ignore[arg-type]


def test_a_fleet_keeps_its_own_copy_of_the_initial_levels() -> None:
    levels = np.array([1, 2])
    fleet = Fleet(clients=2, harvest=Bernoulli(0.5), initial=levels)
    levels[:] = 99

    assert fleet.start().tolist() == [1, 2]
