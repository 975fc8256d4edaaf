"""Weather files for the sun, by pvlib's own readers: TMY2, TMY3, EPW, PVGIS (hourly or typical year), NSRDB."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.weather.calendar import Days, Instants, days_of, numbers_within, read_weather
from ehfl.validation import UserError

BUNDLED = {"north-carolina": "723170TYA.CSV", "alaska": "703165TY.csv", "florida": "12839.tm2"}  # in pvlib's own data
ALLOWED = f"{', '.join(BUNDLED)}, or a weather file (TMY2, TMY3, EPW, PVGIS or NSRDB) of whole days without gaps"

# Physical limits; values beyond mark missing data (9999, 99.9, -9900).
_LIMITS = {"ghi": (0, 2000), "dni": (0, 2000), "dhi": (0, 2000), "plane": (0, 2500),
           "temp_air": (-95, 65), "wind_speed": (0, 120)}  # fmt: skip

Frame = Any  # of pandas
Facts = dict[str, Any]

_AFTER, _BEFORE, _AT = (
    np.timedelta64(minutes, "m") for minutes in (30, -30, 0)
)  # from a stamp to the middle of its step
TYPICAL = 1990  # the year that typical years, made of several, are put into, as pvlib does
_LOW = 0.05  # sine of the sun's height below which direct light counts as diffuse


@dataclass(frozen=True, eq=False, slots=True)
class SunWeather:
    """The content of a file, one number per row, and the position of its rows in the year."""

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
    return read_weather(site, path, _parsed, ALLOWED)


def _parsed(path: Path) -> SunWeather:
    """Return the weather with its place in the year, in the local standard time of the site."""
    rows = _rows(path)
    frame = rows.frame
    if frame.index.tz is None:
        raise UserError("no time zone")
    if not frame.index.is_monotonic_increasing:  # a typical year, made of several
        frame = frame[~((frame.index.month == 2) & (frame.index.day == 29))]
        frame.index = frame.index.map(lambda stamp: stamp.replace(year=TYPICAL))
    if len(frame) < 2:
        raise UserError(f"{len(frame)} rows are no weather")
    instants = frame.index.tz_convert("UTC").tz_localize(None).values.astype("M8[s]") + rows.middle
    from_utc = round(rows.hours_from_utc * 3600)
    local = instants + np.timedelta64(from_utc, "s")
    step: np.timedelta64 = np.median(np.diff(local)).astype("m8[s]")
    days = days_of(local - step // 2, float(from_utc))
    series = {name: numbers_within(name, frame[name], *_LIMITS[name]) for name in _LIMITS if name in frame}
    light = ("plane",) if "plane" in series else ("ghi", "dni", "dhi")
    if lacking := {*light, "temp_air", "wind_speed"} - series.keys():
        raise UserError(f"no {', '.join(sorted(lacking))}")
    return SunWeather(rows.latitude, rows.longitude, rows.altitude, instants, series, days)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A file's rows, with columns called as pvlib calls them; `plane` is irradiance in a plane of the file's own."""

    frame: Frame  # ghi, dni, dhi (or plane), temp_air, wind_speed
    latitude: float
    longitude: float
    altitude: float
    hours_from_utc: float  # of local standard time
    middle: np.timedelta64  # from a row's stamp to the middle of its step


def _rows(path: Path) -> _Rows:
    """Return the rows of a weather file; its first lines determine the format. Errors of pvlib propagate."""
    with path.open("rb") as file:
        head = file.read(4096).decode("latin-1")
    for begins, reader in _FORMATS.items():
        if re.match(begins, head, re.DOTALL):
            return reader(path)
    raise UserError("its first lines are of no format that is known")


def _tmy3(path: Path) -> _Rows:
    """Stamps end the hour; temperature and wind at the stamp stand for that hour. The last is the next year's first."""
    from pvlib.iotools import read_tmy3

    frame, facts = read_tmy3(path)
    frame.index = frame.index.map(lambda at: at.replace(year=TYPICAL + ((at.month, at.day, at.hour) == (1, 1, 0))))
    return _station(frame, facts, _BEFORE)


def _tmy2(path: Path) -> _Rows:
    """Pvlib stamps the beginning of the hour; temperature and wind are in tenths."""
    from pvlib.iotools import read_tmy2

    frame, facts = read_tmy2(path)
    frame = frame.rename(columns={"GHI": "ghi", "DNI": "dni", "DHI": "dhi"})
    frame["temp_air"], frame["wind_speed"] = frame["DryBulb"] / 10, frame["Wspd"] / 10
    return _station(frame, facts, _AFTER)


def _epw(path: Path) -> _Rows:
    """Pvlib stamps the beginning of the hour."""
    from pvlib.iotools import read_epw

    frame, facts = read_epw(path)
    return _station(frame, facts, _AFTER)


def _station(frame: Frame, facts: Facts, middle: np.timedelta64) -> _Rows:
    latitude, longitude, altitude, hours = (float(facts[name]) for name in ("latitude", "longitude", "altitude", "TZ"))
    return _Rows(frame, latitude, longitude, altitude, hours, middle)


def _nsrdb(path: Path) -> _Rows:
    """Stamps are instants (minute 30 of hourly files)."""
    from pvlib.iotools import read_nsrdb_psm4

    frame, facts = read_nsrdb_psm4(path)
    return _station(frame, facts | {"TZ": facts["Local Time Zone"]}, _AT)


def _pvgis_hourly(path: Path) -> _Rows:
    """Stamps are instants in UTC, such as minute 10; irradiance is in the plane that was requested from PVGIS."""
    from pvlib.iotools import read_pvgis_hourly

    frame, facts = read_pvgis_hourly(path, pvgis_format=_pvgis_format(path))
    if "poa_direct" not in frame:
        return _pvgis(frame.assign(plane=frame["poa_global"]), facts, _AT)
    whole = frame[["poa_direct", "poa_sky_diffuse", "poa_ground_diffuse"]].sum(axis=1)
    if _slope(facts["inputs"]):
        return _pvgis(frame.assign(plane=whole), facts, _AT)
    height = np.sin(np.radians(frame["solar_elevation"]))  # of the sun, which lights a flat plane by so much
    beam = (frame["poa_direct"] / height.clip(lower=_LOW)).where(height > _LOW, 0.0)
    return _pvgis(frame.assign(plane=whole, ghi=whole, dni=beam, dhi=whole - beam * height), facts, _AT)


def _slope(given: Facts) -> float:
    """Return the tilt of a PVGIS file's plane [degrees]; nonzero if it is missing or the plane tracks the sun."""
    fixed = given.get("mounting_system", {}).get("fixed", {}).get("slope", {}).get("value")
    found = re.match(r"[\d.]+", str(given.get("Slope", "") if fixed is None else fixed))
    return float(found[0]) if found else 90.0


def _pvgis_typical(path: Path) -> _Rows:
    """Stamps are in UTC; irradiance is that of an instant which the file may say how long after."""
    from pvlib.iotools import read_pvgis_tmy

    frame, facts = read_pvgis_tmy(path, pvgis_format=_pvgis_format(path))
    given = facts["inputs"]
    hours = given.get("irradiance time offset", given.get("location", {}).get("irradiance_time_offset", 0.0))
    return _pvgis(frame, facts, np.timedelta64(round(float(hours) * 3600), "s"))


def _pvgis(frame: Frame, facts: Facts, middle: np.timedelta64) -> _Rows:
    place = facts["inputs"].get("location", facts["inputs"])  # JSON has it one table deeper
    latitude, longitude, altitude = (float(place[name]) for name in ("latitude", "longitude", "elevation"))
    return _Rows(frame, latitude, longitude, altitude, round(longitude / 15), middle)


def _pvgis_format(path: Path) -> str:
    with path.open("rb") as file:
        return "json" if file.read(1) == b"{" else "csv"


_FORMATS: dict[str, Callable[[Path], _Rows]] = {  # by what their first 4,096 characters are like
    r"LOCATION,": _epw,
    r"Source,Location ID,": _nsrdb,
    r"[^\n]*\nDate \(MM/DD/YYYY\),": _tmy3,
    r"Latitude \(decimal degrees\):.*\ntime\(UTC\)": _pvgis_typical,
    r"Latitude \(decimal degrees\):": _pvgis_hourly,
    r"\{.*\"months_selected\"": _pvgis_typical,
    r"\{.*\"(inputs|outputs)\"": _pvgis_hourly,
    r"\s*\d{5}\s[^\n]*\s[NS]\s+\d+\s+\d+\s+[EW]\s": _tmy2,
}
