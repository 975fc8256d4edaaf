"""The paper's schedulers, and two baselines: uniform sampling and mains power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width


@dataclass(frozen=True, slots=True)
class Myopic:
    """The `target` longest queues (ties at random), without those that cannot pay (paper, section 3.3).

    It balances the queues and so keeps the number of participants steady. "auto" is what the harvest can sustain.
    """

    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the clients with the longest queues that can pay."""
        return view.longest(view.width("target", self.target))


@dataclass(frozen=True, slots=True)
class Greedy:
    """All clients that can pay take part (paper, section 4)."""

    def select(self, view: View) -> IntArray:
        """Return all clients that can pay."""
        return view.able()


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """The next `per_round` clients in cyclic order, those among them that can pay (paper, section 4).

    The pointer moves on whether they can or not, so it is a function of the round alone. The paper leaves the width
    open: "auto" is Myopic's target, 1 is the strict one-by-one reading.
    """

    per_round: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("per_round", self.per_round)

    def select(self, view: View) -> IntArray:
        """Return the clients in turn that can pay."""
        width = view.width("per_round", self.per_round)
        turn = (view.round * width + np.arange(width)) % view.energy.size
        return view.able(turn)


@dataclass(frozen=True, slots=True)
class UniformRandom:
    """`target` clients drawn uniformly, regardless of energy (FedAvg), without those that cannot pay."""

    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the clients of a uniform sample that can pay."""
        return view.able(view.sample(view.width("target", self.target)))


@dataclass(frozen=True, slots=True)
class AlwaysOn:
    """`target` clients drawn uniformly, all of which take part on mains power: the ideal reference.

    The sample is UniformRandom's, so the two differ by energy alone. Batteries fill up unused.
    """

    mains_powered: ClassVar[bool] = True
    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return a uniform sample."""
        return view.sample(view.width("target", self.target))
