"""Loss and metric over a set of examples: outputs are computed a few at a time, and judged all at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ehfl.learning.server import Diverged
from ehfl.learning.tasks import TASKS, Examples, Task
from ehfl.validation import InvalidValue, of_kind, short

CHUNK = 200  # examples at a time: small enough to stay near the caches, large enough for the matmuls


class Scores(NamedTuple):
    """What a set of examples says of a model."""

    loss: float
    metric: float


def evaluate(task: Task | str, model: nn.Module, examples: Examples | None = None) -> Scores:
    """Return loss and metric of the model on the examples, those of the test set unless given.

    Both are computed on the outputs of all examples together, so they need not be means over examples.

    >>> import numpy as np
    >>> from ehfl import load_task
    >>> first = load_task("quadratic").model(np.random.default_rng(0))
    >>> round(evaluate("quadratic", first).loss, 2)  # f(x_0)
    5.5
    """
    task, model = TASKS.make(task), of_kind("model", model, nn.Module)
    examples = task.test if examples is None else of_kind("examples", examples, Examples)
    was_training, versions = model.training, _versions(examples)
    model.eval()  # evaluation must not see a training mode that a user's layer may have
    try:
        with torch.inference_mode():
            outputs = torch.cat([outputs_of(model, chunk) for chunk in torch.split(examples.inputs, CHUNK)])
            loss = float(task.loss(outputs, examples.targets))
            if not math.isfinite(loss):
                raise Diverged(f"test loss is {loss}")
            score = checked_score(task, task.score(outputs, examples.targets))
    finally:
        model.train(was_training)
    if _versions(examples) != versions:  # the next evaluation would be on other data
        raise InvalidValue(
            f"task {task.name}", "one that leaves the examples as they are", "them changed by evaluation"
        )
    return Scores(loss, score)


def _versions(examples: Examples) -> list[int]:
    """Return how often the examples were changed in place: torch counts it, but for tensors made for inference."""
    return [0 if values.is_inference() else values._version for values in (examples.inputs, examples.targets)]


def outputs_of(model: nn.Module, inputs: Tensor) -> Tensor:
    """Return the model's outputs, of which there must be one for each example."""
    outputs = model(inputs)
    if not isinstance(outputs, Tensor) or outputs.shape[:1] != (len(inputs),):
        shape = f"shape {tuple(outputs.shape)}" if isinstance(outputs, Tensor) else type(outputs).__name__
        allowed = f"one that returns a tensor with a row for each of {len(inputs)} examples"
        raise InvalidValue("model", allowed, shape)
    return outputs


def checked_score(task: Task, score: float | Tensor) -> float:
    """Return a score as a number, or refuse one that is no value of the task's metric."""
    try:
        number = float(score)
    except (TypeError, ValueError):
        allowed = f"one number, the {task.metric.name} of all outputs"
        raise InvalidValue(f"score of task {task.name}", allowed, short(repr(score))) from None
    if not task.metric.allows(number):
        raise InvalidValue(f"score of task {task.name}", task.metric.range, number)
    return number
