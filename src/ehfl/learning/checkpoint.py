"""Checkpoints: the model and what the aggregation remembers after a number of rounds, in safetensors.

The model is there as its state dict, by torch's names, so that other tools read it; what the aggregation remembers is
beside it, under names that begin with `aggregation/`, which no parameter may have.

A checkpoint is written aside and renamed, and the one before is kept. It carries a checksum of all that it says, so
that damage is noticed, and the identity of its run, so that another run does not go on from it; and it knows the rounds
that led to it, so that none of them can change before the run goes on.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ehfl.files import refuse_pipe, written_whole
from ehfl.history import rounds_digest
from ehfl.learning.flat import Arrays
from ehfl.run_folder import CHECKPOINT, check_same
from ehfl.validation import UserError

NAME = CHECKPOINT
PREVIOUS = "checkpoint-previous.safetensors"
STATE = "aggregation/"  # before the names of what the aggregation remembers, in the file
_FORMAT = 3

log = logging.getLogger("ehfl.learning")


class CheckpointError(UserError):
    """A run folder that cannot be gone on with."""


@dataclass(frozen=True, eq=False, slots=True)
class Checkpoint:
    """The model after `rounds` rounds of the run that `identity` describes."""

    rounds: int
    model: Arrays  # its state dict
    identity: Mapping[str, Any]
    state: Arrays = field(default_factory=dict)  # of the aggregation, by name
    history: str = rounds_digest(())  # what these rounds of rounds.jsonl are known by

    def write(self, folder: Path) -> None:
        """Put it into the folder; killed at any instant, there is a whole checkpoint, this one or the one before."""
        # One key of metadata, because safetensors writes several in any order, and equal runs shall have equal files.
        facts = json.dumps(self._facts() | {"sha256": self._checksum()}, sort_keys=True)
        content = save(self._arrays(), metadata={"ehfl": facts})
        with written_whole(folder / NAME, previous=folder / PREVIOUS) as file:
            file.write(content)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        # safetensors writes an array's bytes as they lie in memory, so they must lie in the order of its shape.
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
    """Return what `write` wrote, or raise CheckpointError naming the file if a single bit of it has changed."""
    try:
        refuse_pipe(path)
        with safe_open(path, framework="numpy") as file:
            facts = json.loads((file.metadata() or {})["ehfl"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # a file is no mapping
        if facts["format"] != _FORMAT:
            raise ValueError(f"format {facts['format']}, this version reads {_FORMAT}")
        model = {name: array for name, array in arrays.items() if not name.startswith(STATE)}
        state = {name.removeprefix(STATE): array for name, array in arrays.items() if name not in model}
        found = Checkpoint(facts["rounds"], model, facts["identity"], state, facts["history"])
        if found._checksum() != facts["sha256"]:
            raise ValueError("its checksum does not fit")
    except (SafetensorError, ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    return found


def latest_checkpoint(folder: Path, identity: Mapping[str, Any]) -> Checkpoint | None:
    """Return the newest whole checkpoint of this run, None if there has never been one.

    A damaged one is named in the log and the one before it used; one of another run is refused.
    """
    # Newest first: the previous one costs a few rounds, and ends with the same bits.
    paths = [folder / name for name in (NAME, PREVIOUS) if (folder / name).exists()]
    for path in paths:
        try:
            found = read_checkpoint(path)
        except CheckpointError as error:
            log.warning("%s; trying the one before it", error)
            continue
        check_same(found.identity, identity, path, "take another folder, or delete its files to start over")
        return found
    # Starting over silently would throw away rounds that somebody may still want to rescue.
    if paths:
        raise CheckpointError(f"{folder} holds no whole checkpoint: delete its files to start the run over")
    return None
