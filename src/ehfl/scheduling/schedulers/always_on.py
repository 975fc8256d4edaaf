"""AlwaysOn: mains power, the ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width


@dataclass(frozen=True, slots=True)
class AlwaysOn:
    """`target` clients drawn uniformly, all of which take part on mains power: what a scheduler can hope for.

    The sample is UniformRandom's, so the two differ by energy alone. Batteries fill up unused.
    """

    mains_powered: ClassVar[bool] = True
    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return a uniform sample."""
        return view.sample(view.width("target", self.target))
