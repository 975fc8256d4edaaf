"""Small weather files in the layouts that pvlib reads, of a sun that is up from six to six."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

FIRST = datetime(2019, 7, 1)


def light(hour: float) -> int:
    """Return the irradiance on the ground, so many hours after midnight [W/m^2]."""
    return round(max(0.0, 800 * math.sin((hour % 24 - 6) / 12 * math.pi)))


def tmy3(path: Path, days: int = 3) -> Path:
    """Stamps end the hour."""
    lines = ['723170,"A PLACE",NC,-5.0,36.100,-79.950,273']
    lines.append("Date (MM/DD/YYYY),Time (HH:MM),GHI (W/m^2),DNI (W/m^2),DHI (W/m^2),Dry-bulb (C),Wspd (m/s)")
    for hour in range(24 * days):
        day = FIRST + timedelta(days=hour // 24)
        shown = light(hour + 0.5)
        lines.append(f"{day:%m/%d/%Y},{hour % 24 + 1:02d}:00,{shown},{shown},{shown // 4},20.0,2.0")
    return _written(path, lines)


def epw(
    path: Path,
    days: int = 3,
    zone: float = -5.0,
    place: tuple[float, float] = (36.1, -79.95),
    first: datetime = FIRST,
    light: Callable[[float], int] = light,
) -> Path:
    """Hours are numbered from 1, which is the one that begins at midnight."""
    lines = [f"LOCATION,A PLACE,NC,USA,TMY3,723170,{place[0]:.2f},{place[1]:.2f},{zone},273.0"]
    lines += [f"{name},0" for name in ("DESIGN CONDITIONS", "TYPICAL/EXTREME PERIODS", "GROUND TEMPERATURES",
                                       "HOLIDAYS/DAYLIGHT SAVINGS", "COMMENTS 1", "COMMENTS 2")]  # fmt: skip
    lines.append(f"DATA PERIODS,1,1,Data,Monday, 7/ 1, 7/{days}")
    for hour in range(24 * days):
        at = first + timedelta(hours=hour)
        shown = light(hour + 0.5)
        before = (
            f"{at.year},{at.month},{at.day},{at.hour + 1},0,?9,20.0,10.0,50,98000,0,0,300,{shown},{shown},{shown // 4}"
        )
        lines.append(before + ",0,0,0,0,180,2.0,5,5,16.0,77777,9,999999999,20,0.1,0,88,0.2,0.0,1.0")
    return _written(path, lines)


def nsrdb(path: Path, days: int = 3, minutes: int = 60) -> Path:
    """Stamps are instants, the middle of each step."""
    lines = [
        "Source,Location ID,City,State,Country,Latitude,Longitude,Time Zone,Elevation,Local Time Zone",
        "NSRDB,1,-,-,-,36.1,-79.95,-5,273,-5",
        "Year,Month,Day,Hour,Minute,DHI,DNI,GHI,Temperature,Wind Speed",
    ]
    for number in range(24 * days * 60 // minutes):
        at = FIRST + timedelta(minutes=(number + 0.5) * minutes)
        shown = light((number + 0.5) * minutes / 60)
        stamp = f"{at.year},{at.month},{at.day},{at.hour},{at.minute}"
        lines.append(f"{stamp},{shown // 4},{shown},{shown},20.0,2.0")
    return _written(path, lines)


def pvgis_hourly(path: Path, days: int = 3, slope: int = 35, longitude: float = -79.95) -> Path:
    """Stamps are instants in UTC, at minute 10."""
    head = {"Latitude (decimal degrees)": "36.100", "Longitude (decimal degrees)": longitude, "Elevation (m)": "273",
            "Radiation database": "PVGIS-SARAH2", "Slope": f"{slope} deg. ", "Azimuth": "0 deg. "}  # fmt: skip
    lines = [*(f"{name}:\t{value}" for name, value in head.items()), "", "",
             "time,Gb(i),Gd(i),Gr(i),H_sun,T2m,WS10m,Int"]  # fmt: skip
    zone = round(longitude / 15)
    for hour in range(24 * days):
        at = FIRST + timedelta(hours=hour, minutes=10)
        shown = light(hour + zone + 1 / 6)
        height = 70 * shown / 800
        lines.append(f"{at:%Y%m%d:%H%M},{shown * 0.75},{shown * 0.2},{shown * 0.05},{height:.2f},20.0,2.0,0.0")
    return _written(path, [*lines, "", "Gb(i): Beam irradiance on the plane (W/m2)"])


def pvgis_typical(path: Path, years: tuple[int, int] = (2012, 2009)) -> Path:
    """Stamps are in UTC and irradiance is 0.2 hours later; months are of two years, of which one is a leap year."""
    lines = ["Latitude (decimal degrees): 36.100", "Longitude (decimal degrees): -79.950", "Elevation (m): 273",
             "Irradiance Time Offset (h): 0.2", "month,year"]  # fmt: skip
    lines += [f"{month},{years[month % 2]}" for month in range(1, 13)]
    lines.append("time(UTC),T2m,RH,G(h),Gb(n),Gd(h),IR(h),WS10m,WD10m,SP")
    for hour in range(8760):
        at = datetime(2001, 1, 1) + timedelta(hours=hour)
        at = at.replace(year=years[at.month % 2])
        shown = light(hour - 5 + 0.2)
        lines.append(f"{at:%Y%m%d:%H%M},20.0,50.0,{shown},{shown},{shown // 4},300.0,2.0,180.0,98000.0")
    return _written(path, [*lines, "", "T2m: 2-m air temperature (degree Celsius)"])


def pvgis_json(path: Path, days: int = 2) -> Path:
    """The hourly file as JSON, of one plane, without its parts."""
    rows = [
        {"time": f"{FIRST + timedelta(hours=hour, minutes=10):%Y%m%d:%H%M}", "G(i)": light(hour - 5 + 1 / 6),
         "H_sun": 0.0, "T2m": 20.0, "WS10m": 2.0, "Int": 0.0}
        for hour in range(24 * days)
    ]  # fmt: skip
    place = {"latitude": 36.1, "longitude": -79.95, "elevation": 273.0}
    inputs = {"location": place, "mounting_system": {"fixed": {"slope": {"value": 35}}}}
    content = {"inputs": inputs, "outputs": {"hourly": rows}, "meta": {"inputs": {}, "outputs": {}}}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def _written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def wind(path: Path, days: int = 20, zone: str = "+01:00") -> Path:
    """Windpowerlib's layout: a column for each variable and height; wind of 0 to 26 m/s at 80 m, less at 10 m."""
    lines = ["variable_name,pressure,temperature,wind_speed,roughness_length,wind_speed", "height,0,2,10,0,80"]
    for hour in range(24 * days):
        at = FIRST + timedelta(hours=hour)
        speed = 13 + 13 * math.sin(hour / 7) * math.cos(hour / 31)
        lines.append(f"{at:%Y-%m-%d %H:%M:%S}{zone},98405.7,267.6,{speed * 0.6:.5f},0.15,{speed:.5f}")
    return _written(path, lines)
