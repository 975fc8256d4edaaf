"""Power from sun and wind: all clients under a sky share a day's weather, times a factor per client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray, PerClient, describe
from ehfl.energy.contract import RatedWatts
from ehfl.energy.weather.calendar import DAY, YEAR, common_start
from ehfl.randomness import Purpose, words
from ehfl.validation import InvalidValue, is_word, number_in

BLOCK = 7  # days per bootstrap block, to preserve the duration of bad weather
REACH = 10  # maximum shift of a block within the year [days]
SEASON = 15  # days before and after in a forecast's mean
_WORDS = 2.0**32
_RUN = 32
_CHUNK = 2**18  # powers per chunk, to fit in the cache
_GOLDEN = (5**0.5 - 1) / 2

WATTS = RatedWatts(most=1e9)
Drawn = Callable[[int], NDArray[np.uint32]]


class UnderSkies:
    """The common part of `Sun` and `Wind`: clients with installed power under one or several skies.

    P_i(t) = rated_i (1 - losses) (1 - shading u_i) f_i(day) share(t)   [W], share(t) of client i's sky and group.

    Client i is under sky i mod S and in group (i div S) mod G of it, so that any fleet is spread evenly. So are the
    u_i = frac(i * golden ratio) in [0, 1) (Weyl's sequence: Kuipers and Niederreiter 1974, Uniform distribution of
    sequences), which belong to the place and are the same under every seed. f_i is in `Sky.power`.
    """

    per_client: ClassVar[tuple[str, ...]] = ("watts",)
    rated: PerClient  # what was given as watts, before losses
    site: str | Path | Sequence[str | Path]
    losses: float
    shading: float
    variation: float
    weather: str
    start: str
    first_day: int  # day of the year at which round 0 begins at the first site, 0 is January 1
    southern: bool  # whether all sites are south of the equator
    _skies: tuple[Sky, ...]

    def _settle_under(self, read: Callable[[str | Path], Any], tables: Callable[[Any], FloatArray]) -> None:
        """Read each site's weather, which has `days`; `tables` converts it to shares of rated power, see `Sky`."""
        files = [read(site) for site in sites_of(self.site)]
        starts = common_start([file.days for file in files], self.start)
        skies = [
            Sky(tables(file), start, self.weather == "shuffled", self.variation)
            for file, start in zip(files, starts, strict=True)
        ]
        object.__setattr__(self, "southern", all(getattr(file, "latitude", 0.0) < 0 for file in files))
        object.__setattr__(self, "first_day", files[0].days.day_at(starts[0]))
        object.__setattr__(self, "_skies", tuple(skies))

    def rounds_power(self, seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the mean power of each client during each round [W], shape (len(rounds), len(clients))."""
        return self._power(self._skies, seed, rounds, clients, round_length)

    def expected(self, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the forecast of `watts` from season and hour: the mean of the surrounding 31 days."""
        return self._power([sky.climate for sky in self._skies], 0, rounds, clients, round_length)

    def mean_watts(self, n_clients: int) -> FloatArray:
        """Return the mean power of each client over whole years, or all of the file [W], shape (n_clients,)."""
        self.rated.of_fleet(n_clients)  # refuses another number of clients
        out = np.empty(n_clients)
        for number, columns, part in self._parts(range(n_clients)):
            sky = self._skies[number]
            out[columns] = sky.means[self._groups(sky, part)]
        out *= self._installed(range(n_clients))
        return out

    def site_names(self, n_clients: int) -> list[str]:
        """Return the site of each client, i mod S, by its name or its file's name."""
        sites = sites_of(self.site)
        return [Path(sites[client % len(sites)]).stem for client in range(n_clients)]

    def _check_shares(self, *weather: str) -> None:
        for name in ("losses", "shading", "variation"):
            number_in(name, getattr(self, name), "[0, 1]")
        if not is_word(self.weather, *weather):
            raise InvalidValue("weather", " or ".join(weather), repr(self.weather))

    def _power(self, skies: Sequence[Sky], seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        installed, parts = self._installed(clients), list(self._parts(clients))
        out = np.empty((len(rounds), len(clients)))
        depth = max(1, _CHUNK // max(1, len(clients)))
        for first in range(0, len(rounds), depth):
            some = slice(first, first + depth)
            for number, columns, part in parts:
                sky = skies[number]

                def drawn(day: int, columns: slice = columns) -> NDArray[np.uint32]:
                    return own_words(seed, day, clients)[columns]

                out[some, columns] = sky.power(
                    seed, rounds[some], round_length, self._groups(sky, part), installed[columns], drawn
                )
        return out

    def _parts(self, clients: range) -> Iterator[tuple[int, slice, range]]:
        """Yield each sky's number, and which of the clients are under it, as columns and as clients."""
        places = _numbers(clients) % len(self._skies)
        for number in range(len(self._skies)):
            columns = np.flatnonzero(places == number)
            if columns.size:  # remainders along a range repeat, so these columns are equally far apart
                apart = int(columns[1] - columns[0]) if columns.size > 1 else len(clients)
                chosen = slice(int(columns[0]), None, apart)
                yield number, chosen, clients[chosen]

    def _groups(self, sky: Sky, clients: range) -> IntArray:
        return _numbers(clients) // len(self._skies) % len(sky.tables)

    def _installed(self, clients: range) -> FloatArray:
        """Return the installed power of each client after losses and shading, (n_clients,) [W]."""
        rated = self.rated.part(clients) * (1 - self.losses)
        if not self.shading:
            return np.broadcast_to(rated, (len(clients),))
        shaded: FloatArray = rated * (1 - self.shading * _even(clients))
        return shaded

    def __repr__(self) -> str:
        return f"{type(self).__name__}({describe(self.rated)}, site={', '.join(map(str, sites_of(self.site)))})"


@dataclass(frozen=True, eq=False)
class Sky:
    """Power per installed watt: P(t) = table[day, step] in each step, the same every year or shuffled.

    Shuffled, each seed and each year is another year that could have been: blocks of `BLOCK` days are replaced by those
    that lie s days later, s uniform in -REACH..REACH (and in any of the table's years), the local block bootstrap of
    Paparoditis and Politis (2002), J. Time Ser. Anal. 23:587. All skies share s, so that weather that was recorded
    together stays together. Every s is a rotation of the table, so no mean over whole years changes.

    >>> sky = Sky(np.ones((1, 2, 24)), start=0.0, shuffled=False, variation=0.0)
    >>> sky.power(0, range(3), 1800.0, np.zeros(1, int), np.full(1, 2.0), drawn=None).tolist()
    [[2.0], [2.0], [2.0]]
    """

    tables: FloatArray  # (n_groups, n_days, n_steps), shares of the power installed
    start: float  # the time in the table at which round 0 begins [s]; negative in the day before its first one
    shuffled: bool
    variation: float  # of each client's own factor, day by day

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each group over the table, (n_groups,)."""
        found: FloatArray = self.tables.mean(axis=(1, 2))
        return found

    @cached_property
    def climate(self) -> Sky:
        """The expected weather of a day: the mean over the surrounding days of all years."""
        n_days = self.tables.shape[1]
        near = np.arange(-SEASON, SEASON + 1)
        years = np.arange(max(1, n_days // YEAR)) * YEAR
        tables = np.mean([np.roll(self.tables, -shift, axis=1) for shift in np.add.outer(years, near).ravel()], axis=0)
        return Sky(tables, self.start, shuffled=False, variation=0.0)

    def power(
        self, seed: int, rounds: range, round_length: float, groups: IntArray, own: FloatArray, drawn: Drawn
    ) -> FloatArray:
        """Return the mean power of each client during each round, shape (len(rounds), n_clients).

        The energy of a round is the exact integral over it of the power, which is constant in each step. `groups` says
        which table is each client's, `own` what it has installed, both of shape (n_clients,); `drawn` returns a word of
        each client for a day, of which its own factor is made: uniform in 1 - variation .. 1 + variation.
        """
        out = np.empty((len(rounds), own.size))
        for ahead, (rows, days, energy) in enumerate(self._by_day(seed, rounds, round_length)):
            power = energy / round_length
            for part in self._alike(days):
                factors = own * self._factors(drawn(max(int(days[part][0]), 0))) if self.variation else own
                found = (power[part] if power.shape[1] == 1 else power[part].take(groups, axis=1)) * factors
                if ahead:
                    out[rows[part]] += found
                else:  # the first day of every round
                    out[part] = found
        return out

    def _factors(self, drawn: NDArray[np.uint32]) -> FloatArray:
        uniform: FloatArray = (drawn + np.float64(0.5)) / _WORDS
        return 1 + self.variation * (2 * uniform - 1)

    def _by_day(self, seed: int, rounds: range, round_length: float) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield the rounds that have a first, second, ... day, that day, and their energy in it, (n, n_groups) [J]."""
        numbers = np.arange(rounds.start, rounds.stop, rounds.step)
        begins, ends = (self.start + (numbers + one) * round_length for one in (0, 1))
        first = np.floor(begins / DAY).astype(np.int64)
        n_days = np.maximum(np.ceil(ends / DAY).astype(np.int64) - first, 1)
        for ahead in range(int(n_days.max(initial=0))):
            rows = np.flatnonzero(ahead < n_days)
            days = first[rows] + ahead
            begin, end = (np.clip(edge[rows] - days * DAY, 0, DAY) for edge in (begins, ends))
            yield rows, days, self._until(seed, days, end) - self._until(seed, days, begin)

    def _alike(self, days: IntArray) -> Iterator[slice]:
        """Yield runs of rounds in which each client's own factor is the same; short ones, which stay in the cache."""
        changes = np.flatnonzero(np.diff(days)) + 1 if self.variation else np.arange(_RUN, days.size, _RUN)
        edges = [0, *changes.tolist(), days.size]
        yield from (slice(*pair) for pair in pairwise(edges))

    def _until(self, seed: int, days: IntArray, time: FloatArray) -> FloatArray:
        """Return the energy of one watt from the beginning of these days to a time of each, (n_times, n_groups) [J]."""
        _, n_days, n_steps = self.tables.shape
        length = DAY / n_steps
        n_years = max(1, n_days // YEAR)
        blocks = (np.maximum(days, 0) // BLOCK).tolist() if self.shuffled else ()
        shifts = np.array([shift_of(seed, block, n_years) for block in blocks], np.int64) if self.shuffled else 0
        places = (days + shifts) % n_days
        steps = np.minimum((time / length).astype(np.int64), n_steps - 1)
        full, within = self._cumulated[:, places, steps], self.tables[:, places, steps]
        until: FloatArray = (full + within * (time - steps * length)).T
        return until

    @cached_property
    def _cumulated(self) -> FloatArray:
        """Energy of each day up to each step, (n_groups, n_days, n_steps) [J]."""
        length = DAY / self.tables.shape[2]
        sums = np.cumsum(self.tables * length, axis=2)
        return np.concatenate([np.zeros((*sums.shape[:2], 1)), sums[:, :, :-1]], axis=2)


@lru_cache(maxsize=4)  # consecutive rounds use the same day
def own_words(seed: int, day: int, clients: range) -> NDArray[np.uint32]:
    """Return a uniform 32-bit number of each client for one day."""
    drawn: NDArray[np.uint32] = words(seed, Purpose.OWN_WEATHER, range(day, day + 1), clients)[0]
    return drawn


@lru_cache(maxsize=10_000)
def shift_of(seed: int, block: int, n_years: int = 1) -> int:
    """Return the shift of a block in the table [days], including full years.

    >>> [abs(shift_of(seed=0, block=block)) <= REACH for block in range(3)]
    [True, True, True]
    """
    near, year = map(int, words(seed, Purpose.WEATHER, range(block, block + 1), range(2))[0])
    return near * (2 * REACH + 1) // 2**32 - REACH + YEAR * (year * n_years // 2**32)


def sites_of(given: object) -> list[str | Path]:
    """Return one site or several as a list."""
    sites = [given] if isinstance(given, str | Path) else given
    known = isinstance(sites, Sequence) and sites and all(isinstance(one, str | Path) and str(one) for one in sites)
    if not known:
        raise InvalidValue("site", "a name, a path, or a list of these", repr(given))
    return list(sites)  # type: ignore[call-overload,no-any-return]


def _numbers(clients: range) -> NDArray[np.int64]:
    return np.arange(clients.start, clients.stop, clients.step)


@lru_cache(maxsize=2)  # a large fleet is computed one round at a time
def _even(clients: range) -> FloatArray:
    """Return evenly distributed numbers in [0, 1), for any number of clients."""
    return (_numbers(clients) * np.float64(_GOLDEN)) % 1
