"""MostRoundsLeft: longest queues first, counted in rounds."""

from __future__ import annotations

from dataclasses import dataclass

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width


@dataclass(frozen=True, slots=True)
class MostRoundsLeft:
    """Of those who can pay, the `target` that could pay for the most rounds: largest E_i / cost_i, ties at random.

    Myopic (paper, section 3.3) for clients whose rounds cost them differently: a queue is as long as the rounds in it,
    not as the energy in it. Where all costs are equal it is Myopic, to the bit. There is nobody among the `target`
    longest that cannot pay while another can: they have less than one round left.

    Ratios are compared as float64, which rounds monotonically, so no order is turned round, and equal ratios are equal
    numbers. Different ones count as equal only if they differ by less than one part in 2^53, which takes costs above
    2^26.
    """

    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the clients that can pay for the most rounds."""
        return view.most_rounds_left(view.width("target", self.target))
