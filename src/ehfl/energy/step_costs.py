"""What a turn costs that has fewer local steps than a whole one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import IntArray, Levels, first_of, per_client
from ehfl.validation import InvalidValue, whole_number


@dataclass(frozen=True, eq=False, slots=True)
class StepCosts:
    """A turn of k of its K steps costs cost - (K - k) step: what remains of k = 0 is waking, joining and sending.

    >>> ten, two = np.array([10], np.int32), np.array([2], np.int32)
    >>> StepCosts(5, whole=ten, step=two).prices(clients=np.array([3, 7]), steps=np.array([5, 1])).tolist()
    [10, 2]
    """

    steps: int  # K, what a whole turn has
    whole: Levels  # what a whole turn costs, shape (1,) or (n_clients,), as the next
    step: Levels  # what one of its steps costs

    def prices(self, clients: IntArray, steps: IntArray) -> IntArray:
        """Return what turns of so many steps cost these clients, (len(clients),)."""
        whole, step = (one[clients] if one.size > 1 else one for one in (self.whole, self.step))
        prices: IntArray = whole.astype(np.int64) - (self.steps - np.asarray(steps, np.int64)) * step
        return prices

    def of(self, clients: range) -> StepCosts:
        """Return those of some of the clients."""
        whole, step = (one[clients.start : clients.stop] if one.size > 1 else one for one in (self.whole, self.step))
        return StepCosts(self.steps, whole, step)


def step_costs_of(n_clients: int, steps: int | None, step_cost: ArrayLike | None, costs: Levels) -> StepCosts | None:
    """Return what steps cost, None where nobody says so; what does not fit the costs of whole turns is refused."""
    if (steps is None) != (step_cost is None):
        missing, given = ("steps", "step_cost") if steps is None else ("step_cost", "steps")
        raise InvalidValue(missing, f"given with {given}", "nothing")
    if steps is None or step_cost is None:
        return None
    whole_number("steps", steps, low=1)
    each = per_client("step_cost", step_cost, n_clients)
    if each.dtype.kind not in "iu":
        raise InvalidValue("step_cost", "whole numbers", repr(step_cost))
    # Of one step, too, the rest of a turn must cost something: energy is what limits how often clients take part.
    outside = np.broadcast_to(
        (each < 0) | (each.astype(np.int64) * (steps - 1) >= costs), np.broadcast(each, costs).shape
    )
    if outside.any():
        most = f"whole numbers >= 0 of which {steps - 1} are less than the cost of a turn of {steps} steps"
        raise InvalidValue("step_cost", most, first_of(np.broadcast_to(each, outside.shape), outside))
    return StepCosts(int(steps), costs, each.astype(np.int32))
