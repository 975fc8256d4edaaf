"""What a fleet sustains, starts with and refuses."""

import math
from typing import Any

import numpy as np
import pytest

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.energy.battery import MAX_LEVEL

HALF = Bernoulli(0.5)


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
    assert Fleet(clients=clients, harvest=Bernoulli(rate), cost=[cost] * clients).sustainable == expected


def test_a_fleet_sustains_no_more_clients_than_it_has() -> None:
    assert Fleet(clients=2, harvest=Replay([[9, 9]])).sustainable == 2


@pytest.mark.parametrize(
    ("arrivals", "cost", "expected"),
    [
        ([10, 0], 1, 1),  # the first pays for itself alone, whatever it harvests: min(10, 1) + 0
        ([10, 1, 1], 2, 2),  # 1 + 1/2 + 1/2
        ([3, 3, 3], 4, 2),  # 9/4
        ([3, 3, 3], [1, 3, 6], 2),  # 1 + 1 + 1/2
        ([3, 3, 3], [6, 3, 6], 2),  # 1/2 + 1 + 1/2
        ([3, 3, 3], [6, 4, 6], 1),  # 1/2 + 3/4 + 1/2
        ([9, 1, 0], [1, 9, 9], 1),  # 1 + 1/9; without the cap it would be 9
    ],
)
def test_a_fleet_sustains_the_sum_of_rate_over_cost_each_at_most_one(
    arrivals: list[int], cost: Any, expected: int
) -> None:
    assert Fleet(clients=len(arrivals), harvest=Replay([arrivals] * 5), cost=cost).sustainable == expected


@pytest.mark.parametrize(("capacity", "cost"), [([1, 0, 9], 1), ([9, 1, 9], 2), (3, [1, 4, 2])])
def test_a_client_whose_battery_cannot_hold_the_cost_sustains_nothing(capacity: Any, cost: Any) -> None:
    assert Fleet(clients=3, harvest=Replay([[4, 4, 4]] * 5), capacity=capacity, cost=cost).sustainable == 2


def test_a_fleet_starts_at_its_initial_levels() -> None:
    one = Fleet(clients=3, harvest=HALF, initial=2)
    each = Fleet(clients=3, harvest=HALF, initial=[0, 1, 5])

    assert one.start().tolist() == [2, 2, 2]
    assert each.start().tolist() == [0, 1, 5]
    assert each.start().dtype == np.int32


def test_numbers_for_all_are_kept_once_and_numbers_for_each_as_they_are() -> None:
    alike = Fleet(clients=3, harvest=HALF, capacity=4, cost=2)
    own = Fleet(clients=3, harvest=HALF, capacity=[4, math.inf, 0], cost=[1, 2, 3])

    assert (alike.costs.tolist(), alike.ceilings.tolist(), alike.endless.tolist()) == ([2], [4], [False])
    assert own.costs.tolist() == [1, 2, 3]
    assert own.ceilings.tolist() == [4, MAX_LEVEL + 1, 0]  # one more: what passes the highest level must show
    assert own.endless.tolist() == [False, True, False]
    assert own.costs.dtype == own.ceilings.dtype == np.int32


@pytest.mark.parametrize(("given", "kept"), [(4.0, 4), (np.int64(7), 7), (math.inf, math.inf), ([5], 5)])
def test_one_number_is_shown_plainly(given: Any, kept: float) -> None:
    fleet = Fleet(clients=1, harvest=HALF, capacity=given)

    assert fleet.capacity == kept
    assert type(fleet.capacity) is type(kept)


def test_a_fleet_keeps_copies_of_its_own_that_nobody_can_write_to() -> None:
    given = np.array([1, 2])
    fleet = Fleet(clients=2, harvest=HALF, initial=given, capacity=given, cost=given)
    given[:] = 99

    assert fleet.start().tolist() == [1, 2]
    assert (fleet.costs.tolist(), fleet.ceilings.tolist()) == ([1, 2], [1, 2])
    for array in (fleet.costs, fleet.ceilings, fleet.endless, fleet.rates, fleet.capacity, fleet.initial, fleet.cost):
        assert isinstance(array, np.ndarray)
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_what_a_fleet_starts_with_is_the_callers_to_change() -> None:
    fleet = Fleet(clients=2, harvest=HALF, initial=[1, 2])
    fleet.start()[:] = 9

    assert fleet.start().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"clients": 0}, r"clients must be a whole number in \[1, 2147483647\], got 0"),
        ({"clients": -3}, "clients must be a whole number .*, got -3"),
        ({"clients": 2.5}, "clients must be a whole number .*, got 2.5"),
        ({"clients": 2**31}, "clients must be a whole number .*, got 2147483648"),
        ({"capacity": -1}, rf"capacity must be inf or a whole number in \[0, {MAX_LEVEL}\], got -1$"),
        ({"capacity": math.nan}, "capacity must be inf or a whole number.*, got nan$"),
        ({"capacity": -math.inf}, "capacity must be inf or a whole number.*, got -inf$"),
        ({"capacity": 2.5}, "capacity must be inf or a whole number.*, got 2.5$"),
        ({"capacity": 2**31}, "capacity must be inf or a whole number.*, got 2147483648$"),
        ({"capacity": 10**30}, "capacity must be inf or a whole number.*, got 10{30}$"),
        ({"capacity": "big"}, "capacity must be inf or a whole number.*, got 'big'$"),
        ({"capacity": True}, "capacity must be inf or a whole number.*, got True$"),
        ({"capacity": [1, math.inf, 2.5]}, r"capacity must be inf or a whole number.*, got 2.5 for client 2$"),
        ({"capacity": [1, -1, -2]}, r"capacity must be inf or a whole number.*, got -1 for client 1$"),
        ({"capacity": [1, math.nan, 2]}, r"capacity must be inf or a whole number.*, got nan for client 1$"),
        ({"capacity": [1, 2]}, r"capacity must be one number or one per client \(3\), got a list of 2"),
        ({"capacity": [[1, 2, 3]]}, r"one number or a list of one per client, got an array of shape \(1, 3\)"),
        ({"capacity": [1, [2], 3]}, r"capacity must be one number or a list of one per client, got \[1, \[2\], 3\]"),
        ({"initial": 3, "capacity": 2}, "initial must be at most the capacity 2, got 3$"),
        ({"initial": [0, 3, 0], "capacity": 2}, "initial must be at most the capacity 2, got 3 for client 1$"),
        ({"initial": 2, "capacity": [2, 3, 1]}, "initial must be at most the capacity 1, got 2 for client 2$"),
        ({"initial": [9, 1, 4], "capacity": [math.inf, 1, 3]}, "at most the capacity 3, got 4 for client 2$"),
        ({"initial": -1}, rf"initial must be a whole number in \[0, {MAX_LEVEL}\], got -1$"),
        ({"initial": 2**31}, rf"initial must be a whole number in \[0, {MAX_LEVEL}\], got 2147483648$"),
        ({"initial": [0, 0, -5]}, rf"initial must be a whole number in \[0, {MAX_LEVEL}\], got -5 for client 2$"),
        ({"initial": 0.5}, "initial must be a whole number in .*, got 0.5$"),
        ({"initial": [1, 2]}, r"initial must be one number or one per client \(3\), got a list of 2"),
        ({"cost": 0}, rf"cost must be a whole number in \[1, {MAX_LEVEL}\], got 0$"),
        ({"cost": 1.5}, "cost must be a whole number.*, got 1.5$"),
        ({"cost": [1, 0, 2]}, rf"cost must be a whole number in \[1, {MAX_LEVEL}\], got 0 for client 1$"),
        ({"cost": [1, 2.5, 2]}, r"cost must be a whole number in .*, got \[1, 2.5, 2\]$"),
        ({"cost": [1]}, r"cost must be one number or one per client \(3\), got a list of 1"),
        ({"unit": ""}, "unit must be 1 to 20 printable characters, got ''"),
        ({"unit": "a\nb"}, "unit must be 1 to 20 printable characters, got 'a.nb'"),
        ({"unit": "x" * 21}, "unit must be 1 to 20 printable characters, got 'x{21}'"),
        ({"unit": 5}, "unit must be 1 to 20 printable characters, got 5"),
        ({"harvest": Bernoulli([0.5, 0.5])}, r"rate must be one number or one per client \(3\), got a list of 2"),
        ({"harvest": Replay([[1, 1]])}, r"arrivals must be one column per client \(3\), got 2 columns"),
    ],
)
def test_a_fleet_refuses_bad_input_by_name_range_and_value(arguments: dict[str, Any], message: str) -> None:
    given_arguments: dict[str, Any] = {"clients": 3, "harvest": HALF} | arguments

    with pytest.raises(ValueError, match=message):
        Fleet(**given_arguments)


@pytest.mark.parametrize("harvest", [0.5, Bernoulli, None])
def test_what_is_no_harvest_is_named(harvest: object) -> None:
    with pytest.raises(
        ValueError, match="harvest must be a harvest, with units, mean_rates, or watts, mean_watts, got"
    ):
        Fleet(clients=10, harvest=harvest)  # type: ignore[arg-type]


@pytest.mark.parametrize("rates", [[0.5], [0.5, math.nan], [0.5, -1.0], [0.5, math.inf]])
def test_a_harvest_whose_mean_rates_make_no_sense_is_refused(rates: list[float]) -> None:
    class Odd:
        def units(self, seed: int, rounds: range, clients: range) -> IntArray:
            return np.zeros((len(rounds), len(clients)), np.uint8)

        def mean_rates(self, n_clients: int) -> FloatArray:
            return np.array(rates)

        def __repr__(self) -> str:
            return "Odd()"

    with pytest.raises(ValueError, match=r"harvest\.mean_rates must be 2 finite numbers >= 0, got "):
        Fleet(clients=2, harvest=Odd())
