"""Loss and metric over a set of examples, and the model that a run has left (`load_model`).

Outputs are computed in chunks, loss and metric on all outputs at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ehfl import user_code
from ehfl.arrays import IntArray
from ehfl.learning.checkpoint import NAME, PREVIOUS, Checkpoint, CheckpointError, read_checkpoint
from ehfl.learning.engine.flat import load_state
from ehfl.learning.initialisation import build_model
from ehfl.learning.server import Diverged
from ehfl.learning.tasks import TASKS, load_task
from ehfl.learning.tasks.contract import Task, classes_of
from ehfl.learning.tasks.examples import Batch, Examples, called, joined, leaves
from ehfl.runs import LARGEST, Accuracies, RunFolder, check_same, identity_of, inside
from ehfl.validation import InvalidValue, UserError, at, short, visible

CHUNK = 200  # examples at a time: small enough to stay near the caches, large enough for the matmuls


OutputsBy = Callable[[Iterable[Batch]], Iterable[Any]]  # from chunks of inputs to their outputs


class Scores(NamedTuple):
    """Loss and metric of a model on a set of examples."""

    loss: float
    metric: float


def evaluate(task: Task | str, model: nn.Module, examples: Examples | None = None) -> Scores:
    """Return loss and metric of the model on the examples; the default is the test set.

    Both are computed on the outputs of all examples together, so they need not be means over examples.

    >>> import numpy as np
    >>> from ehfl import load_task
    >>> first = load_task("quadratic").model(np.random.default_rng(0))
    >>> round(evaluate("quadratic", first).loss, 2)  # f(x_0)
    5.5
    """
    task = TASKS.make(task)
    examples = task.test if examples is None else examples
    return judged(task, model, examples)[0]


def accuracy_by_class(task: Task | str, model: nn.Module, examples: Examples | None = None) -> dict[str, float | None]:
    """Return the accuracy on each class, by the class's name; None for a class without examples.

    >>> import numpy as np
    >>> from ehfl import load_task
    >>> first = load_task("digits").model(np.random.default_rng(0))
    >>> len(accuracy_by_class("digits", first))
    10
    """
    task = TASKS.make(task)
    examples = task.test if examples is None else examples
    classes = classes_of(task)
    if not classes:
        raise InvalidValue("task", "one with classes", f"{task.name}, which has none")
    return dict(zip(classes, judged(task, model, examples, len(classes))[1], strict=True))


def judged(
    task: Task, model: nn.Module, examples: Examples, n_classes: int = 0, outputs_by: OutputsBy | None = None
) -> tuple[Scores, Accuracies]:
    """Return loss, metric and the accuracy on each of the classes, all from the same outputs.

    `outputs_by` computes the outputs of chunks of inputs; by default the model computes them in this thread.
    """
    versions = _versions(examples)
    chunks = examples.chunks(CHUNK)
    with torch.inference_mode():
        found = list(outputs_by(chunks) if outputs_by else (outputs_in(model, chunk) for chunk in chunks))
        outputs = joined(found, [min(CHUNK, len(examples) - start) for start in range(0, len(examples), CHUNK)])
        loss = float(task.loss(outputs, examples.targets))
        if not abs(loss) <= LARGEST:  # or NaN
            raise Diverged(f"test loss is {loss}")
        score = checked_score(task, task.score(outputs, examples.targets))
        shares = right_by_class(outputs, examples.targets, n_classes) if n_classes else ()
    if _versions(examples) != versions:  # otherwise the next evaluation would use different data
        raise InvalidValue(
            f"task {task.name}", "one that leaves the examples as they are", "them changed by evaluation"
        )
    return Scores(loss, score), shares


def outputs_in(model: nn.Module, inputs: Batch) -> Any:
    """Return the model's outputs in evaluation mode, which some layers distinguish from training mode."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.inference_mode():
            return outputs_of(model, inputs)
    finally:
        for module in training:  # not model.train(), as some layers stay in evaluation mode
            module.training = True


def _versions(examples: Examples) -> list[int]:
    """Return torch's counters of in-place changes of the examples; inference tensors have none."""
    tensors = [one for one in (*leaves(examples.inputs), examples.targets) if isinstance(one, Tensor)]
    return [0 if values.is_inference() else values._version for values in tensors]


def outputs_of(model: nn.Module, inputs: Batch) -> Any:
    """Return the model's outputs; raise an error unless they have one row per example."""
    outputs, n_rows = called(model, inputs), len(leaves(inputs)[0])
    if not any(isinstance(one, Tensor) and one.shape[:1] == (n_rows,) for one in leaves(outputs)):
        shape = f"shape {tuple(outputs.shape)}" if isinstance(outputs, Tensor) else type(outputs).__name__
        raise InvalidValue("model", f"one that returns a tensor with a row for each of {n_rows} examples", shape)
    return outputs


def right_by_class(outputs: Any, targets: Tensor, n_classes: int) -> Accuracies:
    """Return the accuracy on each class, (n_classes,); the answer is the class of the largest output.

    >>> right_by_class(torch.tensor([[0.0, 1.0], [2.0, 1.0]]), torch.tensor([1, 1]), n_classes=2)
    (None, 0.5)
    """
    if not isinstance(outputs, Tensor) or outputs.shape != (len(targets), n_classes):
        allowed = f"one with an output for each of its task's {n_classes} classes"
        shape = f"outputs of shape {tuple(outputs.shape)}" if isinstance(outputs, Tensor) else type(outputs).__name__
        raise InvalidValue("model", allowed, shape)
    right = outputs.argmax(dim=1) == targets
    totals = torch.bincount(targets, minlength=n_classes).tolist()
    hits = torch.bincount(targets[right], minlength=n_classes).tolist()
    return tuple(hit / total if total else None for hit, total in zip(hits, totals, strict=True))


def right_by_client(by_class: Sequence[float | None], labels: IntArray) -> Accuracies:
    """Return the accuracy under each client's own mixture of labels, (n_clients,), to six decimals.

    It is the mean of `by_class` weighted by the client's label counts, (n_clients, n_classes): the accuracy that a
    client sees on data distributed like its training data. Classes without test examples are left out of the mixture.

    >>> right_by_client((1.0, 0.5, None), np.array([[9, 3, 0], [0, 2, 7], [0, 0, 4]]))
    (0.875, 0.5, None)
    """
    known = np.array([share is not None for share in by_class])
    accuracy = np.array([share or 0.0 for share in by_class])
    held = labels * known
    sizes = held.sum(axis=1)
    means = (held @ accuracy / np.maximum(sizes, 1)).round(6).tolist()
    return tuple(mean if size else None for mean, size in zip(means, sizes.tolist(), strict=True))


def checked_score(task: Task, score: float | Tensor) -> float:
    """Return a score as a number; raise an error if it is not a value of the task's metric."""
    try:
        number = float(score)
    except (TypeError, ValueError):
        allowed = f"one number, the {task.metric.name} of all outputs"
        raise InvalidValue(f"score of task {task.name}", allowed, short(repr(score))) from None
    if not task.metric.allows(number):
        raise InvalidValue(f"score of task {task.name}", task.metric.range, number)
    return number


def load_model(
    folder: str | os.PathLike[str], task: Task | str | Mapping[str, Any] | None = None, *, trust: bool = False
) -> nn.Module:
    """Return the model of a run's newest checkpoint, on the CPU and in evaluation mode.

    An unfinished run returns its model so far; a damaged or edited folder raises an error. The task and its data
    default to those in the run's spec.toml; pass `task` for a `run_dir` of `train`, which has no spec, or if the data
    have moved. If spec.toml names a user class, `trust=True` lets its code run: a downloaded folder can name any code.

    >>> import tempfile
    >>> from ehfl import AlwaysOn, Bernoulli, Fleet, evaluate, load_task, simulate, train
    >>> mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(2), rounds=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     history = train("quadratic", mains, run_dir=folder)
    ...     model = load_model(folder, "quadratic")
    >>> evaluate(load_task("quadratic"), model).metric == history.final_metric
    True
    """
    run = RunFolder(Path(folder))
    found = _newest(run)
    made = _task_of(run, found, trust) if task is None else TASKS.make(task)
    model = build_model(made, seed=0)  # any seed: the weights are overwritten
    load_state(model, found.model)
    return model.eval()


def _newest(run: RunFolder) -> Checkpoint:
    if run.finished:
        run.check_untouched(run.meta())
    # A kill between the two renames of a write leaves only the previous checkpoint.
    path = next((run.path / name for name in (NAME, PREVIOUS) if (run.path / name).exists()), None)
    if path is not None:
        return read_checkpoint(path)
    inner = sorted(found.parent for found in run.path.glob(f"*/{NAME}"))
    hint = f": give the folder of one of its runs, such as {inner[0]}" if inner else ""
    raise CheckpointError(visible(f"{run.path} has no {NAME}{hint}"))


def _task_of(run: RunFolder, found: Checkpoint, trust: bool) -> Task:
    """Return the task that the run's spec names."""
    facts = run.facts()
    if facts is None:
        remedy = "give it, as in load_model(folder, 'digits')"
        raise UserError(visible(f"{run.path} has no spec.toml that names the task: {remedy}"))
    check_same(found.identity, identity_of(facts), run.path / NAME, "its spec.toml is of another run")
    with user_code.allowed(trust, "load_model(folder, trust=True)"), user_code.held(facts.get("code")), at("learning"):
        return load_task(inside(facts, ["learning", "task"]), inside(facts, ["learning", "data"]))
