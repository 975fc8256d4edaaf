"""Weather files for the sun, by pvlib's own readers: TMY2, TMY3, EPW, PVGIS (hourly or typical year), NSRDB."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.calendar import Days, Instants, days_of
from ehfl.energy.quiet import quiet
from ehfl.energy.sun_files import TYPICAL, Rows, read_rows
from ehfl.files import refuse_pipe
from ehfl.validation import InvalidValue, UserError, one_line

BUNDLED = {"north-carolina": "723170TYA.CSV", "alaska": "703165TY.csv", "florida": "12839.tm2"}  # in pvlib's own data
ALLOWED = f"{', '.join(BUNDLED)}, or a weather file (TMY2, TMY3, EPW, PVGIS or NSRDB) of whole days without gaps"

# What can be; beyond it a file marks what is missing (9999, 99.9, -9900).
_LIMITS = {"ghi": (0, 2000), "dni": (0, 2000), "dhi": (0, 2000), "plane": (0, 2500),
           "temp_air": (-95, 65), "wind_speed": (0, 120)}  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class SunWeather:
    """What a file says, a number for each of its rows; and where the rows lie in the year."""

    latitude: float  # [degrees]
    longitude: float
    altitude: float  # [m]
    instants: Instants  # UTC, at which the sun is looked for: the middle of each step
    series: dict[
        str, FloatArray
    ]  # ghi, dni, dhi, or plane: in one of the file's own [W/m^2]; temp_air [C], wind_speed [m/s]
    days: Days


def sun_weather(site: str | Path) -> SunWeather:
    """Return the weather of a site: a typical year of pvlib's by name, or a file."""
    import pvlib

    bundled = BUNDLED.get(str(site).lower())
    path = Path(pvlib.__file__).parent / "data" / bundled if bundled else Path(site)
    try:
        refuse_pipe(path)
        found = path.stat()
        return _read(path, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise InvalidValue("site", ALLOWED, f"{site} ({error.strerror or error})") from None
    except UserError as error:
        raise InvalidValue("site", ALLOWED, f"{site} ({error})") from None


@lru_cache(maxsize=16)
def _read(path: Path, written: int, size: int) -> SunWeather:
    """Return what lies in a file; UserError says what is wrong with it."""
    try:
        with quiet():
            return _placed(read_rows(path))
    except (UserError, OSError):
        raise
    except ValueError as error:
        raise UserError(str(error)) from error
    except Exception as error:  # pvlib's readers fail in as many ways as files can be wrong
        raise UserError(one_line(error)) from error


def _placed(rows: Rows) -> SunWeather:
    """Return the weather with its place in the year, in the local standard time of the site."""
    frame = rows.frame
    if frame.index.tz is None:
        raise UserError("no time zone")
    if not frame.index.is_monotonic_increasing:  # a typical year, made of several
        frame = frame[~((frame.index.month == 2) & (frame.index.day == 29))]
        frame.index = frame.index.map(lambda stamp: stamp.replace(year=TYPICAL))
    instants = frame.index.tz_convert("UTC").tz_localize(None).values.astype("M8[s]") + rows.middle
    local = instants + np.timedelta64(round(rows.hours_from_utc * 3600), "s")
    days = days_of(local - _step(local) // 2)
    series = {name: _checked(name, frame[name]) for name in _LIMITS if name in frame}
    light = ("plane",) if "plane" in series else ("ghi", "dni", "dhi")
    if lacking := {*light, "temp_air", "wind_speed"} - series.keys():
        raise UserError(f"no {', '.join(sorted(lacking))}")
    return SunWeather(rows.latitude, rows.longitude, rows.altitude, instants, series, days)


def _step(times: Instants) -> np.timedelta64:
    if times.size < 2:
        raise UserError(f"{times.size} rows are no weather")
    usual: np.timedelta64 = np.median(np.diff(times)).astype("m8[s]")
    return usual


def _checked(name: str, column: Any) -> FloatArray:
    numbers: FloatArray = column.to_numpy(np.float64)
    low, high = _LIMITS[name]
    wrong = np.flatnonzero(~((numbers >= low) & (numbers <= high)))  # NaN is wrong, too
    if wrong.size:
        raise UserError(f"{name} must be in [{low}, {high}], and is {numbers[wrong[0]]:g} at {column.index[wrong[0]]}")
    return numbers
