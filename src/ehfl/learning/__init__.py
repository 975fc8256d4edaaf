"""Learning: local SGD on any participation.

`train(task, participation, ...)` sends x_t out, runs K SGD steps at each participant, lets an aggregation make x_{t+1}
of what comes back (paper, section 2), and returns a `History`; with a run folder it can be killed at any instant and
goes on from its last checkpoint. Tasks (`tasks/`) and aggregations (`aggregation/`) have a file each and a registry:
`TASKS`, `AGGREGATIONS`; `check_task` and `check_aggregation` try one's own. `load_model` gives a run's model back,
`evaluate` and `accuracy_by_class` judge it, `task_size` says how large it is. A round has two halves: `engine` trains
clients, `server` aggregates; the `client_side` brings one to the other, in this process (`in_process`) or from devices
(`ehfl.flower`). `reference` is the plain loop that they are tested against.

May enter: torch (here and in flower/ alone), NumPy, safetensors, pooch; `ehfl.randomness`, `registry`, `own_code`,
`scheduling`, `theory`, `history`, `run_folder`, `partition`. Leaves: the names below.
"""

from ehfl.history import History, Metric, Record
from ehfl.learning.aggregation import (
    AGGREGATIONS,
    Aggregation,
    Assignment,
    FedAu,
    FedAvgM,
    FedAwe,
    FedNova,
    FedProx,
    FedVarp,
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
from ehfl.learning.constants import Spread, estimate_constants, estimate_spread
from ehfl.learning.entry import train
from ehfl.learning.evaluation import Scores, accuracy_by_class, evaluate
from ehfl.learning.in_process import deal, training_in_process
from ehfl.learning.initialisation import initialise
from ehfl.learning.known_by import data_digest
from ehfl.learning.local_sgd import LocalSgd
from ehfl.learning.rows import Rows
from ehfl.learning.saved import load_model
from ehfl.learning.server import Diverged
from ehfl.learning.size import TaskSize, task_size
from ehfl.learning.tasks import ACCURACY, RMSE, TASKS, Examples, Task, accuracy, load_task, rmse
from ehfl.learning.tasks.check import check_task
from ehfl.learning.training import Training

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
    "FedAu",
    "FedAvgM",
    "FedAwe",
    "FedNova",
    "FedProx",
    "FedVarp",
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
