"""The files that pvlib reads, each as the same rows: which format it is, what its columns and stamps mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ehfl.validation import UserError

Frame = Any  # of pandas
Facts = dict[str, Any]

_AFTER, _BEFORE, _AT = (
    np.timedelta64(minutes, "m") for minutes in (30, -30, 0)
)  # from a stamp to the middle of its step
TYPICAL = 1990  # the year that typical years, made of several, are put into, as pvlib does
_LOW = 0.05  # sine of the sun's height below which direct light counts as diffuse


@dataclass(frozen=True, slots=True)
class Rows:
    """A file's rows, with columns called as pvlib calls them; `plane` is irradiance in a plane of the file's own."""

    frame: Frame  # ghi, dni, dhi (or plane), temp_air, wind_speed
    latitude: float
    longitude: float
    altitude: float
    hours_from_utc: float  # of local standard time
    middle: np.timedelta64  # from a row's stamp to the middle of its step


def read_rows(path: Path) -> Rows:
    """Return the rows of a weather file, whose format its first lines tell; errors of pvlib are not caught here."""
    with path.open("rb") as file:
        head = file.read(4096).decode("latin-1")
    for sign, reader in _FORMATS.items():
        if re.match(sign, head, re.DOTALL):
            return reader(path)
    raise UserError("its first lines are of no format that is known")


def _tmy3(path: Path) -> Rows:
    """Stamps end the hour; temperature and wind at the stamp stand for that hour. The last is the next year's first."""
    from pvlib.iotools import read_tmy3

    frame, facts = read_tmy3(path)
    frame.index = frame.index.map(lambda at: at.replace(year=TYPICAL + ((at.month, at.day, at.hour) == (1, 1, 0))))
    return _station(frame, facts, _BEFORE)


def _tmy2(path: Path) -> Rows:
    """Pvlib stamps the beginning of the hour; temperature and wind are in tenths."""
    from pvlib.iotools import read_tmy2

    frame, facts = read_tmy2(path)
    frame = frame.rename(columns={"GHI": "ghi", "DNI": "dni", "DHI": "dhi"})
    frame["temp_air"], frame["wind_speed"] = frame["DryBulb"] / 10, frame["Wspd"] / 10
    return _station(frame, facts, _AFTER)


def _epw(path: Path) -> Rows:
    """Pvlib stamps the beginning of the hour."""
    from pvlib.iotools import read_epw

    frame, facts = read_epw(path)
    return _station(frame, facts, _AFTER)


def _station(frame: Frame, facts: Facts, middle: np.timedelta64) -> Rows:
    latitude, longitude, altitude, hours = (float(facts[name]) for name in ("latitude", "longitude", "altitude", "TZ"))
    return Rows(frame, latitude, longitude, altitude, hours, middle)


def _nsrdb(path: Path) -> Rows:
    """Stamps are instants (minute 30 of hourly files)."""
    from pvlib.iotools import read_nsrdb_psm4

    frame, facts = read_nsrdb_psm4(path)
    return _station(frame, facts | {"TZ": facts["Local Time Zone"]}, _AT)


def _pvgis_hourly(path: Path) -> Rows:
    """Stamps are instants in UTC, such as minute 10; irradiance is in the plane that the file was asked for."""
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
    """Return the tilt of a PVGIS file's plane [degrees]; one that does not say it, or tracks the sun, is not flat."""
    fixed = given.get("mounting_system", {}).get("fixed", {}).get("slope", {}).get("value")
    found = re.match(r"[\d.]+", str(given.get("Slope", "") if fixed is None else fixed))
    return float(found[0]) if found else 90.0


def _pvgis_typical(path: Path) -> Rows:
    """Stamps are in UTC; irradiance is that of an instant which the file may say how long after."""
    from pvlib.iotools import read_pvgis_tmy

    frame, facts = read_pvgis_tmy(path, pvgis_format=_pvgis_format(path))
    given = facts["inputs"]
    hours = given.get("irradiance time offset", given.get("location", {}).get("irradiance_time_offset", 0.0))
    return _pvgis(frame, facts, np.timedelta64(round(float(hours) * 3600), "s"))


def _pvgis(frame: Frame, facts: Facts, middle: np.timedelta64) -> Rows:
    place = facts["inputs"].get("location", facts["inputs"])  # JSON has it one table deeper
    latitude, longitude, altitude = (float(place[name]) for name in ("latitude", "longitude", "elevation"))
    return Rows(frame, latitude, longitude, altitude, round(longitude / 15), middle)


def _pvgis_format(path: Path) -> str:
    with path.open("rb") as file:
        return "json" if file.read(1) == b"{" else "csv"


_FORMATS: dict[str, Callable[[Path], Rows]] = {  # by what their first 4,096 characters are like
    r"LOCATION,": _epw,
    r"Source,Location ID,": _nsrdb,
    r"[^\n]*\nDate \(MM/DD/YYYY\),": _tmy3,
    r"Latitude \(decimal degrees\):.*\ntime\(UTC\)": _pvgis_typical,
    r"Latitude \(decimal degrees\):": _pvgis_hourly,
    r"\{.*\"months_selected\"": _pvgis_typical,
    r"\{.*\"(inputs|outputs)\"": _pvgis_hourly,
    r"\s*\d{5}\s[^\n]*\s[NS]\s+\d+\s+\d+\s+[EW]\s": _tmy2,
}
