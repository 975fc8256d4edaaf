"""Who holds which examples: partitions with the parameters of flwr-datasets.

Shares are disjoint, complete and seeded. Each partition divides `targets`, one per example, among `n_clients` clients
and returns their sorted example numbers by client; the sizes are the paper's D_i. `PARTITIONS` has all of them by name.
`deal` calls one and checks the result, `check_partition` tests a user's partition.

>>> PARTITIONS.make("dirichlet:0.3")
Dirichlet(alpha=0.3, min_partition_size=10)
"""

from ehfl.partition.contract import PARTITIONS, Partition, check_partition, deal
from ehfl.partition.kinds import Dirichlet, Iid, InLabelOrder, Shards

__all__ = ["PARTITIONS", "Dirichlet", "Iid", "InLabelOrder", "Partition", "Shards", "check_partition", "deal"]
