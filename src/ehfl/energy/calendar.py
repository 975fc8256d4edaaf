"""Where the steps of a weather file lie in the year: whole days of equal steps, without gaps, on years of 365 days."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray
from ehfl.validation import InvalidValue, is_word

DAY = 86_400  # [s]
YEAR = 365  # [days]: February 29 is left out, so that years can be repeated
_ANY_YEAR = 2001  # one without February 29

Instants = NDArray[np.datetime64]  # [s], local standard time, or UTC where a name says so


@dataclass(frozen=True, eq=False, slots=True)
class Days:
    """Which rows of a file make whole days, and which days of the year these are."""

    rows: NDArray[np.intp]  # of the file, (n_days, n_steps)
    first: int  # day of the year that the first one is, 0 for January 1
    early: float  # how long before midnight its first step begins [s], less than a step

    def of(self, series: FloatArray) -> FloatArray:
        """Return a series with a number for each of the file's rows as one for each day and step."""
        by_day: FloatArray = np.ascontiguousarray(series[self.rows])
        by_day.flags.writeable = False
        return by_day

    def start(self, given: str) -> float:
        """Return the time from the first step to the midnight at which the day "MM-DD" begins [s].

        "first" is the first day. Weather of a whole year has every day; of less, those that are there.
        """
        n_days = len(self.rows)
        day = 0 if is_word(given, "first") else (day_of_year(given) - self.first) % YEAR
        if day >= n_days:
            ends = [date_of(self.first + day) for day in (0, n_days - 1)]
            raise InvalidValue("start", f"a day of the weather, {ends[0]} to {ends[1]}, or first", given)
        return day * DAY + self.early

    def day_at(self, time: float) -> int:
        """Return the day of the year of a time after the first step [s], 0 for January 1."""
        return (self.first + int((time - self.early) // DAY)) % YEAR


def day_of_year(given: str) -> int:
    """Return the number of a day "MM-DD", 0 for January 1; years have 365 days.

    >>> day_of_year("12-31")
    364
    """
    try:
        if not isinstance(given, str) or not re.fullmatch(r"\d\d-\d\d", given):
            raise ValueError
        found = date.fromisoformat(f"{_ANY_YEAR}-{given}")
    except ValueError:
        raise InvalidValue("start", "a day of the year as MM-DD (there is no 02-29), or first", repr(given)) from None
    return found.timetuple().tm_yday - 1


def date_of(day: int) -> str:
    """Return the day of the year of that number as "MM-DD".

    >>> date_of(59)
    '03-01'
    """
    return date.fromordinal(date(_ANY_YEAR, 1, 1).toordinal() + day % YEAR).strftime("%m-%d")


def days_of(begins: Instants) -> Days:
    """Return the days that steps which begin at these times make; ValueError says what is wrong with them.

    February 29 is left out. Steps before the first midnight, which files in UTC have, are moved behind the last day,
    which they complete; of more than a year whole years are kept.
    """
    kept = np.flatnonzero(~_leap_days(begins))
    seconds = _seconds(begins[kept])
    step = _step(seconds, begins[kept])
    n_days, rest = divmod(kept.size, DAY // step)
    if rest or not n_days:
        raise ValueError(f"{kept.size} steps of {step} s are no whole days")
    early = -int(seconds[0]) % step
    first_midnight = -(-(int(seconds[0]) + early) // DAY)  # [days]
    steps_before_it = (first_midnight * DAY - early - int(seconds[0])) // step
    whole_years = n_days // YEAR * YEAR
    kept = np.roll(kept, -steps_before_it).reshape(n_days, -1)[: whole_years or n_days]
    return Days(kept, first_midnight % YEAR, float(early))


def _leap_days(times: Instants) -> NDArray[np.bool_]:
    months, days = times.astype("M8[M]"), times.astype("M8[D]")
    february = months.astype(int) % 12 == 1
    found: NDArray[np.bool_] = february & ((days - months.astype("M8[D]")).astype(int) == 28)
    return found


def _seconds(times: Instants) -> NDArray[np.int64]:
    """Return seconds since 1970 of a calendar without leap days."""
    years, days = times.astype("M8[Y]"), times.astype("M8[D]")
    day = (days - years.astype("M8[D]")).astype(np.int64)
    leap = ((years + 1).astype("M8[D]") - years.astype("M8[D]")).astype(int) == YEAR + 1
    day -= leap & (day > 58)
    found: NDArray[np.int64] = (years.astype(np.int64) * YEAR + day) * DAY + (times - days).astype("m8[s]").astype(
        np.int64
    )
    return found


def _step(seconds: NDArray[np.int64], times: Instants) -> int:
    """Return the length of the steps, which must be equal and divide a day [s]."""
    if seconds.size < 2:
        raise ValueError(f"{seconds.size} rows are no weather")
    lengths = np.diff(seconds)
    step = int(np.median(lengths))
    wrong = np.flatnonzero(lengths != step)
    if wrong.size:
        at = int(wrong[0])
        kind = "a gap" if lengths[at] > step else "rows out of order"
        raise ValueError(f"{kind} between {times[at]} and {times[at + 1]}")
    if step < 1 or DAY % step:
        raise ValueError(f"steps of {step} s do not divide a day")
    return step
