"""Batteries as they are after a year of operation, so that the day of installation does not decide a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ehfl.arrays import FloatArray, IntArray, Levels
from ehfl.energy import Fleet
from ehfl.energy.contract import Harvest, expected_of
from ehfl.planning.budget import YEAR
from ehfl.scheduling import Scheduler, simulate
from ehfl.validation import InvalidValue

_FIRST_PART, _GROWTH = 52, 4  # a spin-up begins with this part of a year, then grows by this factor
_FORGOTTEN = 0.01  # the largest difference between starts, as a share of all batteries, that counts as none


def steady_start(fleet: Fleet, scheduler: Scheduler | str, rounds: int, seed: int, target: int | None = None) -> Fleet:
    """Return the fleet with the levels of its batteries after a year in the weather of this seed.

    The last rounds of the year are played from empty and from full batteries, and more of them (up to a year, from
    empty batteries) until the start is forgotten: until both end with the same energy, up to 1 % of what batteries
    hold. Fleets whose rounds have no length, or some of whose batteries are infinite, start as given.

    >>> from ehfl.energy import Sun
    >>> fleet = Fleet.in_joules(2, Sun(1), capacity=3600, cost=600, round_length=3600)
    >>> steady_start(fleet, "greedy", rounds=8760, seed=0).start().tolist()
    [991, 989]
    """
    if fleet.round_length is None or fleet.endless.any():
        return fleet
    period = max(rounds, round(YEAR / fleet.round_length))
    try:
        fleet.harvest.units(seed, range(period - 1, period), range(1))
    except InvalidValue:  # a recording that ends before
        period = rounds

    def levels(length: int, start: Levels) -> Levels:
        before = replace(fleet, harvest=_Later(fleet.harvest, period - length), initial=start)
        return simulate(before, scheduler, length, seed, target=target, threads=1).final_energy

    empty, full = np.zeros(fleet.clients, np.int32), np.broadcast_to(fleet.ceilings, (fleet.clients,))
    length = max(1, period // _FIRST_PART)
    while length < period:
        least, most = levels(length, empty), levels(length, full)
        if abs(int(most.sum(dtype=np.int64) - least.sum(dtype=np.int64))) <= _FORGOTTEN * full.sum(dtype=np.int64):
            return replace(fleet, initial=least)
        length *= _GROWTH
    return replace(fleet, initial=levels(period, empty))


@dataclass(frozen=True, slots=True)
class _Later:
    """A harvest whose round 0 is a later round of another one."""

    harvest: Harvest
    first: int

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        return self.harvest.units(seed, self._shifted(rounds), clients)

    def mean_rates(self, n_clients: int) -> FloatArray:
        return self.harvest.mean_rates(n_clients)

    def expected(self, rounds: range, clients: range) -> FloatArray:
        return expected_of(self.harvest, self.harvest.mean_rates, self._shifted(rounds), clients)

    def _shifted(self, rounds: range) -> range:
        return range(rounds.start + self.first, rounds.stop + self.first, rounds.step)
