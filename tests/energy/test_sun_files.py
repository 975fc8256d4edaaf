"""Weather files for the sun: every format gives the same sun, at the right hour; what is wrong with one is one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import made_weather as layouts
from ehfl.energy.weather.sun import Sun
from ehfl.energy.weather.sun_files import sun_weather

HOUR = 3600.0


@pytest.mark.parametrize(
    "written",
    [layouts.tmy3, layouts.epw, layouts.nsrdb, layouts.pvgis_hourly, layouts.pvgis_typical, layouts.pvgis_json],
)
def test_every_format_has_the_same_sun_in_local_standard_time(tmp_path: Path, written: Callable[[Path], Path]) -> None:
    weather = sun_weather(written(tmp_path / "weather"))
    name = "ghi" if "ghi" in weather.series else "plane"
    by_day = weather.days.of(weather.series[name])

    assert (weather.latitude, weather.longitude, weather.altitude) == (36.1, -79.95, 273)
    assert by_day.shape[1] == 24
    assert by_day.sum(axis=1) == pytest.approx([by_day[0].sum()] * len(by_day))
    middles = (np.arange(24) + 0.5) * HOUR - weather.days.early
    expected = [layouts.light(middle / HOUR) for middle in middles]
    assert by_day[-1] == pytest.approx(expected, abs=0.51)  # the last day has what came before the first midnight
    assert (weather.series["temp_air"] == 20).all()
    assert (weather.series["wind_speed"] == 2).all()


@pytest.mark.parametrize(
    ("written", "tilt"),
    [(layouts.tmy3, 30), (layouts.epw, 30), (layouts.nsrdb, 30), (layouts.pvgis_typical, 30),
     (layouts.pvgis_hourly, "file"), (layouts.pvgis_json, "file")],
)  # fmt: skip
def test_a_panel_under_any_of_them_peaks_at_noon(
    tmp_path: Path, written: Callable[[Path], Path], tilt: float | str
) -> None:
    harvest = Sun(1, site=written(tmp_path / "weather"), tilt=tilt, weather="typical", start="first")  # type: ignore[arg-type]
    power = harvest.watts(0, range(48), range(1), HOUR)[:, 0].reshape(2, 24)

    assert not power[:, :5].any()
    assert not power[:, 20:].any()
    centre = (power * (np.arange(24) + 0.5)).sum() / power.sum()
    assert abs(centre - 12) < 0.5


def test_a_file_of_less_than_a_year_is_repeated_and_begins_with_its_first_day(tmp_path: Path) -> None:
    harvest = Sun(1, site=str(layouts.epw(tmp_path / "three.epw", days=3)), weather="typical")
    days = harvest.watts(0, range(7), range(1), 86400.0)[:, 0]

    assert harvest.first_day == 181  # July 1
    assert np.array_equal(days[3:], days[:4])
    assert Sun(1, site=tmp_path / "three.epw", start="07-03").first_day == 183
    with pytest.raises(ValueError, match="start must be a day of the weather, 07-01 to 07-03, or first, got 07-04"):
        Sun(1, site=tmp_path / "three.epw", start="07-04")


def test_half_hours_are_read_as_such(tmp_path: Path) -> None:
    power = Sun(1, site=layouts.nsrdb(tmp_path / "half.csv", minutes=30), weather="typical").watts(
        0, range(144), range(1), 1800.0
    )

    assert len(np.unique(power[:48])) > 24


def test_a_flat_plane_of_pvgis_is_turned_to_any_tilt_and_others_are_not(tmp_path: Path) -> None:
    flat = layouts.pvgis_hourly(tmp_path / "flat.csv", slope=0)
    steep = layouts.pvgis_hourly(tmp_path / "steep.csv", slope=35)

    lying, own = (Sun(1, site=flat, tilt=tilt).mean_watts(1)[0] for tilt in (0, "file"))
    assert lying == pytest.approx(own, rel=0.06)  # the sun's height in this file is not quite that of July
    assert Sun(1, site=flat, tilt=80).mean_watts(1)[0] < 0.8 * own
    with pytest.raises(
        ValueError, match="tilt must be file where the site's file has irradiance in a plane of its own"
    ):
        Sun(1, site=steep)


def test_south_of_the_equator_panels_look_north_by_themselves(tmp_path: Path) -> None:
    path = layouts.epw(tmp_path / "south.epw")
    path.write_text(path.read_text().replace("36.10,", "-36.10,"))

    assert Sun(1, site=path).mean_watts(1) == Sun(1, site=path, azimuth=0).mean_watts(1)
    assert Sun(1, site=path).mean_watts(1) > Sun(1, site=path, azimuth=180).mean_watts(1)


def test_february_29_is_left_out(tmp_path: Path) -> None:
    path = layouts.nsrdb(tmp_path / "leap.csv", days=3)
    for day, (month, new) in enumerate(((2, 28), (2, 29), (3, 1)), start=1):
        path.write_text(path.read_text().replace(f"2019,7,{day},", f"2020,{month},{new},"))

    assert sun_weather(path).days.rows.shape == (2, 24)


def edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def test_a_gap_is_named(tmp_path: Path) -> None:
    path = layouts.nsrdb(tmp_path / "gap.csv")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:20], *lines[21:], ""]))

    with pytest.raises(ValueError, match=r"gap\.csv \(a gap between 2019-07-01T16:00:00 and 2019-07-01T18:00:00\)"):
        Sun(1, site=path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2019,7,1,12,30,", "2019,7,1,12,30,-5,800,800,20,2\n2019,7,1,12,30,", "rows out of order|a gap"),
        (",793,793,20.0", ",-793,793,20.0", r"dni must be in \[0, 2000\], and is -793 at 2019-07-01 11:30:00-05:00"),
        (",793,793,20.0", ",793,9999,20.0", r"ghi must be in \[0, 2000\], and is 9999"),
        (",793,793,20.0", ",793,,20.0", r"ghi must be in \[0, 2000\], and is nan"),
        (",793,793,20.0", ",793,793,99.9", r"temp_air must be in \[-95, 65\], and is 99.9"),
        (",793,793,20.0", ",793,many,20.0", "many"),
        ("-5,273,-5", "east,273,-5", "east"),
        ("Source,Location ID", "Sauce", "its first lines are of no format that is known"),
        ("DHI,DNI,GHI", "A,B,C", "no dhi, dni, ghi"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = edited(layouts.nsrdb(tmp_path / "wrong.csv"), old, new)

    with pytest.raises(ValueError, match=rf"site must be .*, got .*wrong\.csv \(.*({message})") as caught:
        Sun(1, site=path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["", "\n", "LOCATION,", "{}", "Latitude (decimal degrees): x\n", "\0\0\0", "1,2\n3,4\n"]
)
def test_a_file_of_something_else_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "other.csv").write_text(content)

    with pytest.raises(ValueError, match=r"site must be .*, got .*other\.csv \(.+\)") as caught:
        Sun(1, site=tmp_path / "other.csv")
    assert "\n" not in str(caught.value)


def test_rows_that_are_no_whole_days_are_refused(tmp_path: Path) -> None:
    path = layouts.nsrdb(tmp_path / "part.csv")
    path.write_text("\n".join([*path.read_text().splitlines()[:-5], ""]))

    with pytest.raises(ValueError, match=r"part\.csv \(67 steps of 3600 s are no whole days\)"):
        Sun(1, site=path)


def test_a_folder_is_no_weather(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"site must be .* \(Is a directory\)"):
        Sun(1, site=tmp_path)
