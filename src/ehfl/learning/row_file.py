"""RowFile: vectors of clients in a memory-mapped file, for aggregations that remember more than memory should hold.

A vector is written into a free slot and stays there as it is. The slot is free again when nobody holds the vector: not
the run, and not its last two checkpoints, which the run holds on to. So the file has what the checkpoints speak of, at
whatever instant the run is killed. Each vector has a digest, by which damage is noticed. The process has no more of
the file in its memory than the vector at hand: the rest is the system's to keep or to write out.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ehfl.files import naming
from ehfl.learning.checkpoint import CheckpointError
from ehfl.learning.flat import Arrays
from ehfl.learning.rows import Kept

# The state that is being made, the one before it, and those of the last two checkpoints.
STATES = 4
_LEAST_GROWTH = 8  # slots


class Slot:
    """A vector in a file."""

    def __init__(self, file: RowFile, number: int, digest: bytes) -> None:
        self.file, self.number, self.digest = file, number, digest

    def read(self) -> Tensor:
        """Return a copy of the vector."""
        return torch.from_numpy(self.file.content(self.number))


class RowFile:
    """A file of equal slots, each with room for a vector of float32, `STATES` slots a client at most."""

    def __init__(self, path: Path, n_params: int, n_clients: int) -> None:
        self.path, self.n_params, self.most_slots = path, n_params, STATES * n_clients
        self.vectors: NDArray[np.float32] = np.empty((0, n_params), np.float32)  # (n_slots, n_params), the file itself
        self._mapped: mmap.mmap | None = None
        self._free: list[int] = []
        path.touch()
        self._map(path.stat().st_size // (4 * n_params))

    def keep(self, vector: Tensor) -> Kept:
        """Write a copy of a vector into a free slot."""
        if not self._free:
            self._grow()
        content = vector.detach().to("cpu", torch.float32).numpy()
        number = self._free.pop()
        self.vectors[number] = content
        self._release()
        return self._held(number, hashlib.sha256(content.tobytes()).digest())

    def content(self, number: int) -> NDArray[np.float32]:
        """Return a copy of what is in a slot, (n_params,)."""
        found: NDArray[np.float32] = self.vectors[number].copy()
        self._release()
        return found

    def written(self, kept: Sequence[Kept]) -> dict[str, NDArray[Any]]:
        """Return where these vectors are and what they are known by; they are on the disk then."""
        slots = [one for one in kept if isinstance(one, Slot)]
        assert len(slots) == len(kept), "vectors of rows are all on one shelf"
        if self._mapped is not None:
            self._mapped.flush()
        digests = np.frombuffer(b"".join(slot.digest for slot in slots), np.uint8).reshape(-1, 32)
        return {"slots": np.array([slot.number for slot in slots], np.int64), "digests": digests}

    def found(self, arrays: Arrays) -> Sequence[Kept]:
        """Return the vectors of a checkpoint, if they are what they were; all other slots are free from now on."""
        numbers, digests = arrays["slots"].tolist(), [row.tobytes() for row in arrays["digests"]]
        for number, digest in zip(numbers, digests, strict=True):
            if number >= len(self.vectors) or hashlib.sha256(self.content(number).tobytes()).digest() != digest:
                remedy = f"delete {self.path.parent} to run it again"
                raise CheckpointError(f"{self.path} is not what the checkpoint was made with: {remedy}")
        self._free[:] = sorted(set(range(len(self.vectors))) - set(numbers), reverse=True)
        return [self._held(number, digest) for number, digest in zip(numbers, digests, strict=True)]

    def _held(self, number: int, digest: bytes) -> Slot:
        slot = Slot(self, number, digest)
        weakref.finalize(slot, self._free.append, number).atexit = False
        return slot

    def _grow(self) -> None:
        """Make the file longer by a quarter; the disk is asked for the room now, not when a page is written to."""
        slots = len(self.vectors) + max(_LEAST_GROWTH, len(self.vectors) // 4)
        if len(self.vectors) < self.most_slots:  # beyond it, only what holds on to more states than runs do
            slots = min(slots, self.most_slots)
        with naming(self.path), self.path.open("r+b") as file:
            if hasattr(os, "posix_fallocate"):  # writing to a page that a full disk has no room for kills the process
                os.posix_fallocate(file.fileno(), 0, 4 * self.n_params * slots)
            else:
                file.truncate(4 * self.n_params * slots)
        self._map(slots)

    def _map(self, slots: int) -> None:
        self._free[:] = [*range(slots - 1, len(self.vectors) - 1, -1), *self._free]
        if slots:
            with self.path.open("r+b") as file:
                self._mapped = mmap.mmap(file.fileno(), 4 * self.n_params * slots)
            self.vectors = np.frombuffer(self._mapped, np.float32).reshape(slots, self.n_params)

    def _release(self) -> None:
        """Give pages back to the system, which has them in its cache or on the disk; else all of them would add up."""
        if self._mapped is not None and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            self._mapped.madvise(mmap.MADV_DONTNEED)
