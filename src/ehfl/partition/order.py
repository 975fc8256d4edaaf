"""InLabelOrder: who gets which of the shares that another partition deals."""

from __future__ import annotations

from dataclasses import dataclass

from ehfl.arrays import IntArray
from ehfl.partition.contract import Partition, Targets, deal


@dataclass(frozen=True, slots=True)
class InLabelOrder:
    """Another partition's shares, handed out by their mean label: low labels to the first clients.

    With harvest rates that rise with the client's number, energy and data go together.
    """

    dealer: Partition

    def partition(self, targets: Targets, n_clients: int, seed: int) -> list[IntArray]:
        """Return the same shares in another order."""
        shares = deal(self.dealer, targets, n_clients, seed)
        return sorted(shares, key=lambda share: float(targets[share].mean()))
