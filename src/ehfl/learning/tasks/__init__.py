"""Tasks, by name: data, model, loss and metric.

`contract` defines the interface and what tasks with classes share, `examples` their data. `leaf` reads LEAF's files.
CIFAR has three files: its data (`cifar_files`), the paper's network (`cifar`) and two layers of that network that are
faster than torch's (`cifar_layers`).
"""

import os
from collections.abc import Mapping
from typing import Any

from ehfl.learning.tasks.contract import Task
from ehfl.registry import Registry

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
