"""x_0, the initial model of a run: the checks that it must pass, and its size, from which a round's energy follows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ehfl.learning.checkpoint import STATE
from ehfl.learning.engine.chance import Chance
from ehfl.learning.engine.flat import FlatModel, Traits
from ehfl.learning.evaluation import outputs_of
from ehfl.learning.initialisation import build_model
from ehfl.learning.tasks.contract import Task
from ehfl.learning.tasks.examples import Batch, between, called, joined, leaves
from ehfl.validation import InvalidValue

# Examples that a model is tried on, all of them at once and then cut in two: no part has a single one, which batch
# normalisation refuses by itself.
_TRIED, _FIRST = 8, 3
# A float32 sum of n terms is off by n 2^-24 of their sizes at most, and a batch of another size may be summed in
# another order: room for n = 2^16 over all layers, in the worst case. Batch normalisation changes outputs by far more.
_ROUNDING = 2.0**-8
_BYTES_A_WEIGHT = 4  # float32, as models are sent


def initial_model(task: Task, seed: int, device: torch.device, buffers: str = "mean") -> FlatModel:
    """Return x_0 on a device, all its weights in one vector; `buffers` is what becomes of those that training moves."""
    model, spare = _two_models(task, seed)
    traits = traits_of(task, spare, seed)
    if buffers == "frozen":  # the layers that own them use them in training, too
        owners = dict.fromkeys(name.rpartition(".")[0] for name in (*traits.moving, *traits.restarted))
        traits = Traits(fixed=tuple(owners), draws=traits.draws)
    return FlatModel(model, device, traits)


def first_model(task: Task, seed: int) -> nn.Module:
    """Return x_0; raise an error if the task's model is not a pure function of task and seed."""
    return _two_models(task, seed)[0]


def _two_models(task: Task, seed: int) -> tuple[nn.Module, nn.Module]:
    """Return x_0, and another model that may be changed."""
    model, second = (build_model(task, seed) for _ in range(2))
    check_model(model)
    if second is model:  # the next run would start from the weights that this run has trained
        raise InvalidValue("model", "a new one whenever the task is asked for it", "the same one twice")
    there = second.state_dict()
    for name, value in model.state_dict().items():
        if name not in there or not torch.equal(value, there[name]):
            allowed = "made from the given rng, or by torch's own random numbers"
            raise InvalidValue("model", allowed, f"{name} that differs when asked again")
    _check_examples_apart(second, task.training.some(_TRIED)[0])  # it changes weights: spare `model`
    return model, second


def traits_of(task: Task, model: nn.Module, seed: int) -> Traits:
    """Return what training does to a model beside its parameters, tried on a few examples; the model is changed."""
    model.train()
    before = {name: value.clone() for name, value in model.named_buffers()}
    with Chance(seed) as chance:
        inputs, targets = task.training.some(_TRIED)
        task.loss(called(model, inputs), targets)
    after, kept = dict(model.named_buffers()), model.state_dict()
    changed = [name for name, value in after.items() if name not in before or not _alike(value, before[name])]
    for name in changed:
        if name not in kept or name not in before or after[name].shape != before[name].shape:
            allowed = "one whose buffers keep their shapes and, if training changes them, are persistent"
            raise InvalidValue("model", allowed, name)
    moving = tuple(name for name in changed if after[name].is_floating_point())
    return Traits(moving, tuple(name for name in changed if name not in moving), draws=chance.drew)


def _alike(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one, other)


def _check_examples_apart(model: nn.Module, inputs: Batch) -> None:
    """Raise an error if the model's output for an example depends on the other examples of its batch.

    Its score would depend on how the test set is cut into batches, and a device that evaluates one example would get
    another output than the evaluation. This function changes the given model.
    """
    model.eval()
    rng = torch.Generator().manual_seed(0)
    with torch.inference_mode():
        for parameter in model.parameters():  # a last layer initialised with zeros would hide the earlier layers
            if not parameter.any():
                parameter.uniform_(-1, 1, generator=rng)
        together, repeated = (outputs_of(model, inputs) for _ in range(2))
        cuts = [part for part in (between(inputs, 0, _FIRST), between(inputs, _FIRST)) if len(leaves(part)[0])]
        apart = joined([outputs_of(model, part) for part in cuts], [len(leaves(part)[0]) for part in cuts])
    off = 0.0
    for one, again, parted in zip(*map(leaves, (together, repeated, apart)), strict=True):
        if not isinstance(one, Tensor) or one.shape != parted.shape or not one.ndim or not torch.equal(one, again):
            continue  # not a row per example, or a different fault, which check_task reports
        off = max(off, float((one - parted).abs().max() / one.abs().max()))
    if off > _ROUNDING:
        allowed = "one whose output for an example does not depend on the others of its batch"
        remedy = "normalise each example by itself, as GroupNorm and LayerNorm do; batch_first=True for LSTM and GRU"
        given = f"outputs that change by {100 * off:.2g} % where a batch is cut in two"
        raise InvalidValue("model", f"{allowed} ({remedy})", given)


def check_model(model: nn.Module) -> None:
    """Raise an error if the model has nothing to train, or parameters or names that a run cannot hold."""
    if not isinstance(model, nn.Module):
        raise InvalidValue("model", "a torch.nn.Module", type(model).__name__)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InvalidValue("model", "one with parameters to learn", "none")
    for allowed, given in _unfit(model):
        raise InvalidValue("model", allowed, given)


def _unfit(model: nn.Module) -> Iterator[tuple[str, str]]:
    """Yield each violated requirement and the value found."""
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.dtype != torch.float32:
            yield "one whose trained parameters are float32", f"{parameter.dtype} for {name}"
    # A checkpoint holds the state dict as plain tensors, and the aggregation's state under the prefix STATE.
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor) or name.startswith(STATE):
            yield f"one whose state dict is of tensors not called {STATE}...", name


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
