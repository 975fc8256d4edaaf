"""Wind at the height of a turbine's hub, and what known turbines make of it, by windpowerlib."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.quiet import quiet
from ehfl.energy.wind_weather import WindWeather
from ehfl.validation import InvalidValue, UserError, closest


def hub_speed(weather: WindWeather, hub_height: float, profile: Literal["logarithmic", "hellman"]) -> FloatArray:
    """Return the wind speed at the hub [m/s], from the nearest height that the weather has.

    v = v_h ln(hub / z) / ln(h / z) with the roughness length z (logarithmic), or v = v_h (hub / h)^a with
    a = 1 / ln(hub / z), 1/7 where no z is known (hellman); windpowerlib's functions have the references.
    """
    wind_speed = _windpowerlib().wind_speed
    height = min(weather.speeds, key=lambda known: abs(known - hub_height))
    rough = weather.roughness
    if rough is None and profile == "logarithmic":
        raise InvalidValue("profile", "hellman where the weather has no roughness_length", "logarithmic")
    if rough is not None and not 0 < rough.min() <= rough.max() < min(height, hub_height):
        allowed = f"above the roughness_length of the weather ({rough.min():g} to {rough.max():g} m), which is above 0"
        raise InvalidValue("hub_height", allowed, min(height, hub_height))
    extrapolate = wind_speed.logarithmic_profile if profile == "logarithmic" else wind_speed.hellman
    speed: FloatArray = extrapolate(weather.speeds[height], height, hub_height, rough)
    return speed


def type_share(speed: FloatArray, turbine: str, hub_height: float) -> FloatArray:
    """Return the share of its nominal power that a type of windpowerlib's makes at wind speeds [m/s]."""
    known = _windpowerlib().wind_turbine
    with quiet():
        try:
            found = known.WindTurbine(hub_height=hub_height, turbine_type=turbine)
        except ValueError as error:
            raise InvalidValue(
                "hub_height", f"more than half of the rotor's diameter of {turbine}", hub_height
            ) from error
        if found.power_curve is None:
            allowed = "cubic or a type of windpowerlib's with a power curve"
            raise InvalidValue("turbine", allowed, f"{turbine}{closest(turbine, _types(known))}")
    curve = found.power_curve
    power = _windpowerlib().power_output.power_curve(speed, curve["wind_speed"], curve["value"])
    share: FloatArray = np.maximum(power / found.nominal_power, 0.0)
    return share


def _types(known: ModuleType) -> list[str]:
    """Return the types that have a power curve; windpowerlib's own list of them prints as it goes."""
    import pandas as pd

    curves = pd.read_csv(Path(str(known.__file__)).parent / "oedb" / "power_curves.csv", usecols=[0])
    return [str(one) for one in curves.iloc[:, 0]]


def _windpowerlib() -> Any:
    """Return windpowerlib, if the extra is installed."""
    try:
        import windpowerlib
        import windpowerlib.power_output
        import windpowerlib.wind_speed
        import windpowerlib.wind_turbine
    except ImportError:
        raise UserError("harvests from the wind need windpowerlib: pip install 'ehfl[wind]'") from None
    return windpowerlib
