"""The public names: each is imported when it is first used (`__init__.py`)."""

from .aggregation import (
    AGGREGATIONS as AGGREGATIONS,
    Aggregation as Aggregation,
    Assignment as Assignment,
    ByData as ByData,
    FedAdagrad as FedAdagrad,
    FedAdam as FedAdam,
    FedAu as FedAu,
    FedAvgM as FedAvgM,
    FedAwe as FedAwe,
    FedDyn as FedDyn,
    FedNova as FedNova,
    FedProx as FedProx,
    FedVarp as FedVarp,
    FedYogi as FedYogi,
    InverseProbability as InverseProbability,
    Mean as Mean,
    Mifa as Mifa,
    Scaffold as Scaffold,
    Scheduled as Scheduled,
    State as State,
    Update as Update,
    Weighted as Weighted,
)
from .aggregation.check import check_aggregation as check_aggregation
from .checkpoint import CheckpointError as CheckpointError
from .clients import deal as deal
from .constants import (
    Spread as Spread,
    estimate_constants as estimate_constants,
    estimate_spread as estimate_spread,
)
from .engine.local_sgd import LocalSgd as LocalSgd
from .entry import train as train, training_in_process as training_in_process
from .evaluation import (
    Scores as Scores,
    accuracy_by_class as accuracy_by_class,
    evaluate as evaluate,
)
from .identity import data_digest as data_digest
from .initialisation import initialise as initialise
from .memory.rows import Rows as Rows
from .saved import load_model as load_model
from .server import Diverged as Diverged
from .size import TaskSize as TaskSize, task_size as task_size
from .tasks import (
    ACCURACY as ACCURACY,
    Metric as Metric,
    RMSE as RMSE,
    TASKS as TASKS,
    Examples as Examples,
    Task as Task,
    accuracy as accuracy,
    load_task as load_task,
    rmse as rmse,
)
from .tasks.check import check_task as check_task
from .training import Training as Training
