"""What a run's numbers depend on beside its spec: data, files that it reads, and code of the user's own."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from ehfl.experiment.spec import Run
from ehfl.run_folder import OtherRun, RunFolder, files_named_in

if TYPE_CHECKING:
    from ehfl.learning import Task

Inputs = dict[str, str]  # a fingerprint each


def inputs_of(run: Run, data: str) -> Inputs:
    """Return the fingerprints of a run's data, of the files that it reads, and of those of the user's own classes."""
    files = {key: _file(path) for key, path in files_named_in(run.facts()).items() if path.is_file()}
    return {"data": data} | files | {name: _code(name.partition(":")[0]) for name in run.setting.own_classes()}


def check_inputs(folder: RunFolder, inputs: Inputs) -> None:
    """Refuse to go on with, or to count, a run that was made from other data or code."""
    before = folder.meta().get("inputs")
    if not isinstance(before, dict):  # not begun
        return
    # Only what is needed now is compared: an input that is no longer used does not make a run another one.
    for name in inputs:
        if before.get(name) != inputs[name]:
            what = "other data" if name == "data" else f"another version of {name}"
            raise OtherRun(
                f"{folder.path} was run with {what}: delete the folder to run it again, or give this spec another name"
            )


def data_of(task: Task) -> str:
    """Return the fingerprint of a task's examples."""
    digest = hashlib.sha256()
    for examples in (task.training, task.test):
        for tensor in (examples.inputs, examples.targets):
            # Shape and type, too: the same bytes can be other numbers.
            digest.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def _code(module: str) -> str:
    """Return the fingerprint of a module's own file."""
    # Found without being run: a fingerprint must not depend on what importing the module does.
    found = importlib.util.find_spec(module)
    if found is None or not found.origin or not Path(found.origin).is_file():
        return "unknown"
    return _file(Path(found.origin))


def _file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
