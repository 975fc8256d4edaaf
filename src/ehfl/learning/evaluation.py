"""Loss and metric over a set of examples, a few at a time."""

from __future__ import annotations

import torch
from torch import nn

from ehfl.learning.tasks import Examples, Task

CHUNK = 200  # examples at a time: small enough to stay near the caches, large enough for the matmuls


def evaluate(task: Task, model: nn.Module, examples: Examples) -> tuple[float, float]:
    """Return the mean loss and the mean metric over the examples."""
    loss = metric = 0.0
    # Evaluation must not see a training mode that a user's layer may have.
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(examples), CHUNK):
            inputs, targets = examples.inputs[start : start + CHUNK], examples.targets[start : start + CHUNK]
            outputs = model(inputs)
            loss += len(inputs) * float(task.loss(outputs, targets))
            metric += len(inputs) * task.score(outputs, targets)
    model.train()
    return loss / len(examples), metric / len(examples)
