"""Who holds which examples: partitions with the parameters of flwr-datasets. Disjoint, nothing lost, seeded.

Each deals `labels`, shape (n_examples,), to `n_clients` clients and returns their sorted example numbers, client by
client; the sizes are the paper's D_i. All of them by name: `PARTITIONS`.

>>> PARTITIONS.make("dirichlet:0.3")
Dirichlet(alpha=0.3, min_partition_size=10)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ehfl.arrays import IntArray
from ehfl.randomness import Purpose, generator
from ehfl.registry import Registry
from ehfl.validation import InvalidValue, whole_number

_ATTEMPTS = 1000


class Partition(Protocol):
    """Deals examples to clients."""

    def partition(self, labels: IntArray, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's example numbers: together all of them, each once, nobody without any."""
        ...


@dataclass(frozen=True, slots=True)
class Iid:
    """Equal shares at random; sizes differ by at most one.

    >>> [part.size for part in Iid().partition(np.zeros(7, dtype=int), 3, seed=0)]
    [3, 2, 2]
    """

    def partition(self, labels: IntArray, n_clients: int, seed: int) -> list[IntArray]:
        """Return the shares of a shuffled deck."""
        _check_enough(labels, n_clients)
        order = generator(seed, Purpose.PARTITION).permutation(labels.size)
        return [np.sort(part) for part in np.array_split(order, n_clients)]


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Each label is dealt in shares drawn from Dirichlet(alpha): the smaller alpha, the more clients differ.

    Drawn again until every client has `min_partition_size` examples.
    M. Yurochkin et al., "Bayesian nonparametric federated learning of neural networks", ICML 2019.

    >>> parts = Dirichlet(alpha=0.3, min_partition_size=5).partition(np.arange(60) % 3, 4, seed=0)
    >>> sum(part.size for part in parts), min(part.size for part in parts) >= 5
    (60, True)
    """

    alpha: float
    min_partition_size: int = 10

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha > 0):
            raise InvalidValue("alpha", "a finite number > 0", self.alpha)
        whole_number("min_partition_size", self.min_partition_size, low=1)

    def partition(self, labels: IntArray, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's share of every label."""
        _check_enough(labels, n_clients, "min_partition_size", self.min_partition_size)
        rng = generator(seed, Purpose.PARTITION)
        groups = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
        for _ in range(_ATTEMPTS):
            parts = self._deal(groups, n_clients, rng)
            if min(part.size for part in parts) >= self.min_partition_size:
                return parts
        need = f"at least {self.min_partition_size} of the {labels.size} examples for each of {n_clients} clients"
        raise InvalidValue("alpha", f"so large that {need} is reachable", f"{self.alpha:g} ({_ATTEMPTS} draws failed)")

    def _deal(self, groups: list[IntArray], n_clients: int, rng: np.random.Generator) -> list[IntArray]:
        dealt: list[list[IntArray]] = [[] for _ in range(n_clients)]
        for group in groups:
            shares = rng.dirichlet(np.full(n_clients, self.alpha))
            cuts = (np.cumsum(shares)[:-1] * group.size).astype(np.int64)
            for client, piece in enumerate(np.split(group, cuts)):
                dealt[client].append(piece)
        return [np.sort(np.concatenate(pieces)) for pieces in dealt]


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

    def partition(self, labels: IntArray, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's shards; shard sizes differ by at most one, so that none is thrown away."""
        _check_enough(labels, n_clients, "num_shards_per_partition", self.num_shards_per_partition)
        n_shards = n_clients * self.num_shards_per_partition
        rng = generator(seed, Purpose.PARTITION)
        mixed = rng.permutation(labels.size)
        shards = np.array_split(mixed[np.argsort(labels[mixed], kind="stable")], n_shards)
        hands = rng.permutation(n_shards).reshape(n_clients, -1)
        return [np.sort(np.concatenate([shards[shard] for shard in hand])) for hand in hands]


@dataclass(frozen=True, slots=True)
class InLabelOrder:
    """Another partition's shares, handed out by their mean label: low labels to the first clients.

    With harvest rates that rise with the client's number, energy and data go together.
    """

    dealer: Partition

    def partition(self, labels: IntArray, n_clients: int, seed: int) -> list[IntArray]:
        """Return the same shares in another order."""
        shares = self.dealer.partition(labels, n_clients, seed)
        return sorted(shares, key=lambda share: float(labels[share].mean()))


PARTITIONS: Registry[Partition] = Registry(
    "partition",
    {
        "iid": "ehfl.partition:Iid",
        "dirichlet": "ehfl.partition:Dirichlet",
        "shards": "ehfl.partition:Shards",
    },
    methods=("partition",),
)


def _check_enough(labels: IntArray, n_clients: int, parameter: str = "", each: int = 1) -> None:
    """Refuse labels that are none, and examples too few for every client to hold `each`, which `parameter` asks for."""
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InvalidValue("labels", "whole numbers, one per example", f"{labels.dtype} of shape {labels.shape}")
    whole_number("clients", n_clients, low=1)
    if each > max(1, labels.size):  # not even one client could be served
        raise InvalidValue(parameter, f"at most {labels.size} (the examples)", each)
    if n_clients * each > labels.size:
        need = "the examples" if each == 1 else f"{labels.size} examples, at least {each} for each client"
        raise InvalidValue("clients", f"at most {labels.size // each} ({need})", n_clients)
