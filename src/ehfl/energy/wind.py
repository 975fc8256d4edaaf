"""Power from the wind: small turbines under the weather of files, by windpowerlib."""

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
    from ehfl.energy.wind_weather import WindWeather


@dataclass(frozen=True, eq=False, init=False)
class Wind:
    """P_i(t) = watts_i (1 - losses) (1 - shading u_i) f_i(day) share(v(t)): power of turbines under a site's wind [W].

    share(v) is the share of its rated power that a turbine makes at a wind speed v. It is `cubic`, as the energy in the
    wind,

        (v^3 - cut_in^3) / (rated_speed^3 - cut_in^3), 1 from rated_speed, 0 below cut_in and from cut_out on

    (Lydia et al. 2014, Renewable and Sustainable Energy Reviews 30:452), or the power curve of one of windpowerlib's
    types. u_i and f_i are as in `Sun`. docs/energy.md ("Wind") has every parameter, and where the model is wrong.
    """

    per_client: ClassVar[tuple[str, ...]] = ("watts",)
    rated: FloatArray  # what was given as watts, () or (n_clients,): the method has that name
    site: str | Path | Sequence[str | Path]
    hub_height: float
    profile: Literal["logarithmic", "hellman"]
    turbine: str
    cut_in: float
    rated_speed: float
    cut_out: float
    losses: float
    shading: float
    variation: float
    weather: Literal["shuffled", "recorded"]
    start: str
    parameters: Mapping[str, Any]  # as given, those that no field has under their name: specs are written from them
    first_day: int  # day of the year at which round 0 begins, 0 is January 1
    _skies: Skies

    def __init__(
        self,
        watts: ArrayLike,  # rated power, one or one per client
        site: str | Path | Sequence[str | Path],  # a file, or several, over which clients are spread
        hub_height: float = 10.0,  # [m]
        profile: Literal["logarithmic", "hellman"] = "logarithmic",  # of wind speed over height
        turbine: str = "cubic",  # or a type of windpowerlib's, whose curve is scaled to the rated power
        cut_in: float = 3.0,  # [m/s]; these three are those of the cubic curve
        rated_speed: float = 12.0,
        cut_out: float = 25.0,
        losses: float = 0.0,  # share: wires, wake, rest
        shading: float = 0.0,  # share that the client with most in its way loses, the freest none
        variation: float = 0.0,  # of each client's own factor, day by day
        weather: Literal["shuffled", "recorded"] = "shuffled",  # recorded: the file as it is, again and again
        start: str = "first",  # day of the year, MM-DD, at whose midnight round 0 begins
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "watts")}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "parameters", {"watts": watts})
        object.__setattr__(self, "rated", numbers_per_client("watts", watts, 0, MOST_WATTS))
        self._check()
        self._look_up()

    def _look_up(self) -> None:
        """Read the sites' weather and work out what a turbine makes of it."""
        from ehfl.energy.wind_weather import wind_weather

        files = [wind_weather(site) for site in sites_of(self.site)]
        starts = [file.days.start(self.start) for file in files]
        skies = tuple(
            Sky(self._table(file)[None], start, self.weather == "shuffled", self.variation)
            for file, start in zip(files, starts, strict=True)
        )
        object.__setattr__(self, "first_day", files[0].days.day_at(starts[0]))
        object.__setattr__(self, "_skies", Skies(skies, self.rated * (1 - self.losses), self.shading))

    def watts(self, seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the mean power of each client during each round [W], shape (len(rounds), len(clients))."""
        return self._skies.watts(seed, rounds, clients, round_length)

    def mean_watts(self, n_clients: int) -> FloatArray:
        """Return the mean power of each client over all of the file [W], shape (n_clients,)."""
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
        number_in("hub_height", self.hub_height, "(0, 500]")
        number_in("cut_in", self.cut_in, "[0, 100]")
        number_in("rated_speed", self.rated_speed, "(0, 100]")
        number_in("cut_out", self.cut_out, "(0, 120]")
        if not self.cut_in < self.rated_speed < self.cut_out:
            raise InvalidValue(
                "rated_speed", f"between cut_in {self.cut_in:g} and cut_out {self.cut_out:g}", self.rated_speed
            )
        if not is_word(self.profile, "logarithmic", "hellman"):
            raise InvalidValue("profile", "logarithmic or hellman", repr(self.profile))
        if not is_word(self.weather, "shuffled", "recorded"):
            raise InvalidValue("weather", "shuffled or recorded", repr(self.weather))

    def _table(self, weather: WindWeather) -> FloatArray:
        """Return the share of the rated power in each step, (n_days, n_steps)."""
        from ehfl.energy.wind_power import hub_speed, type_share

        speed = hub_speed(weather, self.hub_height, self.profile)
        if self.turbine == "cubic":
            share = cubic_share(speed, self.cut_in, self.rated_speed, self.cut_out)
        else:
            share = type_share(speed, self.turbine, self.hub_height)
        return weather.days.of(share)

    def __repr__(self) -> str:
        sites = ", ".join(map(str, sites_of(self.site)))
        return f"Wind({shown(watts=self.rated)}, site={sites})"


def cubic_share(speed: FloatArray, cut_in: float, rated_speed: float, cut_out: float) -> FloatArray:
    """Return the share of its rated power that a turbine makes at wind speeds [m/s].

    >>> cubic_share(np.array([2.0, 3.0, 12.0, 20.0, 25.0]), 3, 12, 25).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    """
    rising = np.clip((speed**3 - cut_in**3) / (rated_speed**3 - cut_in**3), 0, 1)
    return np.where(speed < cut_out, rising, 0.0)
