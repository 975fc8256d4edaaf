"""Rows: a vector for each client, what an aggregation remembers of its turns.

There may be as many of them as clients and each is as large as the model, so nothing is copied: a copy of `Rows` shares
all vectors with the original, and replaces those that are put into it. Where they are kept is a `Shelf`'s business: in
memory, or in a file (`row_file`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Protocol, SupportsIndex

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ehfl.learning.flat import Arrays
from ehfl.validation import InvalidValue


class Kept(Protocol):
    """A vector on a shelf, which stays there as long as somebody holds this."""

    def read(self) -> Tensor:
        """Return the vector, (n_params,), on the CPU; it may not be changed."""
        ...


class Shelf(Protocol):
    """Where vectors are kept."""

    def keep(self, vector: Tensor) -> Kept:
        """Keep a copy of a vector."""
        ...

    def written(self, kept: Sequence[Kept]) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint must hold to find these vectors again."""
        ...

    def found(self, arrays: Arrays) -> Sequence[Kept]:
        """Return the vectors of a checkpoint, in the order in which they were written."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class KeptInMemory:
    """A vector as it is."""

    vector: Tensor

    def read(self) -> Tensor:
        """Return the vector itself."""
        return self.vector


@dataclass(frozen=True, slots=True)
class InMemory:
    """Vectors in the machine's memory, since a graphics card's is often smaller."""

    def keep(self, vector: Tensor) -> Kept:
        """Keep a copy."""
        return KeptInMemory(vector.detach().to("cpu", torch.float32, copy=True))

    def written(self, kept: Sequence[Kept]) -> dict[str, NDArray[Any]]:
        """Return the vectors themselves, (n_kept, n_params)."""
        return {"vectors": np.stack([one.read().numpy() for one in kept]) if kept else np.empty((0, 0), np.float32)}

    def found(self, arrays: Arrays) -> Sequence[Kept]:
        """Return what was written."""
        return [KeptInMemory(torch.from_numpy(vector.copy())) for vector in arrays["vectors"]]


class Rows:
    """A float32 vector for each client, zero until one is put there.

    >>> before = Rows(n_clients=3, n_params=2)
    >>> after = before.copy()
    >>> after[1] = torch.tensor([1.0, 2.0])
    >>> before[1].tolist(), after[1].tolist(), after[2].tolist()
    ([0.0, 0.0], [1.0, 2.0], [0.0, 0.0])
    """

    def __init__(self, n_clients: int, n_params: int, shelf: Shelf | None = None) -> None:
        self.n_clients, self.n_params = n_clients, n_params
        self.shelf: Shelf = InMemory() if shelf is None else shelf
        self._kept: dict[int, Kept] = {}  # by client; zeros are not kept

    def __getitem__(self, client: SupportsIndex) -> Tensor:
        """Return the vector of a client, (n_params,), on the CPU; it may not be changed."""
        kept = self._kept.get(self._number(client))
        return torch.zeros(self.n_params) if kept is None else kept.read()

    def __setitem__(self, client: SupportsIndex, vector: Tensor) -> None:
        """Replace the vector of a client by a copy of this one."""
        self.put(vector, [client])

    def put(self, vector: Tensor, clients: Iterable[SupportsIndex]) -> None:
        """Replace the vectors of these clients by a copy of this one, which is kept once for all of them."""
        if vector.shape != (self.n_params,):
            raise InvalidValue("vector", f"of shape ({self.n_params},)", f"one of shape {tuple(vector.shape)}")
        self._kept |= dict.fromkeys(map(self._number, clients), self.shelf.keep(vector))

    def _number(self, client: SupportsIndex) -> int:
        """Return a client's number as an int, by which tensors find theirs, too; others would quietly be zeros."""
        number = index(client)
        if not 0 <= number < self.n_clients:
            raise IndexError(f"client must be in [0, {self.n_clients - 1}], got {number}")
        return number

    def copy(self) -> Rows:
        """Return rows that share all vectors with these, to put others into."""
        other = Rows(self.n_clients, self.n_params, self.shelf)
        other._kept = dict(self._kept)
        return other

    @property
    def clients(self) -> list[int]:
        """Who has a vector, ascending."""
        return sorted(self._kept)

    @property
    def full_size(self) -> int:
        """What they take when every client has a vector of its own [bytes]."""
        return 4 * self.n_clients * self.n_params

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the rows for a checkpoint: who has a vector, which one, and the vectors, each once."""
        several = {id(self._kept[client]): self._kept[client] for client in self.clients}
        places = {key: place for place, key in enumerate(several)}
        which = [places[id(self._kept[client])] for client in self.clients]
        written = self.shelf.written(list(several.values()))
        return {"clients": np.array(self.clients, np.int64), "which": np.array(which, np.int64), **written}

    def filled(self, arrays: Arrays) -> Rows:
        """Return rows on the same shelf that hold what `as_arrays` returned."""
        other, kept = Rows(self.n_clients, self.n_params, self.shelf), self.shelf.found(arrays)
        pairs = zip(arrays["clients"].tolist(), arrays["which"].tolist(), strict=True)
        other._kept = {client: kept[place] for client, place in pairs}
        return other
