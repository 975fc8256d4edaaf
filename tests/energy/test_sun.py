"""Sun: a known panel-year against pvlib itself, limiting cases, rounds of any length, clients under one sky."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ehfl.energy.weather.calendar import DAY
from ehfl.energy.weather.sky import BLOCK, REACH, shift_of
from ehfl.energy.weather.sun import Sun
from made_weather import epw

HOUR = 3600.0
YEAR = range(8760)


def by_pvlib(name: str, tilt: float, azimuth: float) -> NDArray[np.float64]:
    """Return the power of a panel of 1 W in each hour of a bundled TMY3 year, as pvlib's documentation computes it."""
    import pandas as pd
    import pvlib

    with warnings.catch_warnings():  # of pandas, about pvlib
        warnings.simplefilter("ignore")
        data, place = pvlib.iotools.read_tmy3(Path(pvlib.__file__).parent / "data" / name, coerce_year=1990)
        times = data.index - pd.Timedelta("30min")  # stamps end the hour
        site = pvlib.location.Location(place["latitude"], place["longitude"], altitude=place["altitude"])
        sun = site.get_solarposition(times).set_index(data.index)
        extra = pvlib.irradiance.get_extra_radiation(times)
        extra.index = data.index
        light = pvlib.irradiance.get_total_irradiance(
            tilt, azimuth, sun.apparent_zenith, sun.azimuth, data.dni, data.ghi, data.dhi, extra, albedo=0.2,
            model="haydavies",
        ).poa_global  # fmt: skip
        mounting = pvlib.temperature.TEMPERATURE_MODEL_PARAMETERS["sapm"]["open_rack_glass_polymer"]
        heat = pvlib.temperature.sapm_cell(light, data.temp_air, data.wind_speed, **mounting)
        power: NDArray[np.float64] = pvlib.pvsystem.pvwatts_dc(light, heat, 1.0, -0.004).to_numpy()
    return power


@pytest.mark.parametrize(
    ("site", "file", "tilt", "azimuth"),
    [("north-carolina", "723170TYA.CSV", 36.1, 180.0), ("alaska", "703165TY.csv", 20.0, 250.0)],
)
def test_a_panel_year_is_what_pvlib_says(site: str, file: str, tilt: float, azimuth: float) -> None:
    harvest = Sun(watts=5, site=site, tilt=tilt, azimuth=azimuth, losses=0.2, weather="typical")
    found = harvest.watts(0, YEAR, range(1), HOUR)[:, 0]

    expected = 5 * 0.8 * by_pvlib(file, tilt, azimuth)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert found.sum() == pytest.approx(expected.sum(), rel=1e-9)
    assert harvest.mean_watts(1)[0] == pytest.approx(expected.mean(), rel=1e-9)


def test_by_default_a_panel_is_tilted_by_the_latitude_and_looks_south() -> None:
    found = Sun(1, losses=0, weather="typical").watts(0, range(2000), range(1), HOUR)[:, 0]

    assert found == pytest.approx(by_pvlib("723170TYA.CSV", 36.1, 180.0)[:2000], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("weather", ["typical", "shuffled"])
@pytest.mark.parametrize("round_length", [300.0, 1800.0, 5400.0, 86400.0, 5 * 86400.0, 73 * 86400.0])
def test_the_energy_of_a_year_does_not_depend_on_the_length_of_rounds(round_length: float, weather: Any) -> None:
    harvest = Sun([2, 3], shading=0.2, variation=0.5, weather=weather)
    rounds = range(round(365 * DAY / round_length))
    energy = harvest.watts(7, rounds, range(2), round_length).sum(axis=0) * round_length

    hourly = harvest.watts(7, YEAR, range(2), HOUR).sum(axis=0) * HOUR
    assert energy == pytest.approx(hourly, rel=1e-11)


def test_a_round_that_begins_and_ends_within_hours_gets_its_share_of_each() -> None:
    hours = (harvest := Sun(1, weather="typical")).watts(0, range(24), range(1), HOUR)[:, 0]
    found = harvest.watts(0, range(7, 8), range(1), 1.6 * HOUR)[0, 0]  # from 11.2 to 12.8 hours

    assert found == pytest.approx((0.8 * hours[11] + 0.8 * hours[12]) / 1.6, rel=1e-12)


def test_a_year_follows_the_last_and_is_the_same_where_it_is_typical() -> None:
    harvest = Sun(1, weather="typical")

    assert np.array_equal(harvest.watts(0, YEAR, range(1), HOUR), harvest.watts(5, range(8760, 17520), range(1), HOUR))


def test_nights_are_dark_and_no_power_is_negative() -> None:
    power = Sun(1, site=["north-carolina", "alaska", "florida"], variation=1).watts(3, YEAR, range(6), HOUR)
    by_hour = power.reshape(365, 24, 6)

    assert power.min() == 0
    assert not by_hour[:, :4, [0, 2, 3, 5]].any()  # from midnight to four, in local standard time
    assert not by_hour[:, 4:8, [1, 4]].any()  # which is four hours later in Alaska
    assert not by_hour[:, 23, [0, 2, 3, 5]].any()
    assert (by_hour[:, 12, [0, 2]].mean(axis=0) > 0.2).all()
    assert by_hour[:, 16, 1].mean() > 0.2


def test_the_day_is_longer_in_june_and_noon_is_near_twelve() -> None:
    by_hour = Sun(1, weather="typical", tilt=0).watts(0, YEAR, range(1), HOUR)[:, 0].reshape(365, 24)
    lit = (by_hour > 0).sum(axis=1)
    centre = (by_hour * (np.arange(24) + 0.5)).sum() / by_hour.sum()

    assert lit[172] - lit[355] >= 4
    assert abs(centre - 12.33) < 0.2  # Greensboro lies 5 degrees, 20 minutes, west of the meridian of its time zone


def test_facing_south_beats_facing_north_and_flat_panels_look_nowhere() -> None:
    south, east, north = (Sun(1, azimuth=azimuth).mean_watts(1)[0] for azimuth in (180, 90, 0))
    flat = [Sun(1, tilt=0, azimuth=azimuth).mean_watts(1)[0] for azimuth in (0, 90, 180)]

    assert south > east > north > 0
    assert flat == pytest.approx([flat[0]] * 3, rel=1e-12)
    assert north < flat[0] < south


def test_losses_and_panels_scale_and_shading_spreads_evenly() -> None:
    full = Sun(1, losses=0).mean_watts(1)[0]

    assert Sun(1, losses=1).mean_watts(1)[0] == 0
    assert Sun([2, 4], losses=0.5).mean_watts(2) == pytest.approx([full, 2 * full])
    shares = Sun(1, losses=0, shading=0.4).mean_watts(1000) / full
    assert (shares.min(), shares.max()) == pytest.approx((0.6, 1.0), abs=0.002)
    assert np.sort(shares) == pytest.approx(np.linspace(0.6, 1, 1000), abs=0.002)


def test_clients_are_spread_over_sites_and_directions() -> None:
    spread = Sun(1, site=["north-carolina", "alaska"], azimuth_spread=90, weather="typical")
    power = spread.watts(0, range(3984, 4704), range(40), HOUR)

    assert np.array_equal(power[:, 0], power[:, 16])  # 2 sites, 8 directions
    assert len({column.tobytes() for column in power.T}) == 16
    east, west = (power[:, client].reshape(30, 24) for client in (0, 14))  # in the same place
    assert east[:, :12].sum() > 1.2 * west[:, :12].sum()
    assert west[:, 12:].sum() > 1.2 * east[:, 12:].sum()
    middle = Sun(1, azimuth=180 - 90 * 7 / 8, weather="typical")
    assert spread.mean_watts(40)[0] == pytest.approx(middle.mean_watts(1)[0], rel=1e-12)


# chance


def test_any_part_computed_alone_is_that_part_of_the_whole_to_the_bit() -> None:
    harvest = Sun(
        np.linspace(1, 2, 50), site=["alaska", "north-carolina"], azimuth_spread=45, shading=0.3, variation=0.4
    )
    for length in (HOUR, 5000.0, 3.3 * DAY):
        whole = harvest.watts(11, range(60), range(50), length)
        for rounds, clients in ((range(13, 14), range(7, 8)), (range(20, 60), range(50)), (range(60), range(49, 50)),
                                (range(3, 50, 7), range(1, 40, 3))):  # fmt: skip
            harvest.watts(12, rounds, clients, length)
            part = harvest.watts(11, rounds, clients, length)
            assert np.array_equal(part, whole[np.ix_(rounds, clients)])


def test_seeds_are_other_weather_and_the_typical_year_is_the_same_under_all() -> None:
    days = range(365)
    shuffled, typical = (Sun(1, weather=weather) for weather in ("shuffled", "typical"))

    assert np.array_equal(typical.watts(0, days, range(1), DAY), typical.watts(1, days, range(1), DAY))
    one, other = (shuffled.watts(seed, days, range(1), DAY)[:, 0] for seed in (0, 1))
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, shuffled.watts(0, range(365, 730), range(1), DAY)[:, 0])  # nor is the next year
    table = typical.watts(0, days, range(1), DAY)[:, 0]
    taken = [table[(day + shift_of(0, day // BLOCK)) % 365] for day in days]
    assert one == pytest.approx(taken, rel=1e-12)
    assert max(abs(shift_of(0, block)) for block in range(500)) == REACH


def test_shuffled_years_keep_the_typical_years_energy_and_season() -> None:
    """A year's energy is a sum of 53 blocks that are drawn; its spread over 60 seeds tells the error of their mean."""
    harvest = Sun(1)
    years = np.stack([harvest.watts(seed, range(365), range(1), DAY)[:, 0] for seed in range(60)])
    typical = Sun(1, weather="typical").watts(0, range(365), range(1), DAY)[:, 0]

    yearly = years.mean(axis=1)
    assert abs(yearly.mean() - harvest.mean_watts(1)[0]) < 5 * yearly.std() / math.sqrt(60)
    assert 0 < yearly.std() < 0.05 * yearly.mean()
    for month in range(12):
        part = slice(30 * month, 30 * month + 30)
        assert years[:, part].mean() == pytest.approx(typical[part].mean(), rel=0.25)


def test_clients_under_one_sky_share_its_weather_times_a_factor_of_their_own() -> None:
    """The factor f is uniform in 1 - v .. 1 + v with variance v^2 / 3, the same all day and independent of the sky s.

    So the correlation of two clients is Var s / (Var s + E[s^2] v^2 / 3), and that of a sample of n has a standard
    deviation of about 1 / sqrt(n).
    """
    days = Sun(1, variation=0.3).watts(5, range(365), range(200), DAY)
    shared = Sun(1).watts(5, range(365), range(1), DAY)
    factors = days / shared

    together = shared.var() / (shared.var() + (shared**2).mean() * 0.3**2 / 3)
    assert together > 0.7
    assert abs(np.corrcoef(days[:, 0], days[:, 1])[0, 1] - together) < 5 / math.sqrt(365)
    assert abs(np.corrcoef(factors[:, 0], factors[:, 1])[0, 1]) < 5 / math.sqrt(365)
    assert (factors.min() >= 0.7, factors.max() <= 1.3) == (True, True)
    assert abs(factors.mean() - 1) < 5 * 0.3 / math.sqrt(3 * factors.size)
    assert factors.std() == pytest.approx(0.3 / math.sqrt(3), rel=0.02)
    hours = Sun(1, variation=0.3).watts(5, range(240), range(3), HOUR)
    lit = hours[:, 0] > 0
    ratio = (hours[lit] / Sun(1).watts(5, range(240), range(1), HOUR)[lit])[:, 2]
    assert len(set(np.round(ratio, 9))) == 10  # days


def test_what_is_expected_is_the_season_at_that_hour_and_comes_to_the_mean() -> None:
    harvest = Sun([1, 3], shading=0.5, variation=0.2)
    ahead = harvest.expected(YEAR, range(2), HOUR)
    typical = Sun([1, 3], shading=0.5, weather="typical").watts(0, YEAR, range(2), HOUR)

    by_hour = typical.reshape(365, 24, 2)
    around = np.concatenate([by_hour[200 - 15 : 200 + 16]]).mean(axis=0)
    assert ahead.reshape(365, 24, 2)[200] == pytest.approx(around, rel=1e-9, abs=1e-12)
    assert ahead.mean(axis=0) == pytest.approx(harvest.mean_watts(2), rel=1e-9)


def test_rounds_begin_at_the_day_that_start_names() -> None:
    year = Sun(1, weather="typical").watts(0, YEAR, range(1), HOUR)
    july = Sun(1, weather="typical", start="07-01")

    assert july.first_day == 181
    assert july.watts(0, range(48), range(1), HOUR) == pytest.approx(year[181 * 24 :][:48], rel=1e-9, abs=1e-12)


# bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"watts": -1}, r"watts must be in \[0, 1e\+09\], got -1"),
        ({"watts": [1, math.nan]}, "watts must be in .*, got nan for client 1"),
        ({"tilt": 190}, r"tilt must be a number in \[0, 180\], got 190"),
        ({"tilt": "steep"}, r"tilt must be a number in \[0, 180\], got 'steep'"),
        ({"tilt": "file"}, "tilt must be latitude or degrees where the site's file has no plane of its own, got file"),
        ({"azimuth": "south"}, r"azimuth must be a number in \[-360, 360\], got 'south'"),
        ({"azimuth_spread": 200}, r"azimuth_spread must be a number in \[0, 180\], got 200"),
        ({"losses": 1.1}, r"losses must be a number in \[0, 1\], got 1.1"),
        ({"shading": -0.1}, r"shading must be a number in \[0, 1\], got -0.1"),
        ({"variation": 2}, r"variation must be a number in \[0, 1\], got 2"),
        ({"weather": "sunny"}, "weather must be shuffled or typical, got 'sunny'"),
        ({"start": "02-29"}, r"start must be a day of the year as MM-DD \(there is no 02-29\), or first, got '02-29'"),
        ({"start": "1-1"}, "start must be a day of the year as MM-DD"),
        ({"temperature_coefficient": 0.4}, r"temperature_coefficient must be a number in \[-0.01, 0\], got 0.4"),
        ({"site": []}, r"site must be a name, a path, or a list of these, got \[\]"),
        ({"site": "mars"}, r"site must be north-carolina, .* got mars \(No such file or directory\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sun(**{"watts": 1} | given)


def test_another_number_of_panels_than_clients_is_refused() -> None:
    with pytest.raises(ValueError, match=r"watts must be one number or one per client \(3\), got a list of 2"):
        Sun([1, 2]).mean_watts(3)


def test_clients_are_named_by_their_sites_in_turn() -> None:
    harvest = Sun(watts=1, site=["north-carolina", "alaska"])

    assert harvest.site_names(3) == ["north-carolina", "alaska", "north-carolina"]


def test_nothing_is_charged_in_the_cold(tmp_path: Path) -> None:
    site = epw(tmp_path / "a.epw")  # always at 20 C
    limits = (None, 20.0, 20.1)
    power = [Sun(1, site=site, charge_above=at).watts(0, range(24), range(1), HOUR).sum() for at in limits]
    alaska = [
        Sun(1, site="alaska", weather="typical", charge_above=at).mean_watts(1)[0] for at in (None, -5.0, 0.0, 65.0)
    ]

    assert power[0] == power[1] > power[2] == 0
    assert alaska[0] > alaska[1] > alaska[2] > alaska[3] == 0
