"""How large a task is: the bytes of its model and the work of a sample, which is what a round costs energy for."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ehfl.learning.first_model import first_model
from ehfl.learning.tasks import Task

_BYTES_A_WEIGHT = 4  # float32, as models are sent


class TaskSize(NamedTuple):
    """What a model weighs, and what it takes to train it on one sample."""

    model_bytes: int
    flop_per_sample: int  # forward and backward; 0 where nothing of it is a network's


def task_size(task: Task) -> TaskSize:
    """Return the bytes of a task's model, and the FLOP that one more sample of a minibatch takes, forward and backward.

    Counted by torch's FlopCounterMode: matrix products and convolutions, a product and a sum each, as it computes them;
    what is elementwise is left out. What a minibatch takes whatever its size, such as the transform of a kernel, is no
    sample's, so one sample's count is taken from that of two.

    >>> from ehfl.learning import load_task
    >>> task_size(load_task("digits"))
    TaskSize(model_bytes=24360, flop_per_sample=127488)
    """
    model = first_model(task, seed=0)
    n_params = sum(parameter.numel() for parameter in model.parameters())
    one, two = (_flop(task, model, samples) for samples in (1, 2))
    return TaskSize(n_params * _BYTES_A_WEIGHT, two - one)


def _flop(task: Task, model: nn.Module, samples: int) -> int:
    """Return what a step on so many samples takes; the first one, repeated, since a task may hold no other."""
    inputs = task.training.inputs[:1].repeat_interleave(samples, dim=0)
    targets = task.training.targets[:1].repeat_interleave(samples, dim=0)
    with torch.enable_grad(), FlopCounterMode(display=False) as counter:
        task.loss(model(inputs), targets).backward()  # type: ignore[no-untyped-call]
    return int(counter.get_total_flops())
