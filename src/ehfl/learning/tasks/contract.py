"""What a task is: data, model, loss and metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor, nn

from ehfl.history import Metric
from ehfl.validation import InvalidValue

ACCURACY = Metric("accuracy", bounds=(0, 1))
RMSE = Metric("RMSE", lower_is_better=True, bounds=(0, None))


@dataclass(frozen=True, eq=False, slots=True)
class Examples:
    """Inputs and targets, whole, in memory: a minibatch is an index into them."""

    inputs: Tensor  # (n_examples, ...), any dtype; the model takes a batch of it as it is
    targets: Tensor  # (n_examples, ...); class labels are whole numbers of shape (n_examples,)

    def __post_init__(self) -> None:
        parts: dict[str, object] = {"inputs": self.inputs, "targets": self.targets}
        for name, given in parts.items():
            if not isinstance(given, Tensor):
                allowed = f"one tensor with an example a row: no dict, list or array of {name} is taken yet"
                raise InvalidValue(f"examples.{name}", allowed, type(given).__name__)
        if not len(self.inputs) or len(self.inputs) != len(self.targets):
            sizes = f"{len(self.inputs)} inputs and {len(self.targets)} targets"
            raise InvalidValue("examples", "as many inputs as targets, at least one", sizes)

    def __len__(self) -> int:
        return len(self.inputs)


class Task(Protocol):
    """Data, model, loss and metric; implement these and `train` does the rest.

    Plain attributes serve for the four facts. The model's parameters are what is learned and averaged; it may keep no
    other state and mix no examples of a batch, so no batch normalisation, and draw no chance while it trains, so no
    dropout. `check_task` tries it.

    A task whose targets are class labels 0, 1, ... may name them in an attribute `classes: tuple[str, ...]`; its model
    then has one output for each, of which the largest is its answer, and every evaluation is by class, too.
    """

    @property
    def name(self) -> str:
        """What the task is called, in the run's checkpoint too."""
        ...

    @property
    def metric(self) -> Metric:
        """What `score` measures: its name, whether lower is better, and between which bounds it lies."""
        ...

    @property
    def training(self) -> Examples:
        """What is dealt out to the clients."""
        ...

    @property
    def test(self) -> Examples:
        """What the model is evaluated on."""
        ...

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return a new model, its weights drawn from `rng` (`initialise` does it) or fixed."""
        ...

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of a minibatch, or of a whole test set: one number, to differentiate; mostly a mean."""
        ...

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        """Return the metric of these outputs, a finite number within its bounds. All test examples come in one call."""
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
    if outputs.shape != targets.shape:  # torch would set every output beside every target
        shapes = f"{tuple(outputs.shape)} and {tuple(targets.shape)}"
        raise InvalidValue("outputs", "of the shape of the targets", shapes)
    return float((outputs.cpu().double() - targets.cpu().double()).square().mean().sqrt())
