"""What a panel makes of the weather, by pvlib: the sun's place, light on the panel, the cells' heat, power."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.quiet import quiet
from ehfl.energy.sun_weather import SunWeather
from ehfl.validation import InvalidValue

ALBEDO = 0.2  # share of light that the ground reflects
MOUNTING = "open_rack_glass_polymer"  # of pvlib's parameters for the cells' temperature


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
