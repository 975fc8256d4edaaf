"""Tasks by name, for the command line and specs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ehfl.learning.cifar10 import Cifar10
from ehfl.learning.digits import Digits
from ehfl.learning.problem_tasks import quadratic, wells
from ehfl.learning.task import Task
from ehfl.validation import InvalidValue, closest

DataDir = str | os.PathLike[str] | None

TASKS: Mapping[str, Callable[[DataDir], Task]] = MappingProxyType(
    {
        "digits": lambda _: Digits(),
        "cifar10": Cifar10,
        "quadratic": lambda _: quadratic(),
        "wells": lambda _: wells(),
    }
)

_PARTS = ("name", "metric_name", "training", "test", "model", "loss", "metric")  # of the protocol Task


def load_task(name: str, data_dir: DataDir = None) -> Task:
    """Return the task of that name, or what "package.module:factory" returns; `data_dir` is where its data lie.

    >>> load_task("quadratic").metric_name
    'gap'
    """
    module, _, factory = name.partition(":")
    if factory:
        return _imported(module, factory)
    key = name.strip().lower()
    if key not in TASKS:
        allowed = f"one of {', '.join(TASKS)} or package.module:factory"
        raise InvalidValue("task", allowed, f"{name}{closest(key, TASKS)}")
    return TASKS[key](data_dir)


def _imported(module: str, factory: str) -> Task:
    try:
        task: Task = getattr(importlib.import_module(module), factory)()
    except Exception as error:  # whatever the user's own code raises
        raise InvalidValue("task", "importable as package.module:factory", f"{module}:{factory} ({error})") from error
    lacking = [name for name in _PARTS if not hasattr(task, name)]
    if lacking:
        raise InvalidValue("task", f"one with {', '.join(_PARTS)}", f"{module}:{factory} without {', '.join(lacking)}")
    return task
