"""Wind power: small turbines in the weather of files, computed by windpowerlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.contract import RatedWatts
from ehfl.energy.weather.calendar import Days, days_of, numbers_within, quiet, read_weather
from ehfl.energy.weather.sky import WATTS, UnderSkies
from ehfl.extras import check_extra
from ehfl.validation import InvalidValue, UserError, closest, is_word, number_in

ALLOWED = "a weather file in windpowerlib's layout, of whole days without gaps"
_FASTEST = 120  # [m/s]
_ROUGHEST = 10  # [m]


@dataclass(frozen=True, eq=False, repr=False)
class Wind(UnderSkies):
    """P_i(t) = watts_i (1 - losses) (1 - shading u_i) f_i(day) share(v(t)): power of turbines under a site's wind [W].

    share(v) is the share of its rated power that a turbine makes at a wind speed v. It is `cubic`, as the energy in the
    wind,

        (v^3 - cut_in^3) / (rated_speed^3 - cut_in^3), 1 from rated_speed, 0 below cut_in and from cut_out on

    (Lydia et al. 2014, Renewable and Sustainable Energy Reviews 30:452), or the power curve of one of windpowerlib's
    types. u_i and f_i are as in `Sun`. docs/energy.md ("Wind") has every parameter, and where the model is wrong.
    """

    watts: RatedWatts = WATTS  # rated power, one or one per client
    site: str | Path | Sequence[str | Path]  # type: ignore[misc]  # mypy takes the descriptor for a default
    # A file, or several, over which clients are spread.
    hub_height: float = 10.0  # [m]
    profile: Literal["logarithmic", "hellman"] = "logarithmic"  # of wind speed over height
    turbine: str = "cubic"  # or a type of windpowerlib's, whose curve is scaled to the rated power
    cut_in: float = 3.0  # [m/s]; these three are those of the cubic curve
    rated_speed: float = 12.0
    cut_out: float = 25.0
    losses: float = 0.0  # share: wires, wake, rest
    shading: float = 0.0  # share that the client with most in its way loses, the freest none
    variation: float = 0.0  # of each client's own factor, day by day
    weather: Literal["shuffled", "recorded"] = "shuffled"  # recorded: the file as it is, again and again
    start: str = "first"  # day of the year, MM-DD, at whose midnight at the first site round 0 begins

    def __post_init__(self) -> None:
        self._check_shares("shuffled", "recorded")
        number_in("hub_height", self.hub_height, "(0, 500]")
        number_in("cut_in", self.cut_in, "[0, 100]")
        number_in("rated_speed", self.rated_speed, "(0, 100]")
        number_in("cut_out", self.cut_out, "(0, 120]")
        if not self.cut_in < self.rated_speed < self.cut_out:
            allowed = f"between cut_in {self.cut_in:g} and cut_out {self.cut_out:g}"
            raise InvalidValue("rated_speed", allowed, self.rated_speed)
        if not is_word(self.profile, "logarithmic", "hellman"):
            raise InvalidValue("profile", "logarithmic or hellman", repr(self.profile))
        self._settle_under(wind_weather, self._table)

    def _table(self, weather: WindWeather) -> FloatArray:
        """Return the share of the rated power in each step, (1, n_days, n_steps)."""
        speed = hub_speed(weather, self.hub_height, self.profile)
        if self.turbine == "cubic":
            share = cubic_share(speed, self.cut_in, self.rated_speed, self.cut_out)
        else:
            share = type_share(speed, self.turbine, self.hub_height)
        return weather.days.of(share)[None]


def cubic_share(speed: FloatArray, cut_in: float, rated_speed: float, cut_out: float) -> FloatArray:
    """Return the share of its rated power that a turbine makes at wind speeds [m/s].

    >>> cubic_share(np.array([2.0, 3.0, 12.0, 20.0, 25.0]), 3, 12, 25).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    """
    rising = np.clip((speed**3 - cut_in**3) / (rated_speed**3 - cut_in**3), 0, 1)
    return np.where(speed < cut_out, rising, 0.0)


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
    """Return the share of nominal power of a windpowerlib turbine type at wind speeds [m/s]."""
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
    """Return the types that have a power curve; windpowerlib's own function for this prints to stdout."""
    import pandas as pd

    curves = pd.read_csv(Path(str(known.__file__)).parent / "oedb" / "power_curves.csv", usecols=[0])
    return [str(one) for one in curves.iloc[:, 0]]


def _windpowerlib() -> Any:
    check_extra("wind")
    import windpowerlib
    import windpowerlib.power_output
    import windpowerlib.wind_speed
    import windpowerlib.wind_turbine

    return windpowerlib


@dataclass(frozen=True, eq=False, slots=True)
class WindWeather:
    """The wind in a file, one number per row, and the position of its rows in the year."""

    speeds: dict[float, FloatArray]  # [m/s], by height above the ground [m]
    roughness: FloatArray | None  # length [m]
    days: Days


def wind_weather(site: str | Path) -> WindWeather:
    """Return the weather in a file.

    Its first two rows name each column's variable and height [m]: wind_speed [m/s] at one or several heights, and
    perhaps roughness_length [m]; others are ignored. Its first column has the time at which a step begins, with its
    distance from UTC: 2010-01-01 00:00:00+01:00. Summer time is understood; days begin at midnight in standard time.
    """
    return read_weather(site, Path(site), _parsed, ALLOWED)


def _parsed(path: Path) -> WindWeather:
    import pandas as pd

    frame = pd.read_csv(path, index_col=0, header=[0, 1])
    columns = {(str(name), float(height)): frame[name, height] for name, height in frame.columns}
    speeds = {h: numbers_within(name, one, 0, _FASTEST) for (name, h), one in columns.items() if name == "wind_speed"}
    rough = [
        numbers_within(name, one, 0, _ROUGHEST) for (name, _), one in columns.items() if name == "roughness_length"
    ]
    if not speeds or min(speeds) <= 0:
        raise UserError("no wind_speed at a height of more than 0 m")
    return WindWeather(speeds, rough[0] if rough else None, _days([str(one) for one in frame.index]))


def _days(stamps: list[str]) -> Days:
    """Return the days in standard time of stamps with their distance from UTC, which is least in standard time."""
    found = [datetime.fromisoformat(stamp) for stamp in stamps]
    offsets = [one.utcoffset() for one in found]
    known = [offset for offset in offsets if offset is not None]
    if len(known) < len(offsets):
        raise UserError(f"no time zone in {stamps[offsets.index(None)]}: times must be like 2010-01-01 00:00:00+01:00")
    standard = min(known)
    local = [one.astimezone(timezone(standard)).replace(tzinfo=None) for one in found]
    return days_of(np.array(local, "M8[s]"), standard.total_seconds())
