"""A plan: what a fleet can sustain under several schedulers, and what to change about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy import Fleet
from ehfl.planning.budget import Budget
from ehfl.planning.calendar import Calendar
from ehfl.planning.clairvoyant import Optimum, Share
from ehfl.planning.inverse import Answer, Sustained
from ehfl.planning.outlook import Outlook
from ehfl.planning.want import Want

RELIABLE = 0.95  # share of rounds in which clients can be counted on


class Changeable(Protocol):
    """What may be changed about a fleet."""

    @property
    def name(self) -> str:
        """What it is, such as "battery"."""

    @property
    def now(self) -> float:
        """The value that the fleet has."""

    @property
    def shown(self) -> Callable[[float], str]:
        """How a value is written."""


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """The share of rounds with as many clients as wanted, by the value of one thing."""

    name: str  # "battery"
    scheduler: str  # the label of the one that it was played with
    values: tuple[float, ...]
    shown: tuple[str, ...]  # values as people read them
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
    calendar: Calendar | None  # where rounds have a length and the harvest knows the date
    budget: Budget
    outlooks: tuple[Outlook, ...]
    schedulers: dict[str, str]  # registered names by label, empty for user classes
    sites: tuple[str, ...] | None  # of each client, where there are several
    has_target: bool = False  # whether a number of clients a round was asked for
    want: Want | None = None
    free: Changeable | None = None
    answers: Mapping[str, Answer] = field(default_factory=dict)  # by the label of the scheduler searched with
    # The most clients that can be had in a share of the rounds, by the label of each scheduler that takes a target.
    sustained: Mapping[str, Sustained] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()
    possible: tuple[Optimum, ...] = ()  # what any scheduler could have reached, a seed each; empty unless asked for
    note: str = ""  # a sentence on what was planned otherwise than given

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
        """Return what "best" means, by what was asked; the larger, the better.

        With `want`, the share of rounds that meet it; with `sustained`, the number sustained; with a target, the share
        of rounds on target. Then, and where nothing was asked, the clients counted on in 95 % of rounds and the mean.
        """
        asked: tuple[float, ...] = ()
        if self.want is None and self.sustained:
            held = self.sustained.get(one.label)
            asked = (-1.0, 0.0) if held is None else (held.clients, float(held.shares.mean()))
        elif self.want is not None or self.has_target:
            asked = (float(self.scores(one).mean()),)
        return *asked, one.count_on(RELIABLE), float(one.counts.mean())

    def scores(self, one: Outlook) -> FloatArray:
        """Return the rounds that do what was asked, as a share; else the clients counted on; (n_seeds,)."""
        if self.want is not None:
            return one.on_target(self.want.clients)
        if self.has_target:
            return one.on_target()
        return one.count_on_by_seed(RELIABLE)

    @property
    def answered_by(self) -> str:
        """The scheduler that needs the least; where no value does, the one that came closest; empty without answers."""
        found = [label for label, answer in self.answers.items() if answer.found]
        if found:
            return min(found, key=lambda label: (self.answers[label].value, -self.answers[label].share))
        return max(self.answers, key=lambda label: np.nan_to_num(self.answers[label].share, nan=-1.0), default="")

    @property
    def answer(self) -> Answer | None:
        """What `answered_by` found."""
        return self.answers.get(self.answered_by)

    def shares(self, one: Outlook) -> tuple[Share, ...]:
        """Return how much of what was possible a scheduler reached, a seed each; empty unless that can be said."""
        if one.other_means or not self.possible:
            return ()
        return tuple(best.share_of(counts) for best, counts in zip(self.possible, one.counts, strict=True))
