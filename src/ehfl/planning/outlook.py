"""Statistics of a scheduler's participants over the rounds of several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.planning.budget import MONTHS, SEASONS, Calendar
from ehfl.planning.optimum import has_other_means
from ehfl.scheduling import Participation, Summary
from ehfl.theory.noise_scale import slowdown
from ehfl.validation import number_in

RELIABLE = 0.95  # share of rounds for a reliable number of participants
Rounds = NDArray[np.bool_] | None  # those that count, (n_rounds,); None for all


@dataclass(frozen=True, eq=False, slots=True)
class Outlook:
    """The rounds played for a plan, by seed; all seeds have the same numbers of rounds and clients."""

    label: str  # of the scheduler
    target: int  # clients wanted a round
    counts: IntArray  # n_t, (n_seeds, n_rounds)
    turns: IntArray  # of each client, (n_seeds, n_clients)
    summaries: tuple[Summary, ...]  # a seed each
    levels: FloatArray | None = None  # clients' mean level at the start of each round, (n_seeds, n_rounds), if recorded
    other_means: bool = False  # mains power or fewer steps per turn: not comparable with an optimum
    mains_powered: bool = False  # only a reference, independent of the harvest

    @staticmethod
    def of(label: str, played: Participation) -> Outlook:
        """Return the part of a participation that a plan needs, small enough to send between processes."""
        levels = None if played.energy is None else played.energy[:-1].mean(axis=1)[None]
        return Outlook(label, played.target, played.counts[None], played.turns()[None], (played.summary(),), levels,
                       other_means=has_other_means(played), mains_powered=played.mains_powered)  # fmt: skip

    @staticmethod
    def together(seeds: Sequence[Outlook]) -> Outlook:
        """Return the outlook of several seeds of the same fleet and scheduler."""
        names = ("counts", "turns", *(["levels"] if seeds[0].levels is not None else []))
        arrays: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in seeds]) for name in names}
        return replace(seeds[0], **arrays, summaries=tuple(s for one in seeds for s in one.summaries),
                       other_means=any(one.other_means for one in seeds))  # fmt: skip

    def on_target(self, clients: int | None = None, within: Rounds = None) -> FloatArray:
        """Return the share of rounds with at least `clients` participants, by default the target, (n_seeds,)."""
        wanted = self.target if clients is None else clients
        shares: FloatArray = (self._within(within) >= wanted).mean(axis=1)
        return shares

    def count_on(self, share: float, within: Rounds = None) -> int:
        """Return the number of participants reached in at least this share of the rounds, all seeds together.

        `within` are the rounds that count, a mask of shape (n_rounds,); by default all.

        >>> outlook = Outlook("greedy", 3, np.array([[0, 3, 3, 2, 3, 3, 3, 3, 3, 3]]), np.ones((1, 3), int), ())
        >>> outlook.count_on(0.9), outlook.count_on(0.8), outlook.count_on(1.0)
        (2, 3, 0)
        """
        return int(_counted_on(self._within(within).reshape(1, -1), share)[0])

    def _within(self, rounds: Rounds) -> IntArray:
        return self.counts if rounds is None else self.counts[:, rounds]

    def count_on_by_seed(self, share: float) -> FloatArray:
        """Return the same for each seed alone, (n_seeds,)."""
        return _counted_on(self.counts, share).astype(np.float64)

    def figure(self, name: str) -> FloatArray:
        """Return a figure of the summaries, (n_seeds,)."""
        return np.array([getattr(summary, name) for summary in self.summaries], dtype=np.float64)

    def slowdown(self, clients: int, noise_scale: float) -> float:
        """Return the ratio of rounds needed to those with `clients` on mains power, all seeds together."""
        return slowdown(self.counts, clients, noise_scale)


def _counted_on(counts: IntArray, share: float) -> IntArray:
    """Return the largest number that this share of each row's numbers reaches."""
    number_in("share", share, "[0, 1]")
    n_rounds = counts.shape[1]
    place = min(int(np.floor((1 - share) * n_rounds + 1e-9)), n_rounds - 1)
    least: IntArray = np.sort(counts, axis=1)[:, place]
    return least


_HOURS = 24
_LONGEST = 8  # hours; a longer part of the day is not informative
_SHORT_ROUNDS = 7200.0  # the longest rounds that have a time of the day [s]


@dataclass(frozen=True, slots=True)
class Month:
    """The statistics of a month of the year, all seeds together."""

    number: int  # 0 to 11
    on_target: float  # share of its rounds with as many clients as wanted
    mean: float  # participants a round
    count_on: int  # participants in 95 % of its rounds

    @property
    def name(self) -> str:
        """The month's name."""
        return MONTHS[self.number]


def months_of(outlook: Outlook, calendar: Calendar) -> list[Month]:
    """Return the months that rounds were played in, from January to December.

    >>> outlook = Outlook("greedy", 2, np.array([[2] * 31 + [1] * 28]), np.ones((1, 3), int), ())
    >>> months_of(outlook, Calendar(first_day=0, round_length=86_400))
    [Month(number=0, on_target=1.0, mean=2.0, count_on=2), Month(number=1, on_target=0.0, mean=1.0, count_on=1)]
    """
    months = calendar.months(range(outlook.counts.shape[1]))
    found = []
    for number in np.unique(months).tolist():
        within = months == number
        share, mean = float(outlook.on_target(within=within).mean()), float(outlook.counts[:, within].mean())
        found.append(Month(number, share, mean, outlook.count_on(RELIABLE, within)))
    return found


def seasons_of(outlook: Outlook, calendar: Calendar | None) -> dict[str, int]:
    """Return the clients to count on in 95 % of the rounds of each season; none if under two seasons were played."""
    if calendar is None:
        return {}
    within = {name: calendar.in_season(name, outlook.counts.shape[1]) for name in SEASONS}
    played = {name: mask for name, mask in within.items() if mask.any()}
    return {name: outlook.count_on(RELIABLE, mask) for name, mask in played.items()} if len(played) > 1 else {}


def worst_month(outlook: Outlook, calendar: Calendar | None) -> Month | None:
    """Return the month with the fewest rounds on target, then the fewest clients; None for under two months."""
    months = [] if calendar is None else months_of(outlook, calendar)
    return min(months, key=lambda month: (month.on_target, month.mean)) if len(months) > 1 else None


def hours_short(outlook: Outlook, calendar: Calendar | None) -> tuple[int, int] | None:
    """Return the shortest part of the day, from one hour to another, in which half of the rounds short begin.

    None if no round falls short, if that part is longer than eight hours, or if rounds are longer than two hours.

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
    """Return the mean turns of each site's clients over clients and seeds, in descending order.

    >>> outlook = Outlook("greedy", 1, np.array([[2]]), np.array([[4, 1, 8]]), ())
    >>> turns_by_site(outlook, ["north", "south", "north"])
    {'north': 6.0, 'south': 1.0}
    """
    turns, places = outlook.turns.mean(axis=0), np.array(sites)
    means = {site: float(turns[places == site].mean()) for site in dict.fromkeys(sites)}
    return dict(sorted(means.items(), key=lambda one: -one[1]))
