"""Periodic: the pattern, its shifts, and what is no pattern."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.energy import Fleet, Periodic
from ehfl.scheduling import Greedy, simulate


def test_the_pattern_repeats_for_all_alike() -> None:
    day = Periodic([0, 3, 1])

    assert day.units(0, range(7), range(2)).T.tolist() == [[0, 3, 1, 0, 3, 1, 0]] * 2
    assert day.units(9, range(2**31 - 5, 2**31 - 3), range(1)).tolist() == [[0], [3]]  # 2^31 is 2 mod 3


def test_a_shift_delays_a_clients_pattern() -> None:
    day = Periodic([0, 3, 1], shift=[0, 1, -1, 4, 0.9])

    assert day.units(0, range(3), range(5)).tolist() == [[0, 1, 3, 1, 0], [3, 0, 1, 0, 3], [1, 3, 0, 3, 1]]
    assert Periodic([0, 3, 1], shift=1).units(0, range(3), range(2)).tolist() == [[1, 1], [0, 0], [3, 3]]


def test_a_forecaster_knows_all_of_it() -> None:
    day = Periodic([0, 3, 1], shift=[0, 2])

    assert day.expected(range(5), range(2)).dtype == float
    assert day.expected(range(5), range(2)).tolist() == day.units(4, range(5), range(2)).tolist()
    assert day.mean_rates(2).tolist() == pytest.approx([4 / 3, 4 / 3])


@given(
    pattern=st.lists(st.integers(0, 1000), min_size=1, max_size=30),
    shifts=st.lists(st.integers(-100, 100), min_size=3, max_size=3),
    first=st.integers(0, 2**31 - 100),
)
def test_units_are_those_of_the_definition(pattern: list[int], shifts: list[int], first: int) -> None:
    units = Periodic(pattern, shift=shifts).units(0, range(first, first + 40), range(3))

    period = len(pattern)
    expected = [[pattern[(t - shift) % period] for shift in shifts] for t in range(first, first + 40)]
    assert units.tolist() == expected


def test_a_client_that_is_paid_every_third_round_takes_part_as_often() -> None:
    fleet = Fleet(clients=2, harvest="periodic:pattern=[2, 0, 0],shift=[0, 1]", cost=2)  # type: ignore[arg-type]
    played = simulate(fleet, Greedy(), rounds=7)

    assert [played.clients(t).tolist() for t in range(7)] == [[], [0], [1], [], [0], [1], []]


def test_a_pattern_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("units\n0\n3\n1\n")

    assert Periodic(tmp_path / "day.csv").units(0, range(3), range(1)).T.tolist() == [[0, 3, 1]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pattern": []}, r"pattern must be of shape \(period,\), got shape \(0,\)"),
        ({"pattern": 3}, r"pattern must be of shape \(period,\), got shape \(\)"),
        ({"pattern": [[1, 2]]}, r"pattern must be of shape \(period,\), got shape \(1, 2\)"),
        ({"pattern": [1, 0.5]}, "pattern must be whole numbers, got an array of float64"),
        ({"pattern": [1, -1]}, "pattern must be at least 0, got -1"),
        ({"pattern": [1, 2**40]}, "pattern must be at most 1073741823, got 1099511627776"),
        ({"pattern": "nowhere.csv"}, "pattern must be a readable file of numbers"),
        ({"pattern": [1], "shift": math.nan}, "shift must be in .*, got nan"),
        ({"pattern": [1], "shift": "even"}, "shift must be in .*, got 'even'"),
    ],
)
def test_what_is_no_pattern_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Periodic(**parameters)


def test_shifts_of_another_fleet_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^shift must be one number or one per client \(3\), got a list of 2$"):
        Periodic([1, 2], shift=np.arange(2)).mean_rates(3)
