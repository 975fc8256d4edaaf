"""What a run's numbers depend on beside its spec: the data, and code of the user's own."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from ehfl.experiment.reading import SpecError
from ehfl.experiment.run_folder import RunFolder
from ehfl.experiment.spec import Spec

if TYPE_CHECKING:
    from ehfl.learning import Task

Inputs = dict[str, str]  # a fingerprint each


def inputs_of(run: Spec, data: str) -> Inputs:
    """Return the fingerprints of a run's data and of the files of schedulers and tasks given as module:Name."""
    named = [text for text in (run.arm.policy, run.learning.task) if not text.rpartition(":")[2].isdecimal()]
    return {"data": data} | {text: _code(text.partition(":")[0]) for text in named if ":" in text}


def check_inputs(folder: RunFolder, inputs: Inputs) -> None:
    """Refuse to go on with, or to count, a run that was made from other data or code."""
    before = folder.meta().get("inputs")
    if not isinstance(before, dict):  # not begun
        return
    for name in inputs:
        if before.get(name) != inputs[name]:
            what = "other data" if name == "data" else f"another version of {name}"
            raise SpecError(
                f"{folder.path} was run with {what}: delete the folder to run it again, or give this spec another name "
                "(-o name=...)"
            )


def data_of(task: Task) -> str:
    """Return the fingerprint of a task's examples."""
    digest = hashlib.sha256()
    for examples in (task.training, task.test):
        for tensor in (examples.inputs, examples.targets):
            digest.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def _code(module: str) -> str:
    """Return the fingerprint of a module's own file."""
    found = importlib.util.find_spec(module)
    if found is None or not found.origin or not Path(found.origin).is_file():
        return "unknown"
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()[:16]
