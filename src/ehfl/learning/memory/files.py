"""The memory of an aggregation's state per client, and whether it lives in RAM or in files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import torch

from ehfl.learning.aggregation import Aggregation, State
from ehfl.learning.engine.flat import Arrays
from ehfl.learning.memory.rows import Rows
from ehfl.machine import bytes_text, check_memory
from ehfl.runs import OtherRun
from ehfl.validation import InvalidValue

# Above it files are cheaper: a file is written once a turn, a state in memory with every checkpoint, which takes three
# copies of it in memory and two on the disk.
MOST_IN_MEMORY = 32e6  # bytes
_SUFFIX = ".rows"
_DELETED = "deleted/"  # in the last checkpoint, before the names of vectors that went with their files


def size_of(state: State) -> int:
    """Return the maximum size of the clients' vectors [bytes]."""
    return sum(value.full_size for value in state.values() if isinstance(value, Rows))


def remembered_by(aggregation: Aggregation, n_clients: int, n_params: int) -> int:
    """Return the maximum size of an aggregation's state per client, over all clients [bytes]."""
    return size_of(aggregation.init(n_clients, n_params))


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
        allowed = f"one whose memory of clients fits on the disk ({bytes_text(free)} are free)"
        raise InvalidValue("aggregation", allowed, f"{given} ({bytes_text(size)})")


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
        if isinstance(value, Rows) and value.folder is not None:
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
    """Delete the vectors' files of a finished run: they may be large, and it will not resume."""
    for value in filter(_is_in_files, state.values()):
        shutil.rmtree(value.folder)


def _is_in_files(value: object) -> bool:
    return isinstance(value, Rows) and value.folder is not None
