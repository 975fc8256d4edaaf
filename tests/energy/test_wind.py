"""Wind: turbines against windpowerlib itself, the cubic curve by hand, and bad input in one line."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import made_weather as layouts
from ehfl.energy.weather.wind import Wind, cubic_share

HOUR = 3600.0
REAL = Path("/work/shared/data/energy/wind_weather_2010_hourly.csv")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return layouts.wind(tmp_path / "wind.csv")


def by_windpowerlib(path: Path, turbine: str, hub_height: float, model: str) -> NDArray[np.float64]:
    """Return the share of its nominal power that a turbine makes in each hour, by windpowerlib's chain of models."""
    import pandas as pd
    from windpowerlib import ModelChain, WindTurbine

    weather = pd.read_csv(path, index_col=0, header=[0, 1])
    weather.columns = weather.columns.set_levels([float(height) for height in weather.columns.levels[1]], level=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = WindTurbine(turbine_type=turbine, hub_height=hub_height)
        chain = ModelChain(made, wind_speed_model=model, density_correction=False).run_model(weather)
    share: NDArray[np.float64] = chain.power_output.to_numpy() / made.nominal_power
    return share


@pytest.mark.parametrize("profile", ["logarithmic", "hellman"])
def test_a_known_turbine_makes_what_windpowerlib_says(site: Path, profile: Any) -> None:
    harvest = Wind(watts=3, site=site, turbine="E-126/4200", hub_height=135, profile=profile, weather="recorded")
    found = harvest.watts(0, range(480), range(1), HOUR)[:, 0]

    expected = 3 * by_windpowerlib(site, "E-126/4200", 135, profile)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert found.max() == pytest.approx(3)
    assert harvest.mean_watts(1)[0] == pytest.approx(expected.mean(), rel=1e-9)


@pytest.mark.skipif(not REAL.exists(), reason="the recorded year is not on this machine")
def test_a_recorded_year_makes_what_windpowerlib_says() -> None:
    harvest = Wind(watts=1, site=REAL, turbine="V90/2000", hub_height=90, weather="recorded", start="01-01")
    found = harvest.watts(0, range(8760), range(1), HOUR)[:, 0]

    assert found == pytest.approx(by_windpowerlib(REAL, "V90/2000", 90, "logarithmic"), rel=1e-9, abs=1e-12)


def test_the_cubic_curve_by_hand() -> None:
    speeds = np.array([0.0, 2.99, 3.0, 6.0, 12.0, 24.99, 25.0, 40.0])

    found = cubic_share(speeds, cut_in=3, rated_speed=12, cut_out=25)
    assert found == pytest.approx([0, 0, 0, (216 - 27) / (1728 - 27), 1, 1, 0, 0])


def test_a_small_turbine_at_the_height_of_the_data_sees_their_wind(site: Path) -> None:
    found = Wind(watts=10, site=site, losses=0.1, weather="recorded").watts(0, range(480), range(1), HOUR)[:, 0]

    speeds = np.array([float(line.split(",")[3]) for line in site.read_text().splitlines()[2:]])
    assert found == pytest.approx(9 * cubic_share(speeds, 3, 12, 25), rel=1e-9, abs=1e-12)


def test_the_wind_is_stronger_higher_up(site: Path) -> None:
    low, high = (Wind(1, site, hub_height=height, cut_out=100).mean_watts(1)[0] for height in (5, 30))

    assert 0 < low < high


def test_rounds_of_any_length_have_the_same_energy_and_parts_are_parts(site: Path) -> None:
    harvest = Wind([1, 2, 3], site, shading=0.2, variation=0.3)
    hourly = harvest.watts(3, range(480), range(3), HOUR)

    assert harvest.watts(3, range(20), range(3), 24 * HOUR).sum(axis=0) * 24 == pytest.approx(hourly.sum(axis=0))
    assert np.array_equal(harvest.watts(3, range(100, 110), range(1, 3), HOUR), hourly[100:110, 1:])
    assert not np.array_equal(harvest.watts(4, range(480), range(3), HOUR), hourly)


def test_expected_and_means_agree(site: Path) -> None:
    harvest = Wind([1, 2], [site, site], shading=0.3)

    assert harvest.expected(range(480), range(2), HOUR).mean(axis=0) == pytest.approx(harvest.mean_watts(2))
    assert harvest.first_day == 181


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"watts": -1}, r"watts must be in \[0, 1e\+09\], got -1"),
        ({"hub_height": 0}, r"hub_height must be a number in \(0, 500\], got 0"),
        ({"rated_speed": 30}, "rated_speed must be between cut_in 3 and cut_out 25, got 30"),
        ({"cut_in": 12}, "rated_speed must be between cut_in 12 and cut_out 25, got 12"),
        ({"profile": "flat"}, "profile must be logarithmic or hellman, got 'flat'"),
        ({"weather": "typical"}, "weather must be shuffled or recorded, got 'typical'"),
        ({"turbine": "E-126/420"}, r"turbine must be cubic or a type .* got E-126/420 \(did you mean E-126/4200\?\)"),
        ({"turbine": "E-126/4200"}, "hub_height must be more than half of the rotor's diameter of E-126/4200, got 10"),
        ({"hub_height": 0.1}, "hub_height must be above the roughness_length of the weather"),
        ({"start": "08-01"}, "start must be a day of the weather, 07-01 to 07-20, or first, got 08-01"),
        ({"site": "nowhere.csv"}, r"site must be a weather file .* got nowhere.csv \(No such file or directory\)"),
    ],
)
def test_what_cannot_be_is_refused(site: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        Wind(**dict[str, Any](watts=1, site=site) | given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2019-07-01 03:00:00+01:00", "2019-07-01 03:00:00+02:00", "rows out of order"),
        ("2019-07-01 03:00:00+01:00", "2019-07-01 03:00:00", "no time zone in 2019-07-01 03:00:00"),
        ("2019-07-01 03:00:00+01:00", "2019-07-01 03:20:00+01:00", "a gap between 2019-07-01T02:00:00 and"),
        ("2019-07-01 03:00:00+01:00", "yesterday", "yesterday"),
        (",0.15,13.0", ",0.15,-13.0", r"wind_speed must be in \[0, 120\], and is -13 at 2019-07-01 00:00:00\+01:00"),
        (",0.15,13.00000", ",0.15,", r"wind_speed must be in \[0, 120\], and is nan"),
        ("wind_speed", "speed", "wind_speed"),
        ("height,0,2,10,0,80", "height,a,b,c,d,e", "a"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(site: Path, old: str, new: str, message: str) -> None:
    text = site.read_text()
    assert old in text
    site.write_text(text.replace(old, new) if old == "wind_speed" else text.replace(old, new, 1))

    with pytest.raises(ValueError, match=rf"site must be .* got .*wind\.csv \(.*({message})") as caught:
        Wind(1, site)
    assert "\n" not in str(caught.value)


def test_summer_time_is_understood(site: Path) -> None:
    lines = site.read_text().splitlines()
    summer = [line.replace("+01:00", "+02:00").replace(f" {hour:02d}:", f" {hour + 1:02d}:", 1)
              for hour, line in enumerate(lines[50:60])]  # fmt: skip
    before = Wind(1, site, weather="recorded").watts(0, range(480), range(1), HOUR)
    assert lines[50].startswith("2019-07-03 00:00")
    site.write_text("\n".join([*lines[:50], *summer, *lines[60:], ""]))

    assert np.array_equal(Wind(1, site, weather="recorded").watts(0, range(480), range(1), HOUR), before)


def test_without_a_roughness_the_profile_must_be_hellmans(site: Path) -> None:
    site.write_text(site.read_text().replace("roughness_length", "albedo"))

    with pytest.raises(ValueError, match="profile must be hellman where the weather has no roughness_length"):
        Wind(1, site)
    assert Wind(1, site, profile="hellman").mean_watts(1) > 0


def test_a_missing_extra_names_the_command(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("windpowerlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "windpowerlib", None)

    with pytest.raises(ValueError, match=r"a harvest from the wind needs windpowerlib: pip install 'ehfl\[wind\]'"):
        Wind(1, site)
