"""Rows: one vector per client, the memory of an aggregation, in RAM or in files.

There may be one vector per client, each as large as the model, so `Rows` is copy-on-write: a copy shares all vectors
with the original until one is replaced. A stored vector never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ehfl.learning.checkpoint import CheckpointError
from ehfl.learning.engine.flat import Arrays
from ehfl.validation import InvalidValue


@dataclass(frozen=True, eq=False, slots=True)
class InMemory:
    """A vector in the machine's memory, which is usually larger than a GPU's."""

    vector: Tensor

    def read(self) -> Tensor:
        """Return the vector; the caller must not change it."""
        return self.vector


@dataclass(frozen=True, eq=False, slots=True)
class InFile:
    """A vector in a separate file."""

    path: Path
    digest: bytes

    def read(self) -> Tensor:
        """Return the vector; raise an error if the file has changed."""
        content = self.path.read_bytes() if self.path.exists() else b""
        if hashlib.sha256(content).digest() != self.digest:
            remedy = f"delete {self.path.parents[1]} to run it again"
            raise CheckpointError(f"{self.path} does not match the checkpoint: {remedy}")
        return torch.frombuffer(bytearray(content), dtype=torch.float32)


class Rows:
    """A float32 vector for each client, zero until one is put there.

    >>> before = Rows(n_clients=3, n_params=2)
    >>> after = before.copy()
    >>> after[1] = torch.tensor([1.0, 2.0])
    >>> before[1].tolist(), after[1].tolist(), after[2].tolist()
    ([0.0, 0.0], [1.0, 2.0], [0.0, 0.0])
    """

    def __init__(self, n_clients: int, n_params: int, folder: Path | None = None) -> None:
        """Keep vectors in files of `folder`, or in memory if it is None."""
        self.n_clients, self.n_params, self.folder = n_clients, n_params, folder
        self._kept: dict[int, InMemory | InFile] = {}  # by client; zeros are not kept
        if folder is not None:
            folder.mkdir(exist_ok=True)

    def __getitem__(self, client: SupportsIndex) -> Tensor:
        """Return the vector of a client, (n_params,), on the CPU; the caller must not change it."""
        kept = self._kept.get(self._number(client))
        return torch.zeros(self.n_params) if kept is None else kept.read()

    def __setitem__(self, client: SupportsIndex, vector: Tensor) -> None:
        """Replace the vector of a client by a copy of this one."""
        self.put(vector, [client])

    def put(self, vector: Tensor, clients: Iterable[SupportsIndex]) -> None:
        """Replace the vectors of these clients by a copy of this one, which is kept once for all of them."""
        if vector.shape != (self.n_params,):
            raise InvalidValue("vector", f"of shape ({self.n_params},)", f"one of shape {tuple(vector.shape)}")
        self._kept |= dict.fromkeys(map(self._number, clients), self._keep(vector))

    def _keep(self, vector: Tensor) -> InMemory | InFile:
        content = vector.detach().to("cpu", torch.float32, copy=True)
        if self.folder is None:
            return InMemory(content)
        data = content.numpy().tobytes()
        digest = hashlib.sha256(data).digest()
        # Named by its content, a file is never overwritten with other content, even if a run is resumed repeatedly.
        path = self.folder / digest.hex()[:32]
        part = path.with_suffix(".part")
        part.write_bytes(data)
        part.replace(path)  # atomic: a kill during the write leaves the checkpoint's file complete
        return InFile(path, digest)

    def _number(self, client: SupportsIndex) -> int:
        """Return a client's number as an int: a tensor as a key would miss its vector and silently return zeros."""
        number = index(client)
        if not 0 <= number < self.n_clients:
            raise IndexError(f"client must be in [0, {self.n_clients - 1}], got {number}")
        return number

    def copy(self) -> Rows:
        """Return rows that share all vectors with these; replacing one leaves the original unchanged."""
        other = Rows(self.n_clients, self.n_params, self.folder)
        other._kept = dict(self._kept)
        return other

    @property
    def clients(self) -> list[int]:
        """The clients that have a vector, ascending."""
        return sorted(self._kept)

    @property
    def files(self) -> set[Path]:
        """The files that hold the vectors."""
        return {kept.path for kept in self._kept.values() if isinstance(kept, InFile)}

    @property
    def full_size(self) -> int:
        """The size if every client has its own vector [bytes]."""
        return 4 * self.n_clients * self.n_params

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the rows for a checkpoint: the vector of each client, and the vectors or their files' digests."""
        kept = list({id(self._kept[client]): self._kept[client] for client in self.clients}.values())
        places = {id(one): place for place, one in enumerate(kept)}
        which = np.array([places[id(self._kept[client])] for client in self.clients], np.int64)
        found: dict[str, NDArray[Any]] = {"clients": np.array(self.clients, np.int64), "which": which}
        if self.folder is None:
            vectors = [one.read().numpy() for one in kept]
            return found | {"vectors": np.stack(vectors) if vectors else np.empty((0, 0), np.float32)}
        digests = b"".join(one.digest for one in kept if isinstance(one, InFile))
        return found | {"digests": np.frombuffer(digests, np.uint8).reshape(-1, 32)}

    def filled(self, arrays: Arrays) -> Rows:
        """Return rows in the same place from what `as_arrays` returned; raise an error if a file has changed."""
        other = Rows(self.n_clients, self.n_params, self.folder)
        if self.folder is None:
            kept: list[InMemory | InFile] = [InMemory(torch.from_numpy(row.copy())) for row in arrays["vectors"]]
        else:
            digests = [row.tobytes() for row in arrays["digests"]]
            kept = [InFile(self.folder / digest.hex()[:32], digest) for digest in digests]
            for one in kept:
                one.read()
        pairs = zip(arrays["clients"].tolist(), arrays["which"].tolist(), strict=True)
        other._kept = {client: kept[place] for client, place in pairs}
        return other
