"""Checkpoints: the model after a number of rounds, in safetensors, written aside and renamed.

The one before is kept. A checkpoint carries a checksum of all that it says, so damage is noticed, and the settings of
its run, so that a run of other settings is refused.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ehfl.validation import UserError

NAME = "checkpoint.safetensors"
PREVIOUS = "checkpoint-previous.safetensors"
_FORMAT = 1

log = logging.getLogger("ehfl.learning")

Settings = Mapping[str, str | int | float | bool | None]
FINGERPRINTS = {"participation", "step_sizes", "partition"}  # settings whose values say nothing to people


class CheckpointError(UserError):
    """A run folder that cannot be gone on with."""


@dataclass(frozen=True, eq=False, slots=True)
class Checkpoint:
    """The model after `rounds` rounds of a run with these settings."""

    rounds: int
    weights: NDArray[np.float32]  # (n_params,)
    settings: Settings

    def write(self, folder: Path) -> None:
        """Put it into the folder; killed at any instant, there is a whole checkpoint, this one or the one before."""
        # One key, because safetensors writes several in any order, and equal runs shall have equal files.
        facts = json.dumps(self._facts() | {"sha256": self._checksum()}, sort_keys=True)
        content = save({"weights": self.weights}, metadata={"ehfl": facts})
        aside = folder / f".{NAME}.part"
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if (folder / NAME).exists():
            (folder / NAME).replace(folder / PREVIOUS)
        aside.replace(folder / NAME)
        _sync_folder(folder)

    def _facts(self) -> dict[str, object]:
        return {"format": _FORMAT, "rounds": self.rounds, "settings": dict(self.settings)}

    def _checksum(self) -> str:
        digest = hashlib.sha256(json.dumps(self._facts(), sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self.weights).tobytes())
        return digest.hexdigest()


def read_checkpoint(path: Path) -> Checkpoint:
    """Return what `write` wrote, or raise CheckpointError naming the file if a single bit of it has changed."""
    try:
        with safe_open(path, framework="numpy") as file:
            facts, weights = json.loads((file.metadata() or {})["ehfl"]), file.get_tensor("weights")
        if facts["format"] != _FORMAT:
            raise ValueError(f"format {facts['format']}, this version reads {_FORMAT}")
        found = Checkpoint(facts["rounds"], weights, facts["settings"])
        if found._checksum() != facts["sha256"]:
            raise ValueError("its checksum does not fit")
    except (SafetensorError, ValueError, KeyError, TypeError, OSError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    return found


def latest_checkpoint(folder: Path, settings: Settings) -> Checkpoint | None:
    """Return the newest whole checkpoint of this run, None if there has never been one.

    A damaged one is named in the log and the one before it used; one of other settings is refused.
    """
    paths = [folder / name for name in (NAME, PREVIOUS) if (folder / name).exists()]
    for path in paths:
        try:
            found = read_checkpoint(path)
        except CheckpointError as error:
            log.warning("%s; trying the one before it", error)
            continue
        _check_same_run(path, found.settings, settings)
        return found
    if paths:
        raise CheckpointError(f"{folder} holds no whole checkpoint: delete its files to start the run over")
    return None


def _check_same_run(path: Path, there: Settings, here: Settings) -> None:
    keys = [key for key in {**there, **here} if there.get(key) != here.get(key)]
    if keys:
        told = ", ".join(
            f"{key} is another" if key in FINGERPRINTS else f"{key} is {there.get(key)} there and {here.get(key)} here"
            for key in keys
        )
        raise CheckpointError(
            f"{path} belongs to another run ({told}): take another folder, or delete its files to start over"
        )


def _sync_folder(folder: Path) -> None:
    """Make the renames last through a power cut, where the system can (Windows cannot)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
