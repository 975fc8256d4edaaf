"""The size of a task: the bytes of its model and the FLOP per sample, from which the energy cost of a round follows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ehfl.learning.first_model import initial_model
from ehfl.learning.tasks.contract import Task
from ehfl.learning.tasks.examples import called

_BYTES_A_WEIGHT = 4  # float32, as models are sent


class TaskSize(NamedTuple):
    """The size of a model and the work of training it on one sample."""

    model_bytes: int  # of what is sent: trained weights, and buffers that training changes
    flop_per_sample: int  # forward and backward; 0 for a model without matrix products
    examples: int  # to train on, of all clients together


def task_size(task: Task, buffers: str = "mean") -> TaskSize:
    """Return the bytes of a task's model, the FLOP that one more sample of a minibatch takes, and the examples.

    FLOP are of forward and backward, as torch's FlopCounterMode counts them: matrix products and convolutions, with 2
    FLOP per multiply-add; elementwise operations, those of optimisers too, are left out. Work that does not depend on
    the batch size, such as the transform of a kernel, cancels because the result is the count for three samples
    minus that for two.

    >>> from ehfl.learning import load_task
    >>> task_size(load_task("digits"))
    TaskSize(model_bytes=24360, flop_per_sample=127488, examples=1437)
    """
    model = initial_model(task, 0, torch.device("cpu"), buffers)
    one, two = (_flop(task, model.module, samples) for samples in (2, 3))  # batch normalisation refuses one
    return TaskSize(model.sent * _BYTES_A_WEIGHT, two - one, len(task.training))


@contextmanager
def _countable() -> Iterator[None]:
    """Make torch compose recurrent layers and attention of matrix products, which the counter knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # setting one flag of mkldnn warns of another, of Intel's graphics cards
        with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
            yield


def _flop(task: Task, model: nn.Module, samples: int) -> int:
    """Return the FLOP of a step on `samples` copies of the first example, as a task may have only one."""
    inputs, targets = task.training.batch(torch.zeros(samples, dtype=torch.int64))
    with _countable(), torch.enable_grad(), FlopCounterMode(display=False) as counter:
        task.loss(called(model, inputs), targets).backward()  # type: ignore[no-untyped-call]
    return int(counter.get_total_flops())
