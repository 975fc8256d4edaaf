"""Solar power: panels in the weather of typical years or of files, computed by pvlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.contract import RatedWatts
from ehfl.energy.weather.calendar import quiet
from ehfl.energy.weather.sky import WATTS, UnderSkies
from ehfl.validation import InvalidValue, is_word, number_in

if TYPE_CHECKING:
    from ehfl.energy.weather.sun_files import SunWeather

ALBEDO = 0.2  # share of light that the ground reflects
MOUNTING = "open_rack_glass_polymer"  # of pvlib's parameters for the cells' temperature
_DIRECTIONS = 8  # that clients look into where `azimuth_spread` spreads them: pvlib is asked once for each


@dataclass(frozen=True, eq=False, repr=False)
class Sun(UnderSkies):
    """P_i(t) = watts_i (1 - losses) (1 - shading u_i) f_i(day) share(t): power of panels under a site's weather [W].

    share(t) is the power of a panel of one watt in this weather (`panel_power`), constant in each step of the file; the
    mean power of a round is its exact integral. f_i(day) is uniform in 1 - variation .. 1 + variation, u_i even in
    [0, 1). docs/energy.md ("Sun") has every parameter, the references, and where the model is wrong.

    >>> harvest = Sun(watts=2, weather="typical")
    >>> day = harvest.watts(seed=0, rounds=range(24), clients=range(1), round_length=3600)[:, 0]
    >>> float(day[0]), round(float(day[12]), 3), round(float(harvest.mean_watts(1)[0]), 3)
    (0.0, 0.256, 0.328)
    """

    watts: RatedWatts = WATTS  # power at 1,000 W/m^2 and 25 C, one or one per client
    site: str | Path | Sequence[str | Path] = "north-carolina"  # clients are spread over several
    tilt: float | Literal["latitude", "file"] = "latitude"  # 0 lies flat, 90 stands [degrees]
    azimuth: float | Literal["equator"] = "equator"  # 90 looks east, 180 south [degrees]
    azimuth_spread: float = 0.0  # clients look into directions up to this far from it [degrees]
    losses: float = 0.14  # share: dirt, wires, mismatch, age; PVWatts' default
    shading: float = 0.0  # share that the most shaded client loses, the least none
    variation: float = 0.0  # of each client's own factor, day by day
    weather: Literal["shuffled", "typical"] = "shuffled"  # typical: the file's own year, again and again
    start: str = "first"  # day of the year, MM-DD, at whose midnight at the first site round 0 begins
    temperature_coefficient: float = -0.004  # of the power [1/K]
    charge_above: float | None = None  # air temperature below which nothing is charged, as lithium cells must not [C]

    def __post_init__(self) -> None:
        from ehfl.energy.weather.sun_files import sun_weather

        self._check_shares("shuffled", "typical")
        if not is_word(self.tilt, "latitude", "file"):
            number_in("tilt", self.tilt, "[0, 180]")
        if not is_word(self.azimuth, "equator"):
            number_in("azimuth", self.azimuth, "[-360, 360]")
        number_in("azimuth_spread", self.azimuth_spread, "[0, 180]")
        number_in("temperature_coefficient", self.temperature_coefficient, "[-0.01, 0]")
        if self.charge_above is not None:
            number_in("charge_above", self.charge_above, "[-95, 65]")
        if self.tilt == "file" and self.azimuth_spread:
            raise InvalidValue("azimuth_spread", "0 where tilt is file", self.azimuth_spread)
        self._settle_under(sun_weather, self._tables)

    def _tables(self, weather: SunWeather) -> FloatArray:
        """Return the power of a panel of one watt for each direction, (n_directions, n_days, n_steps)."""
        towards_equator = 180.0 if weather.latitude >= 0 else 0.0
        middle = towards_equator if self.azimuth == "equator" else float(self.azimuth)
        tilt = abs(weather.latitude) if self.tilt == "latitude" else self.tilt
        n = _DIRECTIONS if self.azimuth_spread else 1
        aside = self.azimuth_spread * ((2 * np.arange(n) + 1) / n - 1)  # the middles of n equal parts of the spread
        towards = (middle + aside) % 360
        power = [panel_power(weather, tilt, float(one), float(self.temperature_coefficient)) for one in towards]
        if self.charge_above is None:
            return np.stack(power)
        return np.stack(power) * (weather.days.of(weather.series["temp_air"]) >= self.charge_above)


@lru_cache(maxsize=256)  # weather is made once a file, so the same one means the same numbers
def panel_power(weather: SunWeather, tilt: float | Literal["file"], azimuth: float, coefficient: float) -> FloatArray:
    """Return the power of a panel of one watt, before losses, in each step, shape (n_days, n_steps).

    P = G / (1000 W/m^2) * (1 + coefficient (T - 25 C)), with the light G on the panel by Hay and Davies (1980) and the
    cells' temperature T by King et al. (2004, SAND2004-3535): PVWatts' panel (Dobos 2014, NREL/TP-6A20-62641).
    """
    from pvlib import pvsystem, temperature

    with quiet():
        light = _own_plane(weather) if tilt == "file" else _light(weather, tilt, azimuth)
        mounting = temperature.TEMPERATURE_MODEL_PARAMETERS["sapm"][MOUNTING]
        heat = temperature.sapm_cell(light, weather.series["temp_air"], weather.series["wind_speed"], **mounting)
        power = np.maximum(pvsystem.pvwatts_dc(light, heat, 1.0, coefficient), 0.0)
    return weather.days.of(power)


def _own_plane(weather: SunWeather) -> FloatArray:
    if "plane" not in weather.series:
        raise InvalidValue("tilt", "latitude or degrees where the site's file has no plane of its own", "file")
    return weather.series["plane"]


def _light(weather: SunWeather, tilt: float, azimuth: float) -> FloatArray:
    """Return the irradiance on a panel [W/m^2]."""
    from pvlib import irradiance

    if "ghi" not in weather.series:
        raise InvalidValue("tilt", "file where the site's file has irradiance in a plane of its own alone", tilt)
    zenith, towards, above_air = _sun(weather)
    parts = irradiance.get_total_irradiance(
        tilt,
        azimuth,
        zenith,
        towards,
        *(weather.series[name] for name in ("dni", "ghi", "dhi")),
        dni_extra=above_air,
        albedo=ALBEDO,
        model="haydavies",
    )
    light: FloatArray = parts["poa_global"]
    return light


@lru_cache(maxsize=16)
def _sun(weather: SunWeather) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the sun's apparent zenith and azimuth [degrees], and its irradiance above the air [W/m^2]."""
    import pandas as pd
    from pvlib import irradiance, solarposition

    times = pd.DatetimeIndex(weather.instants, tz="UTC")
    sun = solarposition.get_solarposition(times, weather.latitude, weather.longitude, altitude=weather.altitude)
    above_air = irradiance.get_extra_radiation(times)
    return sun["apparent_zenith"].to_numpy(), sun["azimuth"].to_numpy(), above_air.to_numpy()
