"""The partitions: `Iid`, `Dirichlet` and `Shards` with the parameters of flwr-datasets, and `InLabelOrder`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import IntArray
from ehfl.partition.contract import Partition, Targets, check_enough, class_labels, deal
from ehfl.randomness import Purpose, generator
from ehfl.validation import InvalidValue, number_in, whole_number

_ATTEMPTS = 1000


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
        # For larger alpha all shares are equal and NumPy's draws overflow.
        number_in("alpha", self.alpha, "(0, 1e9]")
        whole_number("min_partition_size", self.min_partition_size, low=1)

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's share of every label."""
        labels = class_labels(targets, self)
        check_enough(labels, n_clients, "min_partition_size", self.min_partition_size)
        rng = generator(seed, Purpose.PARTITION)
        groups = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
        for _ in range(_ATTEMPTS):
            parts = self._deal(groups, n_clients, rng)
            if min(part.size for part in parts) >= self.min_partition_size:
                return parts
        need = f"at least {self.min_partition_size} of the {labels.size} examples for each of {n_clients} clients"
        failed = f"{self.alpha:g}: {_ATTEMPTS} draws of seed {seed} failed"
        remedy = "take a larger alpha, a smaller min_partition_size or fewer clients"
        raise InvalidValue("alpha", f"so large that {need} is reachable", f"{failed} ({remedy})")

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

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return each client's shards; shard sizes differ by at most one, so that no example is dropped."""
        labels = class_labels(targets, self)
        check_enough(labels, n_clients, "num_shards_per_partition", self.num_shards_per_partition)
        n_shards = n_clients * self.num_shards_per_partition
        rng = generator(seed, Purpose.PARTITION)
        mixed = rng.permutation(labels.size)
        shards = np.array_split(mixed[np.argsort(labels[mixed], kind="stable")], n_shards)
        hands = rng.permutation(n_shards).reshape(n_clients, -1)
        return [np.sort(np.concatenate([shards[shard] for shard in hand])) for hand in hands]


@dataclass(frozen=True, slots=True)
class InLabelOrder:
    """Another partition's shares, sorted by mean label: low labels go to the first clients.

    With harvest rates that rise with the client's number, energy and data go together.
    """

    dealer: Partition

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return the same shares in another order."""
        shares = deal(self.dealer, targets, n_clients, seed)
        return sorted(shares, key=lambda share: float(targets[share].mean()))
