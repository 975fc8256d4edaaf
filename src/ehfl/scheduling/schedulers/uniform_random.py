"""UniformRandom: FedAvg's sampling."""

from __future__ import annotations

from dataclasses import dataclass

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width


@dataclass(frozen=True, slots=True)
class UniformRandom:
    """`target` clients drawn uniformly, blind to energy (FedAvg), then those among them that can pay."""

    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return those who can pay of a uniform sample."""
        return view.able(view.sample(view.width("target", self.target)))
