"""The interface of a task: data, model, loss and metric; and what tasks share whose targets are classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ehfl.arrays import IntArray
from ehfl.learning.tasks.examples import Examples
from ehfl.runs import Metric as Metric  # noqa: PLC0414  # a public name of ehfl.learning
from ehfl.validation import InvalidValue, is_label, short

ACCURACY = Metric("accuracy", bounds=(0, 1))
RMSE = Metric("RMSE", lower_is_better=True, bounds=(0, None))
_LONGEST_NAME = 40  # characters of a class's name: it stands in tables and figures


class Task(Protocol):
    """Data, model, loss and metric; implement these and `train` does the rest.

    The four properties may be plain attributes. The model may have frozen parameters, buffers that training changes and
    random operations of torch; in evaluation it must not mix the examples of a batch. `check_task` tests an
    implementation.

    A task whose targets are class labels 0, 1, ... may name them in an attribute `classes: tuple[str, ...]`; its model
    then has one output per class, predicts the class of the largest, and every evaluation also reports each class.
    """

    @property
    def name(self) -> str:
        """The name of the task, also in the run's checkpoint."""
        ...

    @property
    def metric(self) -> Metric:
        """The metric of `score`: its name, whether lower is better, and its bounds."""
        ...

    @property
    def training(self) -> Examples:
        """The examples that are partitioned among the clients."""
        ...

    @property
    def test(self) -> Examples:
        """The examples on which the model is evaluated."""
        ...

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return a new model, its weights drawn from `rng` (`initialise` does it), by torch itself, or fixed."""
        ...

    def loss(self, outputs: Any, targets: Tensor) -> Tensor:
        """Return the loss of a minibatch or of the test set: one differentiable number, usually a mean."""
        ...

    def score(self, outputs: Any, targets: Tensor) -> float:
        """Return the metric of these outputs, a finite number within its bounds. One call gets all test examples."""
        ...


def accuracy(outputs: Tensor, targets: Tensor) -> float:
    """Return the share of examples whose largest output is the target's.

    >>> import torch
    >>> accuracy(torch.tensor([[0.0, 1.0], [2.0, 1.0]]), torch.tensor([1, 1]))
    0.5
    """
    return int((outputs.argmax(dim=1) == targets).sum()) / len(targets)


def rmse(outputs: Tensor, targets: Tensor) -> float:
    """Return the root of the mean squared error, over all entries of all examples.

    >>> import torch
    >>> rmse(torch.tensor([[1.0], [5.0]]), torch.tensor([[3.0], [3.0]]))  # the root of (4 + 4) / 2
    2.0
    """
    if outputs.shape != targets.shape:  # torch would broadcast outputs against targets
        shapes = f"{tuple(outputs.shape)} and {tuple(targets.shape)}"
        raise InvalidValue("outputs", "of the shape of the targets", shapes)
    return float((outputs.cpu().double() - targets.cpu().double()).square().mean().sqrt())


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
