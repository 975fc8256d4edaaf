"""Months and hours of rounds."""

import numpy as np
import pytest

from ehfl.experiment.plan import rounds_of
from ehfl.planning import YEAR, Calendar
from ehfl.validation import InvalidValue

DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def test_hours_and_months_of_hourly_rounds() -> None:
    calendar = Calendar(first_day=0, round_length=3600)

    assert calendar.hours(range(26)).tolist() == [*range(24), 0, 1]
    assert np.bincount(calendar.months(range(8760))).tolist() == [24 * days for days in DAYS]


def test_a_year_that_begins_in_december_wraps() -> None:
    calendar = Calendar(first_day=334, round_length=86_400)

    assert calendar.months(range(30, 33)).tolist() == [11, 0, 0]


def test_short_rounds_do_not_slip_into_the_hour_before() -> None:
    calendar = Calendar(first_day=0, round_length=0.1)

    assert calendar.hours(range(36_000, 36_001)).tolist() == [1]


def test_a_day_may_begin_in_the_middle() -> None:
    calendar = Calendar(first_day=30, round_length=3600, first_second=22 * 3600)

    assert calendar.hours(range(3)).tolist() == [22, 23, 0]
    assert calendar.months(range(3)).tolist() == [0, 0, 1]


def test_means_by_month_and_hour() -> None:
    calendar = Calendar(first_day=0, round_length=3600)
    counts = (np.arange(8760) % 24).astype(float)
    means = calendar.by_month_and_hour(counts)

    assert means[6].tolist() == list(range(24))


def test_months_that_no_round_is_in_are_nan() -> None:
    means = Calendar(0, 3600).by_month_and_hour(np.ones(24 * 31))

    assert (means[0] == 1).all()
    assert np.isnan(means[1:]).all()
    assert YEAR == 8760 * 3600


def test_a_year_is_a_year_whatever_the_length_of_rounds() -> None:
    assert rounds_of(20.0, otherwise=100) == 1_576_800  # more than a million
    assert rounds_of(7 * 3600.0, otherwise=100) == 1251
    assert rounds_of(None, otherwise=100) == 100
    with pytest.raises(InvalidValue, match=r"round_length must be at least 3.154 s, .* got 2 s"):
        rounds_of(2.0, otherwise=100)
