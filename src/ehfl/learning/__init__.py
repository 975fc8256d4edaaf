"""Learning: local SGD on any participation.

`train(task, participation, ...)` sends x_t out, runs K SGD steps at each participant and takes the mean (paper, section
2), and returns a `History`; with a run folder it can be killed at any instant and goes on from its last checkpoint.
Tasks (`digits`, `cifar10`, `quadratic`, `wells` or your own) come from `load_task`; the partitioners deal the data out.
`reference` is the plain loop that the engine is tested against.

May enter: torch (here and in flower/ alone), NumPy, scikit-learn, safetensors, pooch; `ehfl.randomness`, `scheduling`,
`theory`. Leaves: the names below.
"""

from ehfl.history import History, Record
from ehfl.learning.checkpoint import CheckpointError
from ehfl.learning.constants import estimate_constants
from ehfl.learning.engine import Diverged
from ehfl.learning.initialisation import initialise
from ehfl.learning.local_sgd import LocalSgd
from ehfl.learning.task import Examples, Task
from ehfl.learning.tasks import load_task
from ehfl.learning.training import train
from ehfl.partition import (
    DirichletPartitioner,
    IidPartitioner,
    InLabelOrder,
    Partitioner,
    ShardPartitioner,
    make_partitioner,
)

__all__ = [
    "CheckpointError",
    "DirichletPartitioner",
    "Diverged",
    "Examples",
    "History",
    "IidPartitioner",
    "InLabelOrder",
    "LocalSgd",
    "Partitioner",
    "Record",
    "ShardPartitioner",
    "Task",
    "estimate_constants",
    "initialise",
    "load_task",
    "make_partitioner",
    "train",
]
