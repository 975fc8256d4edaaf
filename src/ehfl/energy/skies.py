"""Clients under one or several skies: who is where, what each has installed, what is in its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.per_client import for_fleet, of_clients
from ehfl.energy.sky import Sky, own_words
from ehfl.validation import InvalidValue

MOST_WATTS = 1e9
_CHUNK = 2**18  # powers that are computed at a time: they stay in the cache
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False, slots=True)
class Skies:
    """P_i(t) = rated_i * (1 - shading u_i) * f_i(day) * share(t) of client i's sky and group [W].

    Client i is under sky i mod S and in group (i div S) mod G of it, so that any fleet is spread evenly. So are the
    u_i = frac(i * golden ratio) in [0, 1) (Weyl's sequence: Kuipers and Niederreiter 1974, Uniform distribution of
    sequences), which belong to the place and are the same under every seed.
    """

    skies: tuple[Sky, ...]
    rated: FloatArray  # () or (n_clients,) [W], losses taken off
    shading: float  # in [0, 1]

    def watts(self, seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the mean power of each client during each round [W], shape (len(rounds), len(clients))."""
        own, parts = self._own(clients), list(self._parts(clients))
        out = np.empty((len(rounds), len(clients)))
        depth = max(1, _CHUNK // max(1, len(clients)))
        for first in range(0, len(rounds), depth):
            some = slice(first, first + depth)
            for sky, columns, part in parts:
                groups = self._groups(sky, part)

                def drawn(day: int, columns: slice = columns) -> NDArray[np.uint32]:
                    return own_words(seed, day, clients)[columns]

                out[some, columns] = sky.power(seed, rounds[some], round_length, groups, own[columns], drawn)
        return out

    def expected(self, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return what season and hour let expect of `watts`, shape (len(rounds), len(clients))."""
        climate = Skies(tuple(sky.climate for sky in self.skies), self.rated, self.shading)
        return climate.watts(0, rounds, clients, round_length)

    def mean_watts(self, n_clients: int) -> FloatArray:
        """Return the mean power of each client over whole years [W], shape (n_clients,)."""
        for_fleet("watts", self.rated, n_clients)  # refuses another number of clients
        out = np.empty(n_clients)
        for sky, columns, part in self._parts(range(n_clients)):
            out[columns] = sky.means[self._groups(sky, part)]
        out *= self._own(range(n_clients))
        return out

    def _parts(self, clients: range) -> Iterator[tuple[Sky, slice, range]]:
        """Yield each sky, and which of the clients are under it, as columns and as clients."""
        places = _numbers(clients) % len(self.skies)
        for number, sky in enumerate(self.skies):
            columns = np.flatnonzero(places == number)
            if columns.size:  # remainders along a range repeat, so these columns are equally far apart
                apart = int(columns[1] - columns[0]) if columns.size > 1 else len(clients)
                chosen = slice(int(columns[0]), None, apart)
                yield sky, chosen, clients[chosen]

    def _groups(self, sky: Sky, clients: range) -> IntArray:
        return _numbers(clients) // len(self.skies) % len(sky.tables)

    def _own(self, clients: range) -> FloatArray:
        """Return what each client has installed, less what is in its way, (n_clients,) [W]."""
        rated = of_clients(self.rated, clients)
        if not self.shading:
            return np.broadcast_to(rated, (len(clients),))
        shaded: FloatArray = rated * (1 - self.shading * _even(clients))
        return shaded


def _numbers(clients: range) -> NDArray[np.int64]:
    return np.arange(clients.start, clients.stop, clients.step)


@lru_cache(maxsize=2)  # a large fleet is asked for one round at a time
def _even(clients: range) -> FloatArray:
    """Return numbers in [0, 1) that lie evenly there, however many clients there are."""
    return (_numbers(clients) * np.float64(_GOLDEN)) % 1


def names_of(sites: Sequence[str | Path], n_clients: int) -> list[str]:
    """Return what the site of each client is called: client i is at site i mod S.

    >>> names_of(["alaska", Path("weather/farm.csv")], 3)
    ['alaska', 'farm', 'alaska']
    """
    return [Path(sites[client % len(sites)]).stem for client in range(n_clients)]


def sites_of(given: object) -> list[str | Path]:
    """Return one site or several as a list."""
    sites = [given] if isinstance(given, str | Path) else given
    if (
        not isinstance(sites, Sequence)
        or not sites
        or not all(isinstance(one, str | Path) and str(one) for one in sites)
    ):
        raise InvalidValue("site", "a name, a path, or a list of these", repr(given))
    return list(sites)
