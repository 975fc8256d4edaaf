"""Threshold: only those who would have something left."""

from __future__ import annotations

from dataclasses import dataclass

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width
from ehfl.validation import number_in


@dataclass(frozen=True, slots=True)
class Threshold:
    """Of those who keep at least `reserve` rounds' costs after paying, the `target` with the most rounds left.

    E_i - cost_i >= reserve * cost_i; then the largest E_i / cost_i, ties at random.

    A battery that is never drawn down to nothing carries its client through a night or a calm: A. Kansal, J. Hsu,
    S. Zahedi and M. B. Srivastava, "Power management in energy harvesting sensor networks", ACM TECS 6(4), 2007, whose
    energy-neutral operation spends no more than what comes in and needs a buffer against its variations.
    A threshold is the plainest rule of that kind; the paper's own one adapts a node's duty cycle.

    The reserve is counted in the client's own rounds, since that means the same in units and in joules, for small and
    large batteries, and for infinite ones, of which no share can be taken. It lies unused for ever: what it buys is
    that no client is empty, so whoever is asked again soon can pay. With 0 it is MostRoundsLeft; with a target of all
    clients everyone above the threshold takes part.
    """

    reserve: float = 1.0
    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        number_in("reserve", self.reserve, "[0, 1e9]")
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return those with the most rounds left who keep the reserve."""
        return view.most_rounds_left(view.width("target", self.target), self.reserve)
