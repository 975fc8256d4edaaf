"""What a scheduler sees at the start of a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ehfl.energy.battery import Levels
from ehfl.energy.harvest import IntArray
from ehfl.randomness import Purpose, generator
from ehfl.scheduling.selection import longest_queues
from ehfl.validation import InvalidValue, whole_number

Auto = Literal["auto"]  # as many clients a round as the fleet can sustain


@dataclass(frozen=True, slots=True)
class View:
    """Energy, cost and chance of one round, and the selections that policies are made of.

    >>> view = View(round=0, energy=np.array([2, 0, 3, 1], dtype=np.int32))
    >>> view.longest(2).tolist(), view.able(np.array([0, 1])).tolist()
    ([0, 2], [0])
    """

    round: int
    energy: Levels  # E_i(t), (n_clients,) [units], read-only
    cost: int = 1  # what a participant spends [units]
    seed: int = 0
    sustainable: int = 1  # how many clients a round the harvest can pay for
    feedback: object = None  # what the learner sent after the round before, see `play`

    def longest(self, count: int) -> NDArray[np.int32]:
        """Return the `count` longest queues, ties broken at random, less those that cannot pay; sorted."""
        return longest_queues(self.energy, count, self.cost, self.seed, self.round)

    def sample(self, count: int) -> NDArray[np.int32]:
        """Return `count` clients drawn uniformly without replacement, whether or not they can pay; sorted."""
        level = np.zeros(self.energy.size, np.int32)  # equal queues: the tie-break alone decides
        return longest_queues(level, count, 0, self.seed, self.round)

    def able(self, clients: IntArray) -> IntArray:
        """Return those of these clients that can pay."""
        return clients[self.energy[clients] >= self.cost]

    def width(self, name: str, value: int | Auto) -> int:
        """Return a policy's number of clients a round: as given, or what the fleet can sustain."""
        if value == "auto":
            return self.sustainable
        if value > self.energy.size:
            raise InvalidValue(name, f"at most the number of clients ({self.energy.size})", value)
        return value

    def generator(self) -> np.random.Generator:
        """Return a generator of the schedule stream for this round: equal views, equal draws."""
        return generator(self.seed, Purpose.SCHEDULE, round_=self.round)


def check_width(name: str, value: int | Auto) -> None:
    """Refuse a number of clients a round that no fleet could have."""
    if value != "auto":
        whole_number(name, value, low=1)
