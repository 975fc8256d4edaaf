"""Shards: everyone knows a few classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import IntArray
from ehfl.partition.contract import Targets, check_enough, class_labels
from ehfl.randomness import Purpose, generator
from ehfl.validation import whole_number


@dataclass(frozen=True, slots=True)
class Shards:
    """Examples sorted by label, cut into equal shards, a few shards at random to each client.

    A client sees about `num_shards_per_partition` classes. H. B. McMahan et al., AISTATS 2017.

    >>> labels = np.arange(60) % 6
    >>> [np.unique(labels[part]).size for part in Shards(2).partition(labels, 3, seed=0)]
    [2, 2, 2]
    """

    num_shards_per_partition: int = 2

    def __post_init__(self) -> None:
        whole_number("num_shards_per_partition", self.num_shards_per_partition, low=1)

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's shards; shard sizes differ by at most one, so that none is thrown away."""
        labels = class_labels(targets, self)
        check_enough(labels, n_clients, "num_shards_per_partition", self.num_shards_per_partition)
        n_shards = n_clients * self.num_shards_per_partition
        rng = generator(seed, Purpose.PARTITION)
        mixed = rng.permutation(labels.size)
        shards = np.array_split(mixed[np.argsort(labels[mixed], kind="stable")], n_shards)
        hands = rng.permutation(n_shards).reshape(n_clients, -1)
        return [np.sort(np.concatenate([shards[shard] for shard in hand])) for hand in hands]
