"""Tasks: data, model, loss and metric, one file each, and all of them by name.

`contract` defines the interface, `examples` their data, `classes` the additions for tasks with classes. `leaf` reads
LEAF's files. CIFAR has four files: its data (`cifar_files`), the paper's network (`cifar`) and two layers of that
network that are faster than torch's (`convolution`, `normalisation`).
"""

import os
from collections.abc import Mapping
from typing import Any

from ehfl.learning.tasks.classes import classes_of, label_counts
from ehfl.learning.tasks.contract import ACCURACY, RMSE, Task, accuracy, rmse
from ehfl.learning.tasks.examples import Examples
from ehfl.registry import Registry
from ehfl.runs import Metric

TASKS: Registry[Task] = Registry(
    "task",
    {
        "digits": "ehfl.learning.tasks.digits:Digits",
        "cifar10": "ehfl.learning.tasks.cifar:Cifar10",
        "cifar100": "ehfl.learning.tasks.cifar:Cifar100",
        "femnist": "ehfl.learning.tasks.leaf:Femnist",
        "shakespeare": "ehfl.learning.tasks.leaf:Shakespeare",
        "quadratic": "ehfl.learning.tasks.problems:quadratic",
        "wells": "ehfl.learning.tasks.problems:wells",
    },
    methods=("model", "loss", "score"),
    attributes=("name", "metric", "training", "test"),
)


def load_task(name: str | Mapping[str, Any], data: str | os.PathLike[str] | None = None) -> Task:
    """Return the task of that name, or of a user class, "package.module:Class"; `data` is the path of its data.

    >>> load_task("quadratic").metric.name
    'gap'
    """
    return TASKS.make(TASKS.table(name) | ({} if data is None else {"data": str(data)}))


__all__ = [
    "ACCURACY",
    "RMSE",
    "TASKS",
    "Examples",
    "Metric",
    "Task",
    "accuracy",
    "classes_of",
    "label_counts",
    "load_task",
    "rmse",
]
