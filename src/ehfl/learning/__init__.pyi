"""The public names: each is imported when it is first used (`__init__.py`)."""

from .aggregation import AGGREGATIONS as AGGREGATIONS
from .aggregation.around import (
    ByData as ByData,
    FedAdagrad as FedAdagrad,
    FedAdam as FedAdam,
    FedAvgM as FedAvgM,
    FedProx as FedProx,
    FedYogi as FedYogi,
    Scaffold as Scaffold,
)
from .aggregation.check import check_aggregation as check_aggregation
from .aggregation.contract import Aggregation as Aggregation, Assignment as Assignment, State as State, Update as Update
from .aggregation.mean import Mean as Mean, Weighted as Weighted
from .aggregation.memories import FedAwe as FedAwe, FedDyn as FedDyn, FedVarp as FedVarp, Mifa as Mifa
from .aggregation.weights import (
    FedAu as FedAu,
    FedNova as FedNova,
    InverseProbability as InverseProbability,
    Scheduled as Scheduled,
)
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
    load_model as load_model,
)
from .identity import data_digest as data_digest
from .initialisation import initialise as initialise
from .memory import Rows as Rows
from .server import Diverged as Diverged
from .first_model import TaskSize as TaskSize, task_size as task_size
from .tasks import TASKS as TASKS, load_task as load_task
from .tasks.contract import (
    ACCURACY as ACCURACY,
    Metric as Metric,
    RMSE as RMSE,
    Task as Task,
    accuracy as accuracy,
    rmse as rmse,
)
from .tasks.examples import Examples as Examples
from .tasks.check import check_task as check_task
from .training import Training as Training
