"""Weather files for the wind, in windpowerlib's layout."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.calendar import Days, Instants, days_of
from ehfl.energy.quiet import quiet
from ehfl.files import refuse_pipe
from ehfl.validation import InvalidValue, UserError, one_line

ALLOWED = "a weather file in windpowerlib's layout, of whole days without gaps"
_FASTEST = 120  # [m/s]
_ROUGHEST = 10  # [m]


@dataclass(frozen=True, eq=False, slots=True)
class WindWeather:
    """What a file says of the wind, a number for each of its rows; and where the rows lie in the year."""

    speeds: dict[float, FloatArray]  # [m/s], by height above the ground [m]
    roughness: FloatArray | None  # length [m]
    days: Days


def wind_weather(site: str | Path) -> WindWeather:
    """Return the weather that a file has.

    Its first two rows name each column's variable and height [m]: wind_speed [m/s] at one or several heights, and
    perhaps roughness_length [m]; others are left alone. Its first column has the time at which a step begins, with its
    distance from UTC: 2010-01-01 00:00:00+01:00. Summer time is understood; days begin at midnight in standard time.
    """
    path = Path(site)
    try:
        refuse_pipe(path)
        found = path.stat()
        return _read(path, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise InvalidValue("site", ALLOWED, f"{site} ({error.strerror or error})") from None
    except UserError as error:
        raise InvalidValue("site", ALLOWED, f"{site} ({error})") from None


@lru_cache(maxsize=16)
def _read(path: Path, written: int, size: int) -> WindWeather:
    """Return what lies in a file; UserError says what is wrong with it."""
    import pandas as pd

    try:
        with quiet():
            frame = pd.read_csv(path, index_col=0, header=[0, 1])
            return _placed(frame)
    except (UserError, OSError):
        raise
    except ValueError as error:
        raise UserError(str(error)) from error
    except Exception as error:  # pandas fails in as many ways as files can be wrong
        raise UserError(one_line(error)) from error


def _placed(frame: Any) -> WindWeather:
    columns = {(str(name), float(height)): frame[name, height] for name, height in frame.columns}
    speeds = {height: _checked(columns[name, height], _FASTEST) for name, height in columns if name == "wind_speed"}
    rough = [_checked(columns[name, height], _ROUGHEST) for name, height in columns if name == "roughness_length"]
    if not speeds or min(speeds) <= 0:
        raise UserError("no wind_speed at a height of more than 0 m")
    return WindWeather(speeds, rough[0] if rough else None, days_of(_times([str(one) for one in frame.index])))


def _times(texts: list[str]) -> Instants:
    """Return local standard times from texts that end with their distance from UTC, which is least in standard time."""
    found = [datetime.fromisoformat(text) for text in texts]
    offsets = [one.utcoffset() for one in found]
    known = [offset for offset in offsets if offset is not None]
    if len(known) < len(offsets):
        raise UserError(f"no time zone in {texts[offsets.index(None)]}: times must be like 2010-01-01 00:00:00+01:00")
    standard = timezone(min(known))
    return np.array([one.astimezone(standard).replace(tzinfo=None) for one in found], "M8[s]")


def _checked(column: Any, high: float) -> FloatArray:
    numbers: FloatArray = column.to_numpy(np.float64)
    name = column.name[0]
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers <= high)))  # NaN is wrong, too
    if wrong.size:
        raise UserError(f"{name} must be in [0, {high}], and is {numbers[wrong[0]]:g} at {column.index[wrong[0]]}")
    return numbers
