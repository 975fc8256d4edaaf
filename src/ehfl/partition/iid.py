"""Iid: everyone's data are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import IntArray
from ehfl.partition.contract import Targets, check_enough
from ehfl.randomness import Purpose, generator


@dataclass(frozen=True, slots=True)
class Iid:
    """Equal shares at random, of targets of any kind; sizes differ by at most one.

    >>> [part.size for part in Iid().partition(np.zeros(7), 3, seed=0)]
    [3, 2, 2]
    """

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return the shares of a shuffled deck."""
        check_enough(targets, n_clients)
        order = generator(seed, Purpose.PARTITION).permutation(len(targets))
        return [np.sort(part) for part in np.array_split(order, n_clients)]
