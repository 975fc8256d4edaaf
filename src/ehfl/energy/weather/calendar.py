"""Reading and checking of weather files of any format, and the position of their steps in the year.

They must have complete days of equal steps, without gaps; years have 365 days.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray
from ehfl.validation import InvalidValue, UserError, is_word, one_line

DAY = 86_400  # [s]
YEAR = 365  # [days]: February 29 is left out, so that years can be repeated
_ANY_YEAR = 2001  # one without February 29

Instants = NDArray[np.datetime64]  # [s], local standard time, or UTC where a name says so
Weather = TypeVar("Weather")


def read_weather(site: str | Path, path: Path, parse: Callable[[Path], Weather], allowed: str) -> Weather:
    """Return the result of `parse` for a file, cached until the file changes.

    Every fault raises InvalidValue for `site`: UserError, ValueError and all errors of libraries.
    """
    try:
        found = path.stat()
        return _read(path, parse, found.st_mtime_ns, found.st_size)  # type: ignore[return-value]
    except OSError as error:
        raise InvalidValue("site", allowed, f"{site} ({error.strerror or error})") from None
    except UserError as error:
        raise InvalidValue("site", allowed, f"{site} ({error})") from None


@lru_cache(maxsize=32)
def _read(path: Path, parse: Callable[[Path], object], written: int, size: int) -> object:
    try:
        with quiet():
            return parse(path)
    except (UserError, OSError):
        raise
    except ValueError as error:
        raise UserError(str(error)) from error
    except Exception as error:  # library readers may raise anything on a bad file
        raise UserError(one_line(error)) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings between pvlib, windpowerlib, pandas and NumPy, which users cannot act on."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def numbers_within(name: str, column: Any, low: float, high: float) -> FloatArray:
    """Return a column of a data frame as floats; raise an error for values beyond the limits, such as 9999 or 99.9."""
    numbers: FloatArray = column.to_numpy(np.float64)
    wrong = np.flatnonzero(~((numbers >= low) & (numbers <= high)))  # NaN is wrong, too
    if wrong.size:
        raise UserError(f"{name} must be in [{low}, {high}], and is {numbers[wrong[0]]:g} at {column.index[wrong[0]]}")
    return numbers


@dataclass(frozen=True, eq=False, slots=True)
class Days:
    """The rows of a file that form complete days, and the days of the year."""

    rows: NDArray[np.intp]  # of the file, (n_days, n_steps)
    first: int  # day of the year that the first one is, 0 for January 1
    early: float  # how long before midnight its first step begins [s], less than a step
    from_utc: float = 0.0  # how far its clock, which is the site's standard time, is ahead of UTC [s]

    def of(self, series: FloatArray) -> FloatArray:
        """Return a series with a number for each of the file's rows as one for each day and step."""
        by_day: FloatArray = np.ascontiguousarray(series[self.rows])
        by_day.flags.writeable = False
        return by_day

    def start(self, given: str) -> float:
        """Return the time from the first step to the midnight at which the day "MM-DD" begins [s].

        "first" is the first day. Weather of less than a year has only the recorded days.
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


def common_start(sites: Sequence[Days], given: str) -> list[float]:
    """Return, for each site, the time from its first step to one instant: the start of a day at the first site [s].

    Rounds happen at the same instant everywhere. It may be the day before at another site, where this may be negative.
    """
    first = sites[0].start(given)
    day = date_of(sites[0].day_at(first))
    return [first, *(site.start(day) + site.from_utc - sites[0].from_utc for site in sites[1:])]


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


def days_of(begins: Instants, from_utc: float = 0.0) -> Days:
    """Return the days of steps that begin at these times, by a clock so far ahead of UTC; raise ValueError if invalid.

    February 29 is left out. Steps before the first midnight (in files in UTC) are moved to the end, where they complete
    the last day; of more than a year, only full years are kept.
    """
    import pandas as pd

    stamps = pd.DatetimeIndex(begins)
    kept = np.flatnonzero((stamps.month != 2) | (stamps.day != 29))
    stamps = stamps[kept]
    day = stamps.day_of_year.to_numpy(np.int64) - 1
    day -= stamps.is_leap_year & (day > 58)
    midnights = begins[kept].astype("M8[D]")
    # Seconds since 1970 of a calendar without leap days.
    seconds = ((stamps.year.to_numpy(np.int64) - 1970) * YEAR + day) * DAY
    seconds += (begins[kept] - midnights).astype("m8[s]").astype(np.int64)
    step = _step(seconds, begins[kept])
    n_days, rest = divmod(kept.size, DAY // step)
    if rest or not n_days:
        raise ValueError(f"{kept.size} steps of {step} s are no whole days")
    early = -int(seconds[0]) % step
    first_midnight = -(-(int(seconds[0]) + early) // DAY)  # [days]
    steps_before_it = (first_midnight * DAY - early - int(seconds[0])) // step
    whole_years = n_days // YEAR * YEAR
    kept = np.roll(kept, -steps_before_it).reshape(n_days, -1)[: whole_years or n_days]
    return Days(kept, first_midnight % YEAR, float(early), from_utc)


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
