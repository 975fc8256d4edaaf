"""What a fleet sustains, starts with and refuses."""

import math
from typing import Any

import numpy as np
import pytest

from ehfl import Bernoulli, Fleet, Greedy, Replay, simulate
from ehfl.energy.battery import MAX_LEVEL


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
