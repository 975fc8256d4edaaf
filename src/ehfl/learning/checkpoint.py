"""Checkpoints: the model and the aggregation's state after a number of rounds, in safetensors.

The model is stored as its state dict, under torch's names, so that other tools can read it. The aggregation's state is
stored under names that begin with `aggregation/`, a prefix that no parameter may have.

A checkpoint is written to a temporary file and renamed; the previous one is kept. It contains a checksum of its
content, which detects damage; the identity of its run, so that a different run does not resume from it; and a digest of
the rounds before it, which detects that one of them was edited.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ehfl.files import written_whole
from ehfl.learning.engine.flat import Arrays
from ehfl.runs import CHECKPOINT, check_same, rounds_digest
from ehfl.validation import UserError

NAME = CHECKPOINT
PREVIOUS = "checkpoint-previous.safetensors"
STATE = "aggregation/"  # prefix of the aggregation's state in the file
_FORMAT = 3

log = logging.getLogger("ehfl.learning")


class CheckpointError(UserError):
    """A run folder from which the run cannot resume."""


@dataclass(frozen=True, eq=False, slots=True)
class Checkpoint:
    """The model after `rounds` rounds of the run that `identity` describes."""

    rounds: int
    model: Arrays  # its state dict
    identity: Mapping[str, Any]
    state: Arrays = field(default_factory=dict)  # of the aggregation, by name
    history: str = rounds_digest(())  # digest of these rounds of rounds.jsonl

    def write(self, folder: Path) -> None:
        """Write it to the folder; after a kill at any instant, this checkpoint or the previous one is complete."""
        # One metadata key: safetensors writes several in arbitrary order, and equal runs must have equal files.
        facts = json.dumps(self._facts() | {"sha256": self._checksum()}, sort_keys=True)
        content = save(self._arrays(), metadata={"ehfl": facts})
        with written_whole(folder / NAME, previous=folder / PREVIOUS) as file:
            file.write(content)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        # safetensors writes the memory of an array as it is, so the memory must be in C order.
        arrays = {**self.model, **{f"{STATE}{name}": value for name, value in self.state.items()}}
        return {name: np.asarray(array, order="C") for name, array in arrays.items()}

    def _facts(self) -> dict[str, Any]:
        known = {"identity": dict(self.identity), "history": self.history}
        return {"format": _FORMAT, "rounds": self.rounds, **known}

    def _checksum(self) -> str:
        digest = hashlib.sha256(json.dumps(self._facts(), sort_keys=True).encode())
        for name, array in sorted(self._arrays().items()):
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()


def read_checkpoint(path: Path) -> Checkpoint:
    """Return what `write` wrote; raise CheckpointError with the file's name if a single bit has changed."""
    try:
        with safe_open(path, framework="numpy") as file:
            facts = json.loads((file.metadata() or {})["ehfl"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # a file is not a mapping
        if facts["format"] != _FORMAT:
            raise ValueError(f"format {facts['format']}, this version reads {_FORMAT}")
        model = {name: array for name, array in arrays.items() if not name.startswith(STATE)}
        state = {name.removeprefix(STATE): array for name, array in arrays.items() if name not in model}
        found = Checkpoint(facts["rounds"], model, facts["identity"], state, facts["history"])
        if found._checksum() != facts["sha256"]:
            raise ValueError("checksum mismatch")
    except (SafetensorError, ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    return found


def latest_checkpoint(
    folder: Path, identity: Mapping[str, Any], shorter: Callable[[int], Mapping[str, Any]] | None = None
) -> Checkpoint | None:
    """Return the newest undamaged checkpoint of this run, None if the folder has no checkpoint.

    A damaged checkpoint is logged and the previous one is used; a checkpoint of another run raises OtherRun. A run of
    fewer rounds may be extended: `shorter(n)` is the identity of this run with n rounds.
    """
    # Newest first: resuming from the previous one repeats a few rounds but ends with the same bits.
    paths = [folder / name for name in (NAME, PREVIOUS) if (folder / name).exists()]
    for path in paths:
        try:
            found = read_checkpoint(path)
        except CheckpointError as error:
            log.warning("%s; trying the one before it", error)
            continue
        there, remedy = found.identity.get("rounds"), "take another folder, or delete its files to start over"
        expected = identity
        if shorter is not None and isinstance(there, int) and there < identity["rounds"]:
            expected = shorter(there)
            remedy += " (a run is extended where the rounds so far do not depend on how many there are)"
        check_same(found.identity, expected, path, remedy)
        return found
    # Starting over silently would discard rounds that the user may want to rescue.
    if paths:
        raise CheckpointError(f"{folder} has no undamaged checkpoint: delete its files to start the run over")
    return None
