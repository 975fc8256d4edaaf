"""x_0, the initial model of a run, and the checks that it must pass."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ehfl.learning.checkpoint import STATE
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.evaluation import outputs_of
from ehfl.learning.tasks import Task
from ehfl.randomness import Purpose, generator
from ehfl.validation import InvalidValue

# Examples that a model is tried on, all of them at once and then cut in two: no part has a single one, which batch
# normalisation refuses by itself.
_TRIED, _FIRST = 8, 3
# A float32 sum of n terms is off by n 2^-24 of their sizes at most, and a batch of another size may be summed in
# another order: room for n = 2^16 over all layers, in the worst case. Batch normalisation changes outputs by far more.
_ROUNDING = 2.0**-8
_DROPOUT = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


def initial_model(task: Task, seed: int, device: torch.device) -> FlatModel:
    """Return x_0 on a device, all its weights in one vector."""
    return FlatModel(first_model(task, seed), device)


def first_model(task: Task, seed: int) -> nn.Module:
    """Return x_0; raise an error if the task's model is not a pure function of task and seed."""
    model, second = (task.model(generator(seed, Purpose.INIT)) for _ in range(2))
    check_model(model)
    if second is model:  # the next run would start from the weights that this run has trained
        raise InvalidValue("model", "a new one whenever the task is asked for it", "the same one twice")
    there = second.state_dict()
    for name, value in model.state_dict().items():
        if name not in there or not torch.equal(value, there[name]):
            allowed = (
                "made from the given rng alone (ehfl.learning.initialise draws layers from it, not bare parameters)"
            )
            raise InvalidValue("model", allowed, f"{name} that differs when asked again")
    _check_examples_apart(second, some_rows(task.training.inputs, _TRIED))  # it changes weights: spare `model`
    return model


def some_rows(values: Tensor, count: int) -> Tensor:
    """Return at most `count` evenly spaced rows, as a new tensor."""
    n_rows = min(count, len(values))
    rows = torch.arange(n_rows) * (len(values) - 1) // max(1, n_rows - 1)
    return values.index_select(0, rows.to(values.device))


def _check_examples_apart(model: nn.Module, inputs: Tensor) -> None:
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
        together = outputs_of(model, inputs)
        apart = torch.cat([outputs_of(model, part) for part in (inputs[:_FIRST], inputs[_FIRST:]) if len(part)])
        repeated = outputs_of(model, inputs)
    if together.shape != apart.shape or not torch.equal(together, repeated):
        return  # a different fault, which check_task reports
    off = (together - apart).abs().max() / together.abs().max()
    if off > _ROUNDING:
        allowed = "one whose output for an example does not depend on the others of its batch"
        remedy = "normalise each example by itself, as GroupNorm and LayerNorm do; batch_first=True for LSTM and GRU"
        given = f"outputs that change by {100 * float(off):.2g} % where a batch is cut in two"
        raise InvalidValue("model", f"{allowed} ({remedy})", given)


def check_model(model: nn.Module) -> None:
    """Raise an error if the model has state that averaging misses, uses random numbers, or has no parameters."""
    if not isinstance(model, nn.Module):
        raise InvalidValue("model", "a torch.nn.Module", type(model).__name__)
    if not any(True for _ in model.parameters()):
        raise InvalidValue("model", "one with parameters to learn", "none")
    for allowed, given in _unfit(model):
        raise InvalidValue("model", allowed, given)


def _unfit(model: nn.Module) -> Iterator[tuple[str, str]]:
    """Yield each violated requirement and the value found."""
    for name, layer in model.named_modules():
        kind = f"{type(layer).__name__} ({name})" if name else type(layer).__name__
        # Running statistics are buffers, which averaging parameters misses: each client would keep its own.
        if getattr(layer, "track_running_stats", False):
            yield "without running statistics (use GroupNorm)", f"{kind} with them"
        # Dropout draws from torch's global generator: the run could not be repeated or resumed.
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
    # A checkpoint holds the state dict as plain tensors, and the aggregation's state under the prefix STATE.
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor) or name.startswith(STATE):
            yield f"one whose state dict is of tensors not called {STATE}...", name
