"""AdaptiveSteps: as many local steps as a client can pay for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width
from ehfl.validation import number_in


@dataclass(frozen=True, slots=True)
class AdaptiveSteps:
    """Of those who can pay for one step and keep `reserve` rounds' costs, the `target` with the most rounds left.

    Each takes as many of the K steps as it can pay for: the largest k_i <= K with

        cost_i - (K - k_i) step_cost_i <= E_i - reserve * cost_i.

    How much clients compute follows from what they have, as in S. Wang et al., "Adaptive federated learning in resource
    constrained edge computing systems", IEEE JSAC 37(6), 2019, arXiv 1804.05271, where one number of steps is for all.
    That clients differ draws a plain mean towards those who take the most steps; the aggregation `fednova` (J. Wang et
    al., arXiv 2007.07481), which divides each update by its steps, does not let that happen.

    Where the fleet does not say what a step costs (`Fleet.step_cost`), turns are whole: it is Threshold then.
    """

    target: int | Auto = "auto"
    reserve: float = 0.0

    def __post_init__(self) -> None:
        check_width("target", self.target)
        number_in("reserve", self.reserve, "[0, 1e9]")

    def select(self, view: View) -> IntArray:
        """Return those with the most rounds left who can pay for a step."""
        width = view.width("target", self.target)
        if view.local_steps is None:
            return view.most_rounds_left(width, self.reserve)
        able = self._payable(view, view.local_steps) >= 1
        return view.largest(np.where(able, view.rounds_left, -1.0), min(width, int(able.sum())))

    def steps(self, view: View, clients: IntArray) -> IntArray:
        """Return k_i, at least 1."""
        assert view.local_steps is not None, "it is asked only where a step has a cost"
        return np.maximum(self._payable(view, view.local_steps)[clients], 1)

    def _payable(self, view: View, most: int) -> IntArray:
        """Return how many steps each client can pay for, (n_clients,); none, or fewer, if not even one."""
        lacking = view.least(self.reserve) - view.energy  # of what a whole turn takes
        step = np.maximum(view.step_cost, 1)
        forgone = np.where(np.equal(view.step_cost, 0), most, -(-lacking // step))
        payable: IntArray = most - np.where(lacking > 0, forgone, 0)
        return payable
