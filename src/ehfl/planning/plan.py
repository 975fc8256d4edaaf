"""A plan: the participation that a fleet can sustain with several schedulers, and what to change about the fleet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy import Fleet
from ehfl.planning.budget import Budget, Calendar
from ehfl.planning.optimum import Optimum, Share
from ehfl.planning.outlook import RELIABLE, Outlook, Rounds, months_of, seasons_of
from ehfl.planning.search import Answer
from ehfl.planning.sizes import SizeMap
from ehfl.planning.vary import Free
from ehfl.planning.want import Want
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """The share of rounds with the required clients, as a function of one property."""

    name: str  # "battery"
    scheduler: str  # label of the scheduler in the simulations
    values: tuple[float, ...]
    shown: tuple[str, ...]  # formatted values
    now: float  # the value that the fleet has
    shares: FloatArray  # (n_values, n_seeds)


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """What a fleet can sustain, and what to change about it."""

    name: str
    fleet: Fleet
    harvest: str  # as a spec writes it
    rounds: int
    seeds: tuple[int, ...]
    calendar: Calendar | None  # if rounds have a length and the harvest has dates
    budget: Budget
    outlooks: tuple[Outlook, ...]
    schedulers: dict[str, str]  # registered names by label, empty for user classes
    sites: tuple[str, ...] | None  # of each client, if there are several
    has_target: bool = False  # whether the user set a number of clients per round
    want: Want | None = None
    free: Free | None = None
    answers: Mapping[str, Answer] = field(default_factory=dict)  # by the label of the scheduler searched with
    sustain: float | None = None  # share of rounds that clients are to be sustained in
    # The most clients sustained in it, by the label of each scheduler with a target.
    sustained: Mapping[str, Answer] = field(default_factory=dict)
    levers: Mapping[str, str] = field(default_factory=dict)  # what else would do, where no value of `free` does
    curves: tuple[Curve, ...] = ()
    sizes: SizeMap | None = None  # batteries and panels together
    possible: tuple[Optimum, ...] = ()  # the optimum of each seed; empty unless requested
    note: str = ""  # a sentence on deviations from the given spec

    @property
    def wanted_clients(self) -> int:
        """The clients a round that curves and maps count: those of `want`, else the best scheduler's target."""
        return self.best.target if self.want is None else self.want.clients

    @property
    def within(self) -> Rounds:
        """The rounds that `want` is about; None for all."""
        return None if self.want is None else self.want.rounds(self.calendar, self.rounds)

    @property
    def ranked(self) -> tuple[Outlook, ...]:
        """Schedulers on harvested energy, the best first (`merit`); mains power is a reference, never an answer."""
        limited = [one for one in self.outlooks if not one.mains_powered]
        return tuple(sorted(limited, key=self.merit, reverse=True))

    @property
    def best(self) -> Outlook:
        """The first of `ranked`; where all schedulers are on mains power, the first of these."""
        return (self.ranked or self.outlooks)[0]

    def merit(self, one: Outlook) -> tuple[float, ...]:
        """Return the sort key of "best"; larger is better.

        With `want`, the share of rounds that meet it; with `sustained`, the number sustained; with a target, the share
        of rounds on target. Ties, and plans without a requirement, use the clients reached in 95 % of rounds, then the
        mean.
        """
        asked: tuple[float, ...] = ()
        if self.want is None and self.sustained:
            held = self.sustained.get(one.label)
            asked = (-1.0, 0.0) if held is None or not held.found else (held.value, held.share)
        elif self.want is not None or self.has_target:
            asked = (float(self.scores(one).mean()),)
        return *asked, one.count_on(RELIABLE), float(one.counts.mean())

    def scores(self, one: Outlook) -> FloatArray:
        """Return the share of rounds that meet the requirement; without one, the reliable clients; (n_seeds,)."""
        if self.want is not None:
            return one.on_target(self.want.clients, self.within)
        if self.has_target:
            return one.on_target()
        return one.count_on_by_seed(RELIABLE)

    @property
    def answered_by(self) -> str:
        """The scheduler with the smallest value; if none meets the requirement, the closest; empty without answers."""
        found = [label for label, answer in self.answers.items() if answer.found]
        if found:
            return min(found, key=lambda label: (self.answers[label].value, -self.answers[label].share))
        return max(self.answers, key=lambda label: np.nan_to_num(self.answers[label].share, nan=-1.0), default="")

    @property
    def answer(self) -> Answer | None:
        """The answer of `answered_by`."""
        return self.answers.get(self.answered_by)

    def shares(self, one: Outlook) -> tuple[Share, ...]:
        """Return a scheduler's share of the optimum for each seed; empty without an optimum."""
        if one.other_means or not self.possible:
            return ()
        return tuple(best.share_of(counts) for best, counts in zip(self.possible, one.counts, strict=True))

    def frame(self) -> DataFrame:
        """Return the figures as a pandas DataFrame: a row for each scheduler, means over seeds; shares are in [0, 1].

        `value` is the smallest battery, panel, fleet or round length that a search found, `sustained` the most clients.
        """
        import pandas as pd

        rows = {one.label: self._figures(one) for one in self.outlooks}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("scheduler")

    def _figures(self, one: Outlook) -> dict[str, float]:
        names = ("on_target", "empty_rounds", "worst_streak", "used", "waste", "lost", "fairness")
        counted = {f"count_on_{100 * share:.0f}": one.count_on(share) for share in (RELIABLE, 0.99)}
        means = {name: float(one.figure(name).mean()) for name in names}
        parts = seasons_of(one, self.calendar)
        if self.calendar is not None:
            parts |= {month.name.lower(): month.count_on for month in months_of(one, self.calendar)}
        seasons = {f"count_on_95_{name}": count for name, count in parts.items()}
        mean = float(one.counts.mean())
        figures: dict[str, float] = {"target": one.target, "mean": mean} | counted | seasons | means
        if answer := self.answers.get(one.label):
            figures |= _columns("value", answer) | {"found": answer.found, "share": answer.share}
        if held := self.sustained.get(one.label):
            figures |= _columns("sustained", held)
        return figures

    def __str__(self) -> str:
        head = f"{self.name}: {self.fleet.clients:,} clients, {self.rounds:,} rounds, {len(self.seeds)} seeds"
        return f"{head}\n{self.frame().T.to_string(float_format='{:.4g}'.format)}"

    def _repr_html_(self) -> str:
        return str(self.frame().T.to_html(float_format="{:.4g}".format))


def _columns(name: str, answer: Answer) -> dict[str, float]:
    """Return an answer with the ends of its interval, NaN where there is none; `_years` is how many were searched."""
    low, high = (np.nan if end is None else end for end in answer.interval)
    value = answer.value if answer.found else np.nan
    return {name: value, f"{name}_low": low, f"{name}_high": high, f"{name}_years": answer.years}


@dataclass(frozen=True)
class Designs:
    """Plans of several fleets side by side, for the same question.

    >>> from ehfl.experiment.plan import plan
    >>> fleets = {"shade": {"clients": 5, "rate": 0.2}, "sun": {"clients": 5, "rate": 0.8}}
    >>> made = [plan(name=name, fleet=fleet, rounds=50, scheduler="greedy") for name, fleet in fleets.items()]
    >>> [one.name for one in Designs(tuple(made)).ranked]
    ['sun', 'shade']
    """

    plans: tuple[Plan, ...]

    def __post_init__(self) -> None:
        names = [one.name for one in self.plans]
        if len(set(names)) < max(len(names), 2):
            raise InvalidValue("plans", "two or more, each with a name of its own", ", ".join(names))

    @property
    def ranked(self) -> tuple[Plan, ...]:
        """The plans, the best first: by the best scheduler of each, see `Plan.merit`."""
        return tuple(sorted(self.plans, key=lambda one: one.merit(one.best), reverse=True))

    def frame(self) -> DataFrame:
        """Return the figures of all plans as a pandas DataFrame: a row for each design and scheduler."""
        import pandas as pd

        return pd.concat({one.name: one.frame() for one in self.plans}, names=["design"])
