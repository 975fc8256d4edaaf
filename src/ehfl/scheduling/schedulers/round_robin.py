"""RoundRobin: by turns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width


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
        """Return those who can pay of the clients whose turn it is."""
        width = view.width("per_round", self.per_round)
        turn = (view.round * width + np.arange(width)) % view.energy.size
        return view.able(turn)
