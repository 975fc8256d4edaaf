"""The interface of a task: data, model, loss and metric."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from torch import Tensor, nn

from ehfl.learning.tasks.examples import Examples
from ehfl.runs import Metric
from ehfl.validation import InvalidValue

ACCURACY = Metric("accuracy", bounds=(0, 1))
RMSE = Metric("RMSE", lower_is_better=True, bounds=(0, None))


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
