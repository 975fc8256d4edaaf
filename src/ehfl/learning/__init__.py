"""Learning: local SGD on any participation.

`train(task, participation, ...)` sends x_t to the participants, which run K SGD steps each; an aggregation computes
x_{t+1} from their updates (paper, section 2). It returns a `History`. A run with a folder survives a kill at any
instant and resumes from its last checkpoint. Tasks (`tasks/`) and aggregations (`aggregation/`) have a file each and a
registry: `TASKS`, `AGGREGATIONS`; `check_task` and `check_aggregation` test a user class. `load_model` restores a run's
model, `evaluate` and `accuracy_by_class` evaluate it, `task_size` returns its size. In each round the `server` makes
`orders`, clients execute them, and the server aggregates their updates. Clients are in this process (`in_process`: an
`engine` with `workers`, or a stack of small models, `stacked`) or on devices (`ehfl.flower`). `reference` is the plain
loop that they are tested against.

May enter: torch (here and in flower/ alone), NumPy, safetensors, pooch; `ehfl.randomness`, `registry`, `user_code`,
`scheduling`, `theory`, `runs`, `partition`. Leaves: the names below.
"""

from ehfl.learning.aggregation import (
    AGGREGATIONS,
    Aggregation,
    Assignment,
    FedAdagrad,
    FedAdam,
    FedAu,
    FedAvgM,
    FedAwe,
    FedDyn,
    FedNova,
    FedProx,
    FedVarp,
    FedYogi,
    InverseProbability,
    Mean,
    Mifa,
    Scaffold,
    Scheduled,
    State,
    Update,
    Weighted,
)
from ehfl.learning.aggregation.check import check_aggregation
from ehfl.learning.checkpoint import CheckpointError
from ehfl.learning.clients import deal
from ehfl.learning.constants import Spread, estimate_constants, estimate_spread
from ehfl.learning.engine.local_sgd import LocalSgd
from ehfl.learning.entry import train, training_in_process
from ehfl.learning.evaluation import Scores, accuracy_by_class, evaluate
from ehfl.learning.identity import data_digest
from ehfl.learning.initialisation import initialise
from ehfl.learning.memory.rows import Rows
from ehfl.learning.saved import load_model
from ehfl.learning.server import Diverged
from ehfl.learning.size import TaskSize, task_size
from ehfl.learning.tasks import ACCURACY, RMSE, TASKS, Examples, Task, accuracy, load_task, rmse
from ehfl.learning.tasks.check import check_task
from ehfl.learning.training import Training
from ehfl.runs import History, Metric, Record

__all__ = [
    "ACCURACY",
    "AGGREGATIONS",
    "RMSE",
    "TASKS",
    "Aggregation",
    "Assignment",
    "CheckpointError",
    "Diverged",
    "Examples",
    "FedAdagrad",
    "FedAdam",
    "FedAu",
    "FedAvgM",
    "FedAwe",
    "FedDyn",
    "FedNova",
    "FedProx",
    "FedVarp",
    "FedYogi",
    "History",
    "InverseProbability",
    "LocalSgd",
    "Mean",
    "Metric",
    "Mifa",
    "Record",
    "Rows",
    "Scaffold",
    "Scheduled",
    "Scores",
    "Spread",
    "State",
    "Task",
    "TaskSize",
    "Training",
    "Update",
    "Weighted",
    "accuracy",
    "accuracy_by_class",
    "check_aggregation",
    "check_task",
    "data_digest",
    "deal",
    "estimate_constants",
    "estimate_spread",
    "evaluate",
    "initialise",
    "load_model",
    "load_task",
    "rmse",
    "task_size",
    "train",
    "training_in_process",
]
