"""Statistics of a harvest by day and year over clients, which `ehfl harvest show` draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.contract import Harvest, PowerHarvest, is_power
from ehfl.energy.harvests.recorded import Replay
from ehfl.energy.traces.trace import Trace
from ehfl.validation import at, described, number_in

DAY, YEAR = 86_400.0, 365  # [s], [days]
_HOUR = 3600.0
_SLOTS = 24  # parts of a day, of harvests in units
_MOST_CLIENTS = 200  # of a survey, evenly spread over larger fleets
_MOST_ROUNDS = 20_000
PARTS = 24  # steps of the work, to show its progress
_FINE_SLOTS = 250  # of a record that is shorter than a day

Count = Callable[[object], None]


@dataclass(frozen=True, eq=False, slots=True)
class Survey:
    """A harvest over a year: power in W, or units per round for a harvest in units."""

    harvest: str
    in_watts: bool
    round_length: float  # [s]
    clients: int  # in the survey
    fleet: int  # number of all clients
    first_day: int | None  # the day of the year at which it begins, 0 for January 1; None without a calendar
    first_second: float  # the time of day at which it begins [s]
    cycle: float  # how long a row of `steps` takes: a day, or the whole of a shorter record [s]
    steps: FloatArray  # means of parts of each cycle, (n_cycles, n_slots, n_clients)
    rounds: IntArray  # numbers of the rounds whose energy is in `amounts`, (n_rounds,)
    amounts: FloatArray  # of these, (n_rounds, n_clients)
    stated: FloatArray  # the long-run mean that the harvest states, (n_clients,)

    def clients_text(self) -> str:
        """Return the number of surveyed clients as text."""
        if self.clients < self.fleet:
            return f"{self.clients} of {self.fleet:,} clients"
        return f"{self.clients} client{'' if self.clients == 1 else 's'}"

    @property
    def means(self) -> FloatArray:
        """The mean of each client over the survey, (n_clients,)."""
        means: FloatArray = self.steps.mean(axis=(0, 1))
        return means

    @property
    def without(self) -> float:
        """The share of rounds without any harvest, over all clients."""
        return float((self.amounts == 0).mean())

    @property
    def days(self) -> FloatArray:
        """Energy [J] or units of each day and client, (n_days, n_clients); empty where a cycle is no day."""
        if self.cycle != DAY:
            return np.empty((0, self.clients))
        found: FloatArray = self.steps.mean(axis=1) * (DAY if self.in_watts else DAY / self.round_length)
        return found

    def longest_without(self) -> float:
        """Return the longest time in which a client harvests nothing [s], as far as steps of an hour show it."""
        dark = self.steps.reshape(-1, self.clients) == 0
        last = np.maximum.accumulate(np.where(dark, -1, np.arange(len(dark))[:, None]), axis=0)
        longest = int((np.arange(len(dark))[:, None] - last)[dark].max(initial=0))
        return longest * self.cycle / int(self.steps.shape[1])

    def leanest(self, days: int) -> float:
        """Return the lowest mean of `days` days in a row over clients' mean days; NaN where there are fewer."""
        means = self.days.mean(axis=1)
        if means.size < days:
            return math.nan
        return float(np.convolve(means, np.full(days, 1 / days), mode="valid").min())

    def months(self) -> list[dict[str, float]]:
        """Return mean and share of rounds without harvest for each month, empty without a year of dates."""
        if self.first_day is None or len(self.days) < YEAR:
            return []
        of_day = month_of(self.first_day + np.arange(len(self.steps)))
        moment = self.first_second + self.rounds * self.round_length
        of_round = month_of(self.first_day + (moment // DAY).astype(np.int64))
        return [
            {
                "month": month + 1,
                "mean": float(self.steps[of_day == month].mean()),
                "day": float(self.days[of_day == month].mean()),
                "without": float((self.amounts[of_round == month] == 0).mean()),
            }
            for month in range(12)
        ]


def month_of(days: IntArray) -> IntArray:
    """Return the month of each day of the year, from 0 on; days go on after December 31.

    >>> month_of(np.array([0, 30, 31, 58, 59, 364, 365])).tolist()
    [0, 0, 1, 1, 2, 11, 0]
    """
    ends = np.cumsum([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    found: IntArray = np.searchsorted(ends, days % YEAR, side="right")
    return found


def survey(
    harvest: Harvest | PowerHarvest, clients: int, round_length: float, seed: int = 0, on_part: Count | None = None
) -> Survey:
    """Return the survey of a harvest for `clients` clients over a year, or over all its rounds if it has fewer."""
    number_in("round_length", round_length, "(0, 1e9]")
    some = range(0, clients, -(-clients // _MOST_CLIENTS))
    time = _time_there(harvest, round_length)
    rounds = max(1, int(time / round_length * (1 + 1e-12)))
    # In watts any round can be computed; in units only consecutive rounds show what comes in an hour.
    in_watts, known = is_power(harvest), cast(Any, harvest)
    with at("harvest"):  # raises an error for another number of clients
        means = known.mean_watts(clients) if in_watts else known.mean_rates(clients)
    in_a_row = not in_watts or _record_length(harvest) < DAY
    numbers = range(min(rounds, 5 * _MOST_ROUNDS)) if in_a_row else _spread_out(rounds, round_length)

    def asked(rounds: range, step: float) -> FloatArray:
        found = known.watts(seed, rounds, some, step) if in_watts else known.units(seed, rounds, some)
        return np.asarray(found, dtype=np.float64)

    amounts = _in_parts(asked, numbers, round_length, on_part)
    cycle, steps = _steps_of_units(amounts, round_length)
    if in_watts:
        cycle = min(DAY, time, _record_length(harvest))
        days, step = (int(time // DAY), _HOUR) if cycle == DAY else (1, cycle / _FINE_SLOTS)
        steps = _in_parts(asked, range(round(days * cycle / step)), step, on_part).reshape(days, -1, len(some))
    return Survey(
        harvest=described(harvest),
        in_watts=in_watts,
        round_length=round_length,
        clients=len(some),
        fleet=clients,
        first_day=getattr(harvest, "first_day", None),
        first_second=float(getattr(harvest, "first_second", 0.0)),
        cycle=cycle,
        steps=steps,
        rounds=np.asarray(numbers),
        amounts=amounts,
        stated=np.asarray(means, dtype=np.float64)[some.start : some.stop : some.step],
    )


def _spread_out(rounds: int, round_length: float) -> range:
    """Return at most _MOST_ROUNDS of the rounds, spread over all times of day."""
    step, a_day = -(-rounds // _MOST_ROUNDS), max(1, round(DAY / round_length))
    while math.gcd(step, a_day) > 1 and step > 1:
        step += 1
    return range(0, rounds, step)


def _time_there(harvest: object, round_length: float) -> float:
    """Return the duration of a harvest, at most a year [s]."""
    if isinstance(harvest, Replay):
        return min(YEAR * DAY, harvest.n_rounds * round_length)
    if isinstance(harvest, Trace) and harvest.beyond == "refuse":
        return min(YEAR * DAY, harvest.record.duration)
    return YEAR * DAY


def _record_length(harvest: object) -> float:
    """Return the duration of a record before it repeats [s], infinity without a record."""
    return harvest.record.duration if isinstance(harvest, Trace) else math.inf


def _in_parts(
    asked: Callable[[range, float], FloatArray], rounds: range, step: float, on_part: Count | None
) -> FloatArray:
    found = []
    size = -(-len(rounds) // PARTS)
    for first in range(0, len(rounds), size):
        found.append(asked(rounds[first : first + size], step))
        if on_part is not None:
            on_part(first)
    return np.concatenate(found)


def _steps_of_units(amounts: FloatArray, round_length: float) -> tuple[float, FloatArray]:
    """Return how long a cycle is [s], and the mean units a round by cycle and part of it.

    A cycle is a day of hours, or of as many parts as there are rounds; where the rounds make no day, all of them.
    """
    slots = min(_SLOTS, int(DAY / round_length))
    middle = (np.arange(len(amounts)) + 0.5) * round_length
    whole = int(len(amounts) * round_length / DAY * (1 + 1e-12))  # days
    if not slots or not whole:
        return round_length * len(amounts), amounts.mean(axis=0)[None, None]
    place = (middle * (slots / DAY)).astype(np.int64)  # ascending, and every part has a round
    begins = np.searchsorted(place, np.arange(whole * slots + 1))
    sums = np.add.reduceat(amounts[: begins[-1]], begins[:-1], axis=0)
    return DAY, (sums / np.diff(begins)[:, None]).reshape(whole, slots, -1)
