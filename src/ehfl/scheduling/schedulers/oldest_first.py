"""OldestFirst: who has waited longest."""

from __future__ import annotations

from dataclasses import dataclass

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width


@dataclass(frozen=True, slots=True)
class OldestFirst:
    """Of those who can pay, the `target` whose last turn lies farthest back, ties at random.

    The age of a client's update is what it minimises: H. H. Yang, A. Arafa, T. Q. S. Quek and H. V. Poor, "Age-based
    scheduling policy for federated learning in mobile edge networks", ICASSP 2020, arXiv 1910.14648, with energy in the
    place of its radio channel. Those who never had a turn come first.
    """

    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the oldest of those who can pay."""
        able = view.able()
        return view.first(able, view.last_turn[able], view.width("target", self.target))
