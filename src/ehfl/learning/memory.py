"""What an aggregation remembers: its state in memory, in files of the run's folder and in checkpoints.

A state is a dict of tensors and of `Rows`, one vector per client, each as large as the model. So `Rows` is
copy-on-write: a copy shares all vectors with the original until one is replaced, and a stored vector never changes.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex
from urllib.parse import quote

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ehfl.learning.checkpoint import CheckpointError
from ehfl.learning.engine.flat import Arrays
from ehfl.machine import check_memory
from ehfl.quantities import as_bytes
from ehfl.runs import OtherRun
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from ehfl.learning.aggregation.contract import Aggregation, State

# Above it files are cheaper: a file is written once a turn, a state in memory with every checkpoint, which takes three
# copies of it in memory and two on the disk.
MOST_IN_MEMORY = 32e6  # bytes
_SUFFIX = ".rows"
_DELETED = "deleted/"  # in the last checkpoint, before the names of vectors that went with their files


class Rows:
    """A float32 vector for each client, zero until one is put there, on the CPU or in a file each.

    >>> before = Rows(n_clients=3, n_params=2)
    >>> after = before.copy()
    >>> after[1] = torch.tensor([1.0, 2.0])
    >>> before[1].tolist(), after[1].tolist(), after[2].tolist()
    ([0.0, 0.0], [1.0, 2.0], [0.0, 0.0])
    """

    def __init__(self, n_clients: int, n_params: int, folder: Path | None = None) -> None:
        """Keep vectors in files of `folder`, or in memory if it is None."""
        self.n_clients, self.n_params, self.folder = n_clients, n_params, folder
        # By client: the vector, or the digest of the file that holds it. Zeros are not kept.
        self._kept: dict[int, Tensor | bytes] = {}
        if folder is not None:
            folder.mkdir(exist_ok=True)

    def __getitem__(self, client: SupportsIndex) -> Tensor:
        """Return the vector of a client, (n_params,), on the CPU; the caller must not change it."""
        kept = self._kept.get(self._number(client))
        return torch.zeros(self.n_params) if kept is None else self._read(kept)

    def __setitem__(self, client: SupportsIndex, vector: Tensor) -> None:
        """Replace the vector of a client by a copy of this one."""
        self.put(vector, [client])

    def put(self, vector: Tensor, clients: Iterable[SupportsIndex]) -> None:
        """Replace the vectors of these clients by a copy of this one, which is kept once for all of them."""
        if vector.shape != (self.n_params,):
            raise InvalidValue("vector", f"of shape ({self.n_params},)", f"one of shape {tuple(vector.shape)}")
        content = vector.detach().to("cpu", torch.float32, copy=True)
        kept = content if self.folder is None else self._written(content.numpy().tobytes())
        self._kept |= dict.fromkeys(map(self._number, clients), kept)

    def _written(self, content: bytes) -> bytes:
        """Write a file, and return its digest."""
        # Named by its content, a file is never overwritten with other content, even if a run is resumed repeatedly.
        digest = hashlib.sha256(content).digest()
        part = self._path(digest).with_suffix(".part")
        part.write_bytes(content)
        part.replace(self._path(digest))  # atomic: a kill during the write leaves the checkpoint's file complete
        return digest

    def _read(self, kept: Tensor | bytes) -> Tensor:
        """Return a vector; raise an error if its file has changed."""
        if isinstance(kept, Tensor):
            return kept
        path = self._path(kept)
        content = path.read_bytes() if path.exists() else b""
        if hashlib.sha256(content).digest() != kept:
            remedy = f"delete {path.parents[1]} to run it again"
            raise CheckpointError(f"{path} does not match the checkpoint: {remedy}")
        return torch.frombuffer(bytearray(content), dtype=torch.float32)

    def _path(self, digest: bytes) -> Path:
        assert self.folder is not None
        return self.folder / digest.hex()[:32]

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
        return {self._path(kept) for kept in self._kept.values() if isinstance(kept, bytes)}

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
            vectors = [self._read(one).numpy() for one in kept]
            return found | {"vectors": np.stack(vectors) if vectors else np.empty((0, 0), np.float32)}
        digests = b"".join(one for one in kept if isinstance(one, bytes))
        return found | {"digests": np.frombuffer(digests, np.uint8).reshape(-1, 32)}

    def filled(self, arrays: Arrays) -> Rows:
        """Return rows in the same place from what `as_arrays` returned; raise an error if a file has changed."""
        other = Rows(self.n_clients, self.n_params, self.folder)
        kept: list[Tensor | bytes]
        if self.folder is None:
            kept = [torch.from_numpy(row.copy()) for row in arrays["vectors"]]
        else:
            kept = [row.tobytes() for row in arrays["digests"]]
            for one in kept:
                self._read(one)
        pairs = zip(arrays["clients"].tolist(), arrays["which"].tolist(), strict=True)
        other._kept = {client: kept[place] for client, place in pairs}
        return other


def on_device(state: State, device: torch.device) -> State:
    """Return the state with its tensors on the model's device; `Rows` stay in the machine's memory."""
    return {name: value if isinstance(value, Rows) else _moved(value, device) for name, value in state.items()}


def _moved(value: Tensor, device: torch.device) -> Tensor:
    no_doubles = device.type == "mps" and value.dtype == torch.float64
    return value.to(device, torch.float32) if no_doubles else value.to(device)


def as_arrays(state: State) -> dict[str, NDArray[Any]]:
    """Return copies of the state as arrays by name; `Rows` become several arrays, `name/clients` and so on."""
    found: dict[str, NDArray[Any]] = {}
    for name, value in state.items():
        if isinstance(value, Rows):
            found |= {f"{name}/{part}": array for part, array in value.as_arrays().items()}
        else:
            found[name] = value.cpu().numpy().copy()
    return found


def from_arrays(arrays: Arrays, like: State, device: torch.device) -> State:
    """Return the state from `as_arrays`; `like`, a state of the same aggregation, tells which values are `Rows`."""
    found: State = {}
    for name, array in arrays.items():
        owner, _, _ = name.rpartition("/")
        if isinstance(like.get(owner), Rows):
            found.setdefault(owner, {})[name.removeprefix(f"{owner}/")] = array
        else:
            found[name] = torch.from_numpy(array)
    return on_device({n: like[n].filled(v) if isinstance(v, dict) else v for n, v in found.items()}, device)


def size_of(state: State) -> int:
    """Return the maximum size of the clients' vectors [bytes]."""
    return sum(value.full_size for value in state.values() if isinstance(value, Rows))


def is_filed(size: float) -> bool:
    """Return whether vectors of this total size are kept in files of the run's folder instead of in memory."""
    return size > MOST_IN_MEMORY


def most_on_disk(size: float, n_clients: int, turns: float) -> float:
    """Return the maximum size of the files [bytes], with `turns` turns between two checkpoints.

    Vectors of the last two checkpoints are kept, so replaced vectors of two checkpoint intervals add to `size`.
    """
    return size * (1 + 2 * turns / n_clients)


def check_room(aggregation: Aggregation, size: float, folder: Path | None) -> None:
    """Raise an error if the aggregation's state fits neither in memory nor, for a run with a folder, on the disk."""
    given = type(aggregation).__name__
    if folder is None or not is_filed(size):
        check_memory("aggregation", given, size)
        return
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    if size > free:
        allowed = f"one whose memory of clients fits on the disk ({as_bytes(free)} are free)"
        raise InvalidValue("aggregation", allowed, f"{given} ({as_bytes(size)})")


def in_files(state: State, folder: Path) -> State:
    """Return an initial state whose vectors are kept in files of the folder if they may be large."""
    if not is_filed(size_of(state)):
        return state
    # The names come from user code and may contain slashes and dots.
    places = {name: folder / f"{quote(name, safe='')}{_SUFFIX}" for name in state}
    rows = {name: value for name, value in state.items() if isinstance(value, Rows)}
    return state | {name: Rows(value.n_clients, value.n_params, places[name]) for name, value in rows.items()}


def delete_unused(state: State, checkpointed: Iterable[State]) -> None:
    """Delete the files of vectors that neither the run nor a checkpoint refers to."""
    for name, value in state.items():
        if _is_in_files(value):
            used = value.files.union(*(other[name].files for other in checkpointed if name in other))
            for path in set(value.folder.iterdir()) - used:
                path.unlink()


def without_files(state: State) -> State:
    """Return the state without the vectors that are kept in files, with a mark in the place of each."""
    kept = {name: value for name, value in state.items() if not _is_in_files(value)}
    return kept | {f"{_DELETED}{name}": torch.empty(0) for name in state if name not in kept}


def check_kept(state: Arrays, place: Path, rounds: int) -> None:
    """Raise an error if the state of a run that finished after `rounds` rounds was deleted with its files."""
    if any(name.startswith(_DELETED) for name in state):
        why = f"its files of the clients' memory were deleted when it finished after {rounds} rounds"
        raise OtherRun(f"{place} cannot go on: {why}; play all rounds in another folder")


def delete_files(state: State) -> None:
    """Delete the vectors' files of a finished run: they may be large."""
    for value in filter(_is_in_files, state.values()):
        shutil.rmtree(value.folder)


def _is_in_files(value: object) -> bool:
    return isinstance(value, Rows) and value.folder is not None
