"""Rounds happen at the same instant everywhere: each site's sun and wind are at its own longitude."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pvlib.solarposition import get_solarposition

from ehfl.energy import Sun, Wind
from ehfl.validation import InvalidValue
from made_weather import epw, wind

BERLIN, SYDNEY = (52.52, 13.41), (-33.87, 151.21)
YEAR = 8760


def heights(place: tuple[float, float], zone: int) -> np.ndarray:
    """Return the sine of the sun's height in the middle of each hour of 2019 by a clock so far ahead of UTC."""
    hours = pd.date_range("2019-01-01 00:30", periods=YEAR, freq="h", tz=f"Etc/GMT{-zone:+d}")
    height: np.ndarray = np.sin(np.radians(get_solarposition(hours, *place)["elevation"].to_numpy()))
    return height


def sunny_site(path: Path, place: tuple[float, float], zone: int) -> Path:
    local = heights(place, zone)
    return epw(path, 365, zone, place, datetime(2019, 1, 1), lambda hour: round(1000 * max(local[int(hour)], 0.0)))


def test_berlin_and_sydney_are_both_dark_in_an_eighth_of_the_hours(tmp_path: Path) -> None:
    sites = [sunny_site(tmp_path / "berlin.epw", BERLIN, 1), sunny_site(tmp_path / "sydney.epw", SYDNEY, 10)]
    power = Sun(1, site=sites, tilt=0, weather="typical").watts(0, range(YEAR), range(2), 3600)
    in_berlin = [heights(BERLIN, 1), heights(SYDNEY, 1)]  # both by Berlin's clock, as the rounds
    truly = np.mean((in_berlin[0] <= 0) & (in_berlin[1] <= 0))

    both_dark = np.mean((power < 1e-3).all(axis=1))
    assert truly == pytest.approx(0.12, abs=0.005)
    assert both_dark == pytest.approx(truly, abs=0.01)
    for client in range(2):
        assert np.corrcoef(power[:, client], np.maximum(in_berlin[client], 0))[0, 1] > 0.97  # cells lose power in heat


def test_the_first_site_sets_the_clock(tmp_path: Path) -> None:
    east, west = (
        epw(tmp_path / f"{zone}.epw", zone=zone, place=(10.0, 15.0 * zone), first=datetime(2019, 3, 20))
        for zone in (9, -3)
    )
    eastern = Sun(1, site=[east, west], tilt=0, weather="typical").watts(0, range(48), range(2), 3600)
    western = Sun(1, site=[west, east], tilt=0, weather="typical").watts(0, range(48), range(2), 3600)

    # Half a day apart: each site has its sun from six to six by its own clock, and exactly one of them at any time.
    by_day = np.arange(48) % 24 // 6 % 3 > 0
    assert ((eastern[:, 0] > 0) == by_day).all()
    assert ((eastern[:, 1] > 0) == ~by_day).all()
    assert ((western[:, 0] > 0) == by_day).all()
    assert ((western[:, 1] > 0) == ~by_day).all()


def test_a_single_site_or_one_clock_keeps_its_numbers(tmp_path: Path) -> None:
    path = epw(tmp_path / "a.epw")
    alone = Sun(1, site=path, variation=0.5).watts(3, range(100), range(4), 3600)

    assert (Sun(1, site=[path, path], variation=0.5).watts(3, range(100), range(4), 3600) == alone).all()


def test_the_day_before_begins_with_the_year(tmp_path: Path) -> None:
    """Alaska is four hours behind North Carolina: at the start of its January 1 it is still December 31 there."""
    both = Sun(1, site=["north-carolina", "alaska"], variation=0.3, start="01-01")
    alaska = Sun(1, site="alaska", weather="typical", start="12-31").watts(0, range(20, 44), range(1), 3600)
    power = both.watts(0, range(24), range(2), 3600)[:, 1]
    typical = Sun(1, site=["north-carolina", "alaska"], weather="typical").watts(0, range(24), range(2), 3600)

    assert typical[:, 1] == pytest.approx(alaska[:, 0])
    assert np.isfinite(power).all()
    assert (power[:4] == 0).all()


def test_wind_of_two_zones_blows_at_one_time(tmp_path: Path) -> None:
    here, there = wind(tmp_path / "here.csv"), wind(tmp_path / "there.csv", zone="+04:00")
    power = Wind(1, site=[here, there], weather="recorded").watts(0, range(100), range(2), 3600)

    assert (power[:97, 1] == power[3:, 0]).all()


def test_sites_must_have_the_day_of_the_first(tmp_path: Path) -> None:
    july, may = epw(tmp_path / "july.epw"), epw(tmp_path / "may.epw", first=datetime(2019, 5, 1))

    with pytest.raises(InvalidValue, match="start must be a day of the weather, 05-01 to 05-03, or first, got 07-01"):
        Sun(1, site=[july, may])
