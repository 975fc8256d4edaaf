"""Classification: its loss and metric, the names of classes, and how many examples of each a client holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ehfl.arrays import IntArray
from ehfl.learning.tasks.contract import ACCURACY, Task, accuracy
from ehfl.runs import Metric
from ehfl.validation import InvalidValue, is_label, short

_LONGEST_NAME = 40  # characters: they stand in tables and figures


class Classification:
    """What tasks share whose targets are one class each."""

    metric: ClassVar[Metric] = ACCURACY

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross entropy."""
        return nn.functional.cross_entropy(outputs, targets)

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        """Return the accuracy."""
        return accuracy(outputs, targets)


def classes_of(task: Task) -> tuple[str, ...]:
    """Return the names of a task's classes, () for a task without; raise an error for invalid names or targets.

    >>> from ehfl.learning.tasks import load_task
    >>> classes_of(load_task("digits"))[-1], classes_of(load_task("quadratic"))
    ('9', ())
    """
    given = getattr(task, "classes", None)
    if given is None:
        return ()
    key = f"classes of task {task.name}"
    named = isinstance(given, tuple | list) and all(is_label(name, most=_LONGEST_NAME) for name in given)
    if not named or not len(set(given)) == len(given) >= 2:
        allowed = f"two or more different names of at most {_LONGEST_NAME} printable characters"
        raise InvalidValue(key, allowed, short(repr(given)))
    for part in ("training", "test"):
        targets = getattr(task, part).targets
        if targets.ndim != 1 or targets.is_floating_point() or targets.is_complex():
            kind = f"{targets.dtype} of shape {tuple(targets.shape)} in the {part} set"
            raise InvalidValue(key, "left out unless each target is one whole number", kind)
        low, high = int(targets.min()), int(targets.max())
        if low < 0 or high >= len(given):
            found = f"{low if low < 0 else high} in the {part} set"
            raise InvalidValue(key, f"as many as there are: targets must be in [0, {len(given) - 1}]", found)
    return tuple(given)


def label_counts(task: Task, parts: Sequence[IntArray]) -> NDArray[np.int64] | None:
    """Return how many examples of each class every client holds, (n_clients, n_classes); None without classes.

    `parts` are the clients' example numbers, as `deal` returns them.
    """
    classes = classes_of(task)
    if not classes:
        return None
    targets = task.training.targets.cpu().numpy()
    return np.array([np.bincount(targets[part], minlength=len(classes)) for part in parts], dtype=np.int64)
