"""`load_model`: the model that a run has left."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from ehfl import user_code
from ehfl.learning.checkpoint import NAME, PREVIOUS, Checkpoint, CheckpointError, read_checkpoint
from ehfl.learning.engine.flat import load_state
from ehfl.learning.initialisation import build_model
from ehfl.learning.tasks import TASKS, load_task
from ehfl.learning.tasks.contract import Task
from ehfl.runs import RunFolder, check_same, identity_of, inside
from ehfl.validation import UserError, at, visible


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
