"""Power from the sun: panels under the weather of typical years or of files, by pvlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.energy.per_client import numbers_per_client, shown
from ehfl.energy.skies import MOST_WATTS, Skies, names_of, sites_of
from ehfl.energy.sky import Sky
from ehfl.validation import InvalidValue, is_word, number_in

if TYPE_CHECKING:
    from ehfl.energy.sun_weather import SunWeather

_DIRECTIONS = 8  # that clients look into where `azimuth_spread` spreads them: pvlib is asked once for each


@dataclass(frozen=True, eq=False, init=False)
class Sun:
    """P_i(t) = watts_i (1 - losses) (1 - shading u_i) f_i(day) share(t): power of panels under a site's weather [W].

    share(t) is what a panel of one watt makes of the weather (`sun_power`), constant in each step of the file; the mean
    power of a round is its exact integral. f_i(day) is uniform in 1 - variation .. 1 + variation, u_i even in [0, 1).
    docs/energy.md ("Sun") has every parameter, the references, and where the model is wrong.

    >>> harvest = Sun(watts=2, weather="typical")
    >>> day = harvest.watts(seed=0, rounds=range(24), clients=range(1), round_length=3600)[:, 0]
    >>> float(day[0]), round(float(day[12]), 3), round(float(harvest.mean_watts(1)[0]), 3)
    (0.0, 0.256, 0.328)
    """

    per_client: ClassVar[tuple[str, ...]] = ("watts",)
    peak: FloatArray  # what was given as watts, () or (n_clients,): the method has that name
    site: str | Path | Sequence[str | Path]
    tilt: float | Literal["latitude", "file"]
    azimuth: float | Literal["equator"]
    azimuth_spread: float
    losses: float
    shading: float
    variation: float
    weather: Literal["shuffled", "typical"]
    start: str
    temperature_coefficient: float
    parameters: Mapping[str, Any]  # as given, those that no field has under their name: specs are written from them
    first_day: int  # day of the year at which round 0 begins, 0 is January 1
    _skies: Skies

    def __init__(
        self,
        watts: ArrayLike,  # power at 1,000 W/m^2 and 25 C, one or one per client
        site: str | Path | Sequence[str | Path] = "north-carolina",  # clients are spread over several
        tilt: float | Literal["latitude", "file"] = "latitude",  # 0 lies flat, 90 stands [degrees]
        azimuth: float | Literal["equator"] = "equator",  # 90 looks east, 180 south [degrees]
        azimuth_spread: float = 0.0,  # clients look into directions up to so far from it [degrees]
        losses: float = 0.14,  # share: dirt, wires, mismatch, age; PVWatts' default
        shading: float = 0.0,  # share that the most shaded client loses, the least none
        variation: float = 0.0,  # of each client's own factor, day by day
        weather: Literal["shuffled", "typical"] = "shuffled",  # typical: the file's own year, again and again
        start: str = "first",  # day of the year, MM-DD, at whose midnight round 0 begins
        temperature_coefficient: float = -0.004,  # of the power [1/K]
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "watts")}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "parameters", {"watts": watts})
        object.__setattr__(self, "peak", numbers_per_client("watts", watts, 0, MOST_WATTS))
        self._check()
        self._look_up()

    def _look_up(self) -> None:
        """Read the sites' weather and ask pvlib what a panel makes of it."""
        from ehfl.energy.sun_weather import sun_weather

        files = [sun_weather(site) for site in sites_of(self.site)]
        starts = [file.days.start(self.start) for file in files]
        skies = tuple(
            Sky(self._tables(file), start, self.weather == "shuffled", self.variation)
            for file, start in zip(files, starts, strict=True)
        )
        object.__setattr__(self, "first_day", files[0].days.day_at(starts[0]))
        object.__setattr__(self, "_skies", Skies(skies, self.peak * (1 - self.losses), self.shading))

    def watts(self, seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the mean power of each client during each round [W], shape (len(rounds), len(clients))."""
        return self._skies.watts(seed, rounds, clients, round_length)

    def mean_watts(self, n_clients: int) -> FloatArray:
        """Return the mean power of each client over whole years [W], shape (n_clients,)."""
        return self._skies.mean_watts(n_clients)

    def expected(self, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return what the season and the hour let expect of `watts`: the mean of the 31 days around."""
        return self._skies.expected(rounds, clients, round_length)

    def site_names(self, n_clients: int) -> list[str]:
        """Return where each client is."""
        return names_of(sites_of(self.site), n_clients)

    def _check(self) -> None:
        for name in ("losses", "shading", "variation"):
            number_in(name, getattr(self, name), "[0, 1]")
        if not is_word(self.tilt, "latitude", "file"):
            number_in("tilt", self.tilt, "[0, 180]")
        if not is_word(self.azimuth, "equator"):
            number_in("azimuth", self.azimuth, "[-360, 360]")
        number_in("azimuth_spread", self.azimuth_spread, "[0, 180]")
        number_in("temperature_coefficient", self.temperature_coefficient, "[-0.01, 0]")
        if self.tilt == "file" and self.azimuth_spread:
            raise InvalidValue("azimuth_spread", "0 where tilt is file", self.azimuth_spread)
        if not is_word(self.weather, "shuffled", "typical"):
            raise InvalidValue("weather", "shuffled or typical", repr(self.weather))

    def _tables(self, weather: SunWeather) -> FloatArray:
        """Return the power of a panel of one watt for each direction, (n_directions, n_days, n_steps)."""
        from ehfl.energy.sun_power import panel_power

        towards_equator = 180.0 if weather.latitude >= 0 else 0.0
        middle = towards_equator if self.azimuth == "equator" else float(self.azimuth)
        tilt = abs(weather.latitude) if self.tilt == "latitude" else self.tilt
        n = _DIRECTIONS if self.azimuth_spread else 1
        aside = self.azimuth_spread * ((2 * np.arange(n) + 1) / n - 1)  # the middles of n equal parts of the spread
        towards = (middle + aside) % 360
        return np.stack(
            [panel_power(weather, tilt, float(one), float(self.temperature_coefficient)) for one in towards]
        )

    def __repr__(self) -> str:
        sites = ", ".join(map(str, sites_of(self.site)))
        return f"Sun({shown(watts=self.peak)}, site={sites})"
