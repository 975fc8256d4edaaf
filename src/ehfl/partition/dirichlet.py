"""Dirichlet: everyone knows some classes better than others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import IntArray
from ehfl.partition.contract import Targets, check_enough, class_labels
from ehfl.randomness import Purpose, generator
from ehfl.validation import InvalidValue, number_in, whole_number

_ATTEMPTS = 1000


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
        # Beyond, where all shares are alike, NumPy's draws leave floating point.
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
