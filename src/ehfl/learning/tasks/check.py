"""check_task(): tests that a user's task follows the interface."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from ehfl.learning.engine.chance import Chance
from ehfl.learning.evaluation import checked_score, outputs_of, right_by_class
from ehfl.learning.first_model import first_model, initial_model
from ehfl.learning.tasks import TASKS
from ehfl.learning.tasks.contract import Task, classes_of
from ehfl.learning.tasks.examples import Examples, each, leaves
from ehfl.randomness import check_seed
from ehfl.runs import Metric
from ehfl.validation import FAILURES, BrokenRules, UserError, blame, whole_number

_CHANCE = "(random numbers must be torch's, which come from the seed: not NumPy's, not Python's)"


def check_task(task: Task | str, *, examples: int = 64, seed: int = 0) -> None:
    """Test a task on a few of its examples; raise BrokenRules with a list of all faults that can be seen.

    The check passes silently if: all attributes exist and the data are finite; each call returns a new model, made from
    the rng or by torch alone, whose random numbers in training are torch's; the output for an example does not depend
    on the rest of its batch in evaluation; the loss is one finite number with a gradient for every parameter that is
    trained; the score is a value of the metric; no method changes its input; and, if the task names classes, the model
    has an output per class and every target is a class.
    The check uses `examples` examples of the training set and of the test set.

    >>> from ehfl.learning.tasks.digits import Digits
    >>> class Percent(Digits):
    ...     def score(self, outputs, targets):
    ...         return 100 * super().score(outputs, targets)
    >>> check_task(Percent())
    Traceback (most recent call last):
    ehfl.validation.BrokenRules: Percent breaks the rules:
      - score of task digits must be a finite number in [0, 1], the bounds of accuracy, got 4.6875
    """
    task = TASKS.make(task)
    whole_number("examples", examples, low=1, high=1_000_000)
    check_seed(seed)
    data = ("training set", "test set")
    stages: dict[str, tuple[tuple[str, ...], Iterator[str]]] = {  # each with those whose faults would show in it
        "facts": ((), _facts(task)),
        "training set": ((), _values(task, "training", examples)),
        "test set": ((), _values(task, "test", examples)),
        "classes": (("facts", *data), _classes(task)),
        "model": (("training set",), _model(task, seed)),
        "training": (("training set", "classes", "model"), _training(task, examples, seed)),
        "scoring": (("facts", "classes", "model", *data), _scoring(task, examples, seed)),
    }
    found: dict[str, list[str]] = {}
    for stage, (earlier, faults) in stages.items():
        if not any(found.get(other) for other in earlier):
            found[stage] = list(_faults_of(faults, task))
    if every := list(dict.fromkeys(chain.from_iterable(found.values()))):
        raise BrokenRules(type(task).__name__, every)


def _faults_of(stage: Iterator[str], task: Task) -> Iterator[str]:
    """Yield the faults of a stage; an exception becomes a fault."""
    try:
        yield from stage
    except UserError as error:
        yield str(error)
    except FAILURES as error:  # user code may raise anything
        yield f"fails: {blame(task, error)}"


def _facts(task: Task) -> Iterator[str]:
    name, metric = getattr(task, "name", None), getattr(task, "metric", None)
    if not isinstance(name, str) or not name:
        yield f"must have a text as its name, got {name!r}"
    if not isinstance(metric, Metric):
        yield f"must have an ehfl.Metric as its metric, got {metric!r}"


def _values(task: Task, part: str, count: int) -> Iterator[str]:
    """Yield the faults of the training set or of the test set."""
    found = getattr(task, part)
    if not isinstance(found, Examples):
        yield f"must have ehfl.learning.Examples as its {part} set, got {type(found).__name__}"
        return
    for kind, values in zip(("inputs", "targets"), found.some(100 * count), strict=True):
        if not all(torch.isfinite(one).all() for one in leaves(values)):
            yield f"has values that are not finite among the {kind} of the {part} set"


def _classes(task: Task) -> Iterator[str]:
    classes_of(task)  # raises an error for invalid names, and for targets out of range
    yield from ()


def _model(task: Task, seed: int) -> Iterator[str]:
    first_model(task, seed)
    yield from ()


def _training(task: Task, count: int, seed: int) -> Iterator[str]:
    model = initial_model(task, seed, torch.device("cpu"))
    with Chance(seed):
        inputs, targets = task.training.some(count)
    kept, x, buffers = each(torch.clone, (inputs, targets)), model.weights.clone(), model.buffers()
    losses = []
    for _ in range(2):
        model.put(x, buffers)
        with Chance(seed):
            outputs = outputs_of(model.module, inputs)
            losses.append(task.loss(outputs, targets))
        if fault := _loss_fault(losses[-1]) or _spread_fault(task, outputs, targets):
            yield fault
            return
    if faults := list(_changed("training", (inputs, targets), kept)):
        yield from faults
        return
    if not torch.equal(*losses):
        gave = " and ".join(f"{float(loss.detach()):g}" for loss in losses)
        yield f"draws chance while training: one batch gave the losses {gave} {_CHANCE}"
    trained = [(name, one) for name, one in model.module.named_parameters() if one.requires_grad]
    names, parameters = zip(*trained, strict=True)
    gradients: tuple[Tensor | None, ...] = torch.autograd.grad(losses[-1], parameters, allow_unused=True)
    for name, gradient in zip(names, gradients, strict=True):
        if gradient is None:
            yield f"has a parameter that the loss does not depend on: {name}"
        elif not torch.isfinite(gradient).all():
            yield f"has a gradient that is not finite at the first model: of {name}"


def _loss_fault(loss: object, *, differentiable: bool = True) -> str:
    if not isinstance(loss, Tensor) or loss.shape != () or not loss.is_floating_point():
        kind = f"{loss.dtype} of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
        return f"must return one number as loss, a tensor without axes, got {kind}"
    if not math.isfinite(value := float(loss.detach())):
        return f"must return a finite loss, got {value} for the first model"
    without = differentiable and not loss.requires_grad
    return "must return a loss to differentiate, got one without gradient" if without else ""


def _spread_fault(task: Task, outputs: Any, targets: Tensor) -> str:
    """Return the fault of a loss that broadcasts outputs against targets: torch makes (n, 1) minus (n,) an (n, n)."""
    if not isinstance(outputs, Tensor):
        return ""
    alike = outputs.squeeze().shape == targets.squeeze().shape and outputs.shape != targets.shape
    if not (alike and targets.is_floating_point() and len(targets) > 1):
        return ""
    point = outputs.detach().requires_grad_()
    moved = targets.clone()
    moved[-1] += 1
    # In a valid loss, the gradient of the first output does not depend on the last target.
    slopes = [torch.autograd.grad(task.loss(point, given), point)[0][0] for given in (targets, moved)]
    if torch.equal(*slopes):
        return ""
    shapes = f"outputs of shape {tuple(outputs.shape)} and targets of shape {tuple(targets.shape)}"
    return f"has a loss that compares every output with every target: {shapes} (give them the same shape)"


def _scoring(task: Task, count: int, seed: int) -> Iterator[str]:
    model = first_model(task, seed).eval()
    inputs, targets = task.test.some(count)
    with torch.inference_mode():
        kept = each(torch.clone, (inputs, targets))
        outputs = outputs_of(model, inputs)
        if n_classes := len(classes_of(task)):
            right_by_class(outputs, targets, n_classes)
        yield from _changed("evaluation", (inputs, targets), kept)
        before = each(_copy, outputs)
        scores = [checked_score(task, task.score(outputs, targets)) for _ in range(2)]
        yield from _changed("score", (outputs, targets), (before, kept[1]))
        if scores[0] != scores[1]:
            yield f"has a score that is not reproducible: the same outputs gave {scores[0]:g} and {scores[1]:g}"
        if fault := _loss_fault(task.loss(outputs, targets), differentiable=False):
            yield fault


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _changed(where: str, after: tuple[Any, Tensor], before: tuple[Any, Tensor]) -> Iterator[str]:
    """Yield a fault for each of two tensors that were changed in place."""
    names = ("outputs" if where == "score" else "inputs", "targets")
    for name, one, other in zip(names, after, before, strict=True):
        pairs = zip(leaves(one), leaves(other), strict=True)
        if not all(torch.equal(a, b) for a, b in pairs if isinstance(a, Tensor)):
            yield f"changes what it is given: {name}, in {where}"
