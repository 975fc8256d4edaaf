"""A plan: what a fleet can sustain under several schedulers, and what to change about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ehfl.arrays import FloatArray
from ehfl.energy import Fleet
from ehfl.planning.budget import Budget
from ehfl.planning.calendar import Calendar
from ehfl.planning.clairvoyant import Optimum, Share
from ehfl.planning.inverse import Answer, Sustained
from ehfl.planning.outlook import Outlook
from ehfl.planning.want import Want


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
    schedulers: dict[str, str]  # registered names by label, empty for the user's own
    sites: tuple[str, ...] | None  # of each client, where there are several
    want: Want | None = None
    free: Changeable | None = None
    answer: Answer | None = None
    answered_by: str = ""  # the label of the scheduler that it was found with
    # The most clients that can be had in a share of the rounds, by the label of each scheduler that can be told so.
    sustained: Mapping[str, Sustained] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()
    possible: tuple[Optimum, ...] = ()  # what any scheduler could have reached, a seed each; empty unless asked for

    @property
    def best(self) -> Outlook:
        """The scheduler with which most is wanted done, else the one with the largest mean of sqrt(n_t)."""
        if self.want is not None:
            want = self.want
            return max(self.outlooks, key=lambda one: (float(one.on_target(want.clients).mean()), one.mean_root))
        return max(self.outlooks, key=lambda one: one.mean_root)

    def shares(self, one: Outlook) -> tuple[Share, ...]:
        """Return how much of what was possible a scheduler reached, a seed each; empty unless that can be said."""
        if one.other_means or not self.possible:
            return ()
        return tuple(best.share_of(counts) for best, counts in zip(self.possible, one.counts, strict=True))
