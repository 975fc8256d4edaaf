"""Who holds which examples: partitions with the parameters of flwr-datasets, one file each.

Disjoint, nothing lost, seeded. Each deals `targets`, one per example, to `n_clients` clients and returns their sorted
example numbers, client by client; the sizes are the paper's D_i. All of them by name: `PARTITIONS`. `deal` asks one and
refuses a deal that breaks the rules, `check_partition` tries one of your own.

May enter: NumPy, `ehfl.arrays`, `randomness`, `registry`, `validation`. Leaves: the names below.

>>> PARTITIONS.make("dirichlet:0.3")
Dirichlet(alpha=0.3, min_partition_size=10)
"""

from ehfl.partition.check import check_partition
from ehfl.partition.contract import PARTITIONS, Partition, deal
from ehfl.partition.dirichlet import Dirichlet
from ehfl.partition.iid import Iid
from ehfl.partition.order import InLabelOrder
from ehfl.partition.shards import Shards

__all__ = ["PARTITIONS", "Dirichlet", "Iid", "InLabelOrder", "Partition", "Shards", "check_partition", "deal"]
