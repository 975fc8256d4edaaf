"""x_0, the model that a run starts from, and what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ehfl.learning.checkpoint import STATE
from ehfl.learning.flat import FlatModel
from ehfl.learning.tasks import Task
from ehfl.randomness import Purpose, generator
from ehfl.validation import InvalidValue

_DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


def initial_model(task: Task, seed: int, device: torch.device) -> FlatModel:
    """Return x_0 on a device, all its weights in one vector."""
    return FlatModel(first_model(task, seed), device)


def first_model(task: Task, seed: int) -> nn.Module:
    """Return x_0, a pure function of task and seed; a task that makes it otherwise is refused."""
    model, again = (task.model(generator(seed, Purpose.INIT)) for _ in range(2))
    check_model(model)
    if again is model:  # the next run would start from what this one has learned
        raise InvalidValue("model", "a new one whenever the task is asked for it", "the same one twice")
    there = again.state_dict()
    for name, value in model.state_dict().items():
        if name not in there or not torch.equal(value, there[name]):
            allowed = "made from the rng that it is given alone (ehfl.learning.initialise draws from it)"
            raise InvalidValue("model", allowed, f"{name} that differs when asked again")
    return model


def check_model(model: nn.Module) -> None:
    """Refuse a model that keeps state which averaging would miss, draws chance, or has nothing to learn."""
    if not isinstance(model, nn.Module):
        raise InvalidValue("model", "a torch.nn.Module", type(model).__name__)
    if not any(True for _ in model.parameters()):
        raise InvalidValue("model", "one with parameters to learn", "none")
    for allowed, given in _unfit(model):
        raise InvalidValue("model", allowed, given)


def _unfit(model: nn.Module) -> Iterator[tuple[str, str]]:
    """Yield what the model must be and is not."""
    for name, layer in model.named_modules():
        kind = f"{type(layer).__name__} ({name})" if name else type(layer).__name__
        # Running statistics are buffers: averaging parameters would leave every client its own.
        if getattr(layer, "track_running_stats", False):
            yield "without running statistics (use GroupNorm)", f"{kind} with them"
        # It would come from torch's own generator: the run could neither be repeated nor resumed.
        rate = getattr(layer, "p" if isinstance(layer, _DROPOUT) else "dropout", 0)
        if isinstance(rate, int | float) and rate > 0:
            yield "without dropout, whose chance does not come from the seed", kind
    for name, parameter in model.named_parameters():
        if parameter.dtype != torch.float32:
            yield "one whose parameters are float32", f"{parameter.dtype} for {name}"
        if not parameter.requires_grad:
            yield (
                "one whose parameters are all trained (register what is fixed as a buffer)",
                f"{name} without gradient",
            )
    # A checkpoint holds the state dict as plain tensors, beside what the aggregation remembers.
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor) or name.startswith(STATE):
            yield f"one whose state dict is of tensors not called {STATE}...", name
