"""Arrays in an npz archive, read without trusting what it says of itself."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ehfl.files import read_npy

_MOST_INFLATED = 1_032  # bytes that one byte of a deflated file can stand for, at most
_HEADING = 256  # [bytes]; the few that an empty array has beside its heading

Arrays = dict[str, NDArray[np.generic]]


def read_archive(file: IO[bytes], needed: Collection[str], optional: Collection[str] = ()) -> Arrays:
    """Return the arrays of an archive by name: those needed, perhaps the optional ones, and no others.

    Sizes are compared before anything is read, those of the parts with the file's and each array's with its part's, so
    that no more memory is taken than the file has numbers for.
    """
    size = file.seek(0, 2)
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        names = [part.filename.removesuffix(".npy") for part in parts]
        _check_names(names, needed, optional)
        if sum(part.compress_size for part in parts) > size:
            raise ValueError("its parts are larger than the whole")
        return {name: _array(archive, part) for name, part in zip(names, parts, strict=True)}


def _check_names(names: list[str], needed: Collection[str], optional: Collection[str]) -> None:
    missing = [name for name in needed if name not in names]
    strange = [name for name in names if name not in (*needed, *optional) or names.count(name) > 1]
    if missing or strange:
        raise ValueError(
            f"it lacks {missing[0]}" if missing else f"it holds {strange[0]!r}, which is none of its parts"
        )


def _array(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> NDArray[np.generic]:
    known = part.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if not known or part.file_size > _MOST_INFLATED * part.compress_size + _HEADING:
        raise ValueError(f"{part.filename} says of itself what cannot be")
    with archive.open(part) as stream:
        return read_npy(stream, part.file_size)
