"""Where the steps of a weather file lie: whole days, leap years, time zones, gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.energy.weather.calendar import DAY, Days, Instants, date_of, day_of_year, days_of


def hours(first: str, count: int, minutes: int = 60) -> Instants:
    times: Instants = np.datetime64(first, "s") + np.arange(count) * np.timedelta64(minutes * 60, "s")
    return times


@given(st.integers(0, 364))
def test_days_of_the_year_have_names(day: int) -> None:
    assert day_of_year(date_of(day)) == day


def test_days_that_begin_at_midnight_are_rows_as_they_come() -> None:
    days = days_of(hours("2019-07-01T00:00", 72))

    assert days.rows.tolist() == np.arange(72).reshape(3, 24).tolist()
    assert (days.first, days.early) == (181, 0)
    assert days.of(np.arange(72.0))[1, 5] == 29


def test_what_comes_before_the_first_midnight_completes_the_last_day() -> None:
    days = days_of(hours("2019-06-30T19:00", 48))

    assert days.first == 181
    assert days.rows[0].tolist() == list(range(5, 29))
    assert days.rows[1].tolist() == [*range(29, 48), 0, 1, 2, 3, 4]


def test_steps_that_begin_beside_the_hour_begin_a_little_before_midnight() -> None:
    days = days_of(hours("2019-06-30T23:40", 48))

    assert (days.first, days.early) == (181, 20 * 60)
    assert days.rows[0, 0] == 0
    assert days.start("first") == 20 * 60
    assert days.start("07-02") == DAY + 20 * 60
    assert days.day_at(days.start("07-02")) == 182


@pytest.mark.parametrize("year", [2019, 2020])
def test_a_year_has_365_days_and_every_one_can_be_the_first(year: int) -> None:
    n_days = 366 if year % 4 == 0 else 365
    days = days_of(hours(f"{year}-01-01T00:00", 24 * n_days))

    assert days.rows.shape == (365, 24)
    march = days.rows[day_of_year("03-01"), 0]
    assert march == 24 * (n_days - 365 + 59)
    assert [days.day_at(days.start(start)) for start in ("01-01", "03-01", "12-31")] == [0, 59, 364]


def test_of_more_than_a_year_whole_years_are_kept() -> None:
    days = days_of(hours("2019-07-01T00:00", 24 * 800))

    assert len(days.rows) == 730
    assert days.first == 181
    assert days.start("01-01") == (365 - 181) * DAY


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (np.delete(hours("2019-07-01T00:00", 49), 20), "a gap between 2019-07-01T19:00:00 and 2019-07-01T21:00:00"),
        (hours("2019-07-01T00:00", 48)[::-1], "rows out of order|do not divide"),
        (hours("2019-07-01T00:00", 1), "1 rows are no weather"),
        (hours("2019-07-01T00:00", 47), "47 steps of 3600 s are no whole days"),
        (hours("2019-07-01T00:00", 48, minutes=50), "steps of 3000 s do not divide a day"),
    ],
)
def test_what_are_no_whole_days_is_refused(times: Instants, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        days_of(times)


def test_a_file_of_days_knows_only_those() -> None:
    days = Days(np.arange(48).reshape(2, 24), first=364, early=0.0)

    assert days.start("01-01") == DAY
    with pytest.raises(ValueError, match="start must be a day of the weather, 12-31 to 01-01, or first, got 01-02"):
        days.start("01-02")
