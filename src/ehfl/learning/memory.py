"""How much an aggregation remembers of clients, and where it is kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import quote

from torch import Tensor

from ehfl.learning.aggregation import Aggregation, State
from ehfl.learning.row_file import STATES, RowFile
from ehfl.learning.rows import Rows
from ehfl.machine import bytes_text, check_memory
from ehfl.validation import InvalidValue

MOST_IN_MEMORY = 256e6  # bytes; a checkpoint is made of three copies of what is kept there
_SUFFIX = ".rows"


def size_of(state: State) -> int:
    """Return what the vectors of clients take at most [bytes]."""
    return sum(value.full_size for value in state.values() if isinstance(value, Rows))


def remembered_by(aggregation: Aggregation, n_clients: int, n_params: int) -> int:
    """Return what an aggregation remembers of clients at most [bytes]."""
    return size_of(aggregation.init(n_clients, n_params))


def is_filed(size: float) -> bool:
    """Return whether so much is kept in a file of the run's folder rather than in memory."""
    return size > MOST_IN_MEMORY


def most_on_disk(size: float) -> float:
    """Return how large the files of so much memory can become [bytes]: checkpoints have vectors of their own."""
    return STATES * size


def check_room(aggregation: Aggregation, size: float, folder: Path | None) -> None:
    """Refuse an aggregation whose memory fits neither into the machine's nor, where a run has a folder, on its disk."""
    given = type(aggregation).__name__
    if folder is None or not is_filed(size):
        check_memory("aggregation", given, size)
        return
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    if size > free:
        allowed = f"one whose memory of clients fits on the disk ({bytes_text(free)} are free)"
        raise InvalidValue("aggregation", allowed, f"{given} ({bytes_text(size)})")


def shelved(state: State, folder: Path) -> State:
    """Return a first state whose vectors will be kept in files of the folder, if there may be many."""
    if not is_filed(size_of(state)):
        return state
    return {name: _in_file(value, folder, name) if isinstance(value, Rows) else value for name, value in state.items()}


def _in_file(rows: Rows, folder: Path, name: str) -> Rows:
    path = folder / f"{quote(name, safe='')}{_SUFFIX}"  # names are the user's, and may have slashes and dots
    return Rows(rows.n_clients, rows.n_params, RowFile(path, rows.n_params, rows.n_clients))


def without_files(state: State) -> State:
    """Return what is left of a state when the files are gone."""
    return {name: value for name, value in state.items() if not _file_of(value)}


def delete_files(state: State) -> None:
    """Delete the files of a run that is over: nothing of them is needed any more, and they may be large."""
    for file in filter(None, map(_file_of, state.values())):
        file.path.unlink(missing_ok=True)


def _file_of(value: Tensor | Rows) -> RowFile | None:
    return value.shelf if isinstance(value, Rows) and isinstance(value.shelf, RowFile) else None
