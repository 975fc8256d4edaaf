"""Forecast: as many as the coming rounds can bear."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.scheduling.view import Auto, View, check_width
from ehfl.validation import whole_number

_ROUNDING = 1e-9  # of sums over clients: ten tenths are one


@dataclass(frozen=True, slots=True)
class Forecast:
    """The m clients with the most rounds left, m being what the expected energy can bear through `horizon` rounds.

    m is the largest number, at most `target` and at least 1, that a fluid fleet could have in every one of the rounds
    t..t+horizon-1. Its levels e_i, in rounds, start from E_i / cost_i. In each round everyone gives the same share of
    what it can, min(e_i, 1), so that it is m in all, and then harvests what is expected:

        e_i <- min(e_i - min(e_i, 1) m / S + a_i / cost_i, capacity_i / cost_i),   S = sum of min(e_i, 1),

    never below 0 (a_i may be, where devices that stand by draw more than comes in); m can be borne if S >= m in every
    round. A smaller m leaves every level at least as high, so there is a largest. If round s falls short with S < m, no
    more than (m s + S) / (s + 1) can be borne: clients that had given d less in each of s rounds would hold at most d s
    more. The search goes down by that bound, which passes over nothing. It is done anew in each round, and its first
    round alone is played: a receding horizon.

    C. Moser, L. Thiele, D. Brunelli and L. Benini, "Adaptive power management in energy harvesting systems", DATE 2007
    (receding horizon on predicted harvest); C. Renner, F. Meier and V. Turau, "Policies for predictive energy
    management with supercapacitors", PerSeNS 2012 (the largest uniform demand that a horizon can bear). These are for
    one node; that a fleet shares the demand is ours.

    What is expected is `view.ahead`: of a harvest that can be foretold, by hour and season, else the mean rate. Leaks
    are not foreseen, and a horizon that is shorter than a night does not see the morning.
    """

    horizon: int = 24
    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        whole_number("horizon", self.horizon, low=1, high=100_000)
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the richest m."""
        return view.most_rounds_left(self.steady(view))

    def steady(self, view: View) -> int:
        """Return m."""
        # A pool of all energy, where nothing overflows, could not bear more: a start that saves most of the search.
        harvest = [_rounds_in(np.maximum(row, 0), view) for row in view.ahead(self.horizon)]
        held = _rounds_in(view.energy, view) + np.append(0, np.cumsum(harvest)[:-1])  # until each round, (horizon,)
        most = math.floor((held / np.arange(1, self.horizon + 1)).min() + _ROUNDING)
        m: int = min(view.width("target", self.target), most)
        while m > 1 and (bound := self._bound(view, m)) < m:
            m = bound
        return max(m, 1)

    def _bound(self, view: View, m: int) -> int:
        """Return m if it can be borne, else a smaller number that none which can be borne exceeds."""
        level = view.energy.astype(np.float64)  # e_i times the cost, which saves a division
        turns = np.empty_like(level)
        for s, harvest in enumerate(view.ahead(self.horizon)):
            there = _rounds_in(np.minimum(level, view.cost, out=turns), view)
            if there < m - _ROUNDING:
                return math.floor((m * s + there) / (s + 1) + _ROUNDING)
            turns *= min(m / there, 1)
            level -= turns
            level += harvest
            np.minimum(level, view.capacity, out=level)
            np.maximum(level, 0, out=level)
        return m


def _rounds_in(energy: FloatArray | IntArray, view: View) -> float:
    """Return how many rounds so much energy of each client pays for, together."""
    if isinstance(view.cost, np.ndarray):
        return float((energy / view.cost).sum())
    return float(energy.sum()) / view.cost
