"""When and where a scheduler falls short: months, hours of the day, sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ehfl.planning.calendar import MONTHS, Calendar
from ehfl.planning.outlook import Outlook

_HOURS = 24
_LONGEST = 8  # hours beyond which a part of the day tells little
_SHORT_ROUNDS = 7200.0  # the longest rounds that have a time of the day [s]


@dataclass(frozen=True, slots=True)
class Month:
    """What a month of the year brings, all seeds together."""

    number: int  # 0 to 11
    on_target: float  # share of its rounds with as many clients as wanted
    mean: float  # participants a round

    @property
    def name(self) -> str:
        """The month's name."""
        return MONTHS[self.number]


def months_of(outlook: Outlook, calendar: Calendar) -> list[Month]:
    """Return the months that rounds were played in, from January to December.

    >>> outlook = Outlook("greedy", 2, np.array([[2] * 31 + [1] * 28]), np.ones((1, 3), int), ())
    >>> months_of(outlook, Calendar(first_day=0, round_length=86_400))
    [Month(number=0, on_target=1.0, mean=2.0), Month(number=1, on_target=0.0, mean=1.0)]
    """
    shares = calendar.by_month((outlook.counts >= outlook.target).mean(axis=0))
    means = calendar.by_month(outlook.counts.mean(axis=0))
    return [Month(n, float(shares[n]), float(means[n])) for n in range(12) if np.isfinite(means[n])]


def worst_month(outlook: Outlook, calendar: Calendar | None) -> Month | None:
    """Return the month with the fewest rounds on target, then with the fewest clients; None of less than two months."""
    months = [] if calendar is None else months_of(outlook, calendar)
    return min(months, key=lambda month: (month.on_target, month.mean)) if len(months) > 1 else None


def hours_short(outlook: Outlook, calendar: Calendar | None) -> tuple[int, int] | None:
    """Return the shortest part of the day, from one hour to another, in which half of the rounds short begin.

    None where no round falls short, where that part is longer than eight hours, and where rounds are longer than two.

    >>> outlook = Outlook("greedy", 1, np.array([[1] * 22 + [0, 0] + [0] + [1] * 23]), np.ones((1, 3), int), ())
    >>> hours_short(outlook, Calendar(first_day=0, round_length=3600))
    (22, 0)
    """
    if calendar is None or calendar.round_length > _SHORT_ROUNDS:
        return None
    short = (outlook.counts < outlook.target).sum(axis=0)
    by_hour = np.bincount(calendar.hours(range(short.size)), weights=short, minlength=_HOURS)
    if not by_hour.sum():
        return None
    for length in range(1, _LONGEST + 1):
        parts = np.convolve(np.concatenate([by_hour, by_hour[: length - 1]]), np.ones(length), mode="valid")
        first = int(parts.argmax())
        if parts[first] >= by_hour.sum() / 2:
            return first, (first + length) % _HOURS
    return None


def turns_by_site(outlook: Outlook, sites: Sequence[str]) -> dict[str, float]:
    """Return how often a client of each site takes part, mean over its clients and seeds; the most often first.

    >>> outlook = Outlook("greedy", 1, np.array([[2]]), np.array([[4, 1, 8]]), ())
    >>> turns_by_site(outlook, ["north", "south", "north"])
    {'north': 6.0, 'south': 1.0}
    """
    turns, places = outlook.turns.mean(axis=0), np.array(sites)
    means = {site: float(turns[places == site].mean()) for site in dict.fromkeys(sites)}
    return dict(sorted(means.items(), key=lambda one: -one[1]))
