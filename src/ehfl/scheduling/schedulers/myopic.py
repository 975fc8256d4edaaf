"""Myopic: longest queues first."""

from __future__ import annotations

from dataclasses import dataclass

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width


@dataclass(frozen=True, slots=True)
class Myopic:
    """The `target` longest queues (ties at random), then those among them that can pay (paper, section 3.3).

    It balances the queues and so keeps the number of participants steady. "auto" is what the harvest can sustain.
    """

    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the clients with the longest queues that can pay."""
        return view.longest(view.width("target", self.target))
