"""Rows: a vector for each client, what an aggregation remembers of its turns.

There may be as many of them as clients and each is as large as the model, so nothing is copied: a copy of `Rows` shares
all vectors with the original and replaces those that are put into it. Where they are kept is a `Shelf`'s business: in
memory, or in a file (`row_file`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Arrays = Mapping[str, NDArray[Any]]


class Shelf(Protocol):
    """Where vectors are kept; what it returns for one stands for it until nobody holds it any more."""

    def keep(self, vector: Tensor) -> object:
        """Keep a copy of a vector."""
        ...

    def read(self, kept: object) -> Tensor:
        """Return a vector that is kept, (n_params,); it may not be changed."""
        ...


class InMemory:
    """Vectors as they are."""

    def keep(self, vector: Tensor) -> object:
        """Keep a copy of a vector, in the memory of the machine, which a device's is often smaller than."""
        return vector.detach().to("cpu", torch.float32, copy=True)

    def read(self, kept: object) -> Tensor:
        """Return the vector itself."""
        assert isinstance(kept, Tensor)
        return kept


class Rows:
    """A float32 vector for each client, zero until one is put there.

    >>> before = Rows(n_clients=3, n_params=2)
    >>> after = before.copy()
    >>> after.put(torch.tensor([1.0, 2.0]), clients=[1])
    >>> before[1].tolist(), after[1].tolist(), after[2].tolist()
    ([0.0, 0.0], [1.0, 2.0], [0.0, 0.0])
    """

    def __init__(self, n_clients: int, n_params: int, shelf: Shelf | None = None) -> None:
        self.n_clients, self.n_params = n_clients, n_params
        self.shelf: Shelf = InMemory() if shelf is None else shelf
        self.kept: dict[int, object] = {}  # by client; vectors of zeros are not kept

    def __getitem__(self, client: int) -> Tensor:
        """Return the vector of a client, (n_params,), on the CPU; it may not be changed."""
        kept = self.kept.get(client)
        return torch.zeros(self.n_params) if kept is None else self.shelf.read(kept)

    def put(self, vector: Tensor, clients: Iterable[int]) -> None:
        """Replace the vectors of these clients by this one, which is kept once."""
        assert vector.shape == (self.n_params,)
        kept = self.shelf.keep(vector)
        self.kept |= dict.fromkeys(clients, kept)

    def copy(self) -> Rows:
        """Return rows that share all vectors with these, to put others into."""
        return self.on(self.shelf)

    def on(self, shelf: Shelf) -> Rows:
        """Return the same rows, of which those that are put there from now on are kept elsewhere."""
        other = Rows(self.n_clients, self.n_params, shelf)
        other.kept = dict(self.kept)
        return other

    @property
    def full_size(self) -> int:
        """What they take when every client has a vector of its own [bytes]."""
        return 4 * self.n_clients * self.n_params

    def stacked(self) -> dict[str, NDArray[Any]]:
        """Return the rows as arrays: who has a vector, which one, and the vectors, each once."""
        clients = sorted(self.kept)  # and not in the order in which they came: equal rows have equal arrays
        distinct = dict.fromkeys(id(self.kept[client]) for client in clients)
        places = {kept: place for place, kept in enumerate(distinct)}
        vectors = np.empty((len(places), self.n_params), np.float32)
        for client in clients:
            vectors[places[id(self.kept[client])]] = self[client].numpy()
        which = [places[id(self.kept[client])] for client in clients]
        return {"clients": np.array(clients, np.int64), "which": np.array(which, np.int64), "vectors": vectors}

    def filled(self, arrays: Arrays) -> Rows:
        """Return rows like these that hold what `stacked` returned."""
        other = Rows(self.n_clients, self.n_params, self.shelf)
        kept = [self.shelf.keep(torch.from_numpy(vector)) for vector in arrays["vectors"]]
        pairs = zip(arrays["clients"].tolist(), arrays["which"].tolist(), strict=True)
        other.kept = {client: kept[place] for client, place in pairs}
        return other
