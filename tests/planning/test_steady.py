"""Batteries as they are after a year, and what is asked of which rounds."""

import numpy as np
import pytest

from ehfl import Bernoulli, Fleet, Sun
from ehfl.planning import Calendar, Want, steady_start
from ehfl.validation import InvalidValue


def fleet_of(watts: float, capacity: float, initial: float = 0.0) -> Fleet:
    harvest = Sun(watts, weather="typical")
    return Fleet.in_joules(3, harvest, capacity=capacity, cost=300, round_length=21_600, initial=initial)


def test_the_start_is_forgotten() -> None:
    starts = [steady_start(fleet_of(0.3, 3600, initial), "greedy", 1460, seed=0) for initial in (0, 1800, 3600)]

    assert np.array_equal(starts[0].start(), starts[1].start()) and np.array_equal(starts[1].start(), starts[2].start())


def test_panels_that_outweigh_all_turns_fill_their_batteries_and_dark_ones_empty_them() -> None:
    full, empty = (steady_start(fleet_of(watts, 40_000), "greedy", 1460, seed=0) for watts in (40.0, 1e-9))

    assert (full.start() >= 0.9 * full.ceilings).all()
    assert not empty.start().any()


def test_a_large_battery_carries_summer_into_january() -> None:
    """With a turn a round, 20 Wh are filled by autumn and last into January: a week of spin-up would miss it."""
    start = steady_start(fleet_of(0.2, 500_000), "greedy", 1460, seed=0)

    assert (start.start() > 0).any()


def test_fleets_without_a_year_start_as_given() -> None:
    units = Fleet(3, Bernoulli(0.5), capacity=9, initial=4)
    endless = Fleet.in_joules(3, Sun(1), capacity=np.inf, cost=300, round_length=3600)

    assert steady_start(units, "greedy", 100, seed=0) is units
    assert steady_start(endless, "greedy", 100, seed=0) is endless


@pytest.mark.parametrize(
    ("text", "rounds"),
    [
        ("1 client in 50 %", 8760),
        ("1 client in 50 % of rounds in December", 744),
        ("1 client in 50 % of rounds in winter", 90 * 24),
        ("1 client in 50 % at night", 4380),
        ("1 client in 50 % in June between 22:00 and 06:00", 240),
        ("1 client in 50 % between 6:00 and 7:00", 365),
    ],
)
def test_months_and_hours_that_count(text: str, rounds: int) -> None:
    counted = Want.parse(text).rounds(Calendar(0, 3600.0), 8760)

    assert int(counted.sum()) == rounds


def test_winter_is_in_june_in_the_south() -> None:
    winter = Want.parse("1 client in 50 % in winter").rounds(Calendar(0, 86_400.0, southern=True), 365)

    assert np.flatnonzero(winter).tolist() == list(range(151, 243))


def test_years_are_read_and_months_need_a_calendar() -> None:
    assert Want.parse("5 clients in 99 % of rounds in 19 of 20 years").years == 0.95
    assert Want.parse("5 clients in 99 % of rounds").years == 0.9
    with pytest.raises(InvalidValue, match="no calendar"):
        Want.parse("5 clients in 99 % in May").rounds(None, 10)
