"""CIFAR-10's official binary layout, from a folder, an archive or the network.

A record is 3,073 bytes: the label, then 1,024 red, 1,024 green and 1,024 blue bytes. A file with another layout raises
an error with its name.
"""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ehfl.validation import InvalidValue, renamed

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
ARCHIVE = "cifar-10-binary.tar.gz"
FOLDER = "cifar-10-batches-bin"
TRAINING = tuple(f"data_batch_{k}.bin" for k in range(1, 6))
TEST = ("test_batch.bin",)
RECORDS = 10_000  # in each file
_RECORD_BYTES = 3073

Bytes = NDArray[np.uint8]
Reader = Callable[[str], bytes]  # a file's name in, its content out


def read_cifar10(data: str | os.PathLike[str] | None, records: int = RECORDS) -> tuple[Bytes, Bytes, Bytes, Bytes]:
    """Return training images, training labels, test images and test labels from a folder or an archive.

    They are read from `data`, else from $EHFL_DATA, else downloaded. Images have shape (n_images, 32, 32, 3), channels
    last; labels have shape (n_images,).
    """
    if data is not None and not os.fspath(data):
        raise InvalidValue("data", "the name of a folder or an archive", "")
    # Errors name the source of the path. An empty variable counts as unset, because shells often set empty ones.
    given = data if data is not None else os.environ.get("EHFL_DATA") or None
    name = "$EHFL_DATA" if data is None and given is not None else "data"
    with renamed(lambda _: name):
        return _read(_downloaded() if given is None else find_cifar10(Path(given)), records)


def _read(source: Path, records: int) -> tuple[Bytes, Bytes, Bytes, Bytes]:
    if source.is_dir():
        return _read_all(_folder_reader(source), records)
    try:
        with tarfile.open(source, "r:*") as archive:
            return _read_all(_archive_reader(source, archive), records)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise InvalidValue("data", "a whole CIFAR-10 archive", f"{source} ({error})") from error


def find_cifar10(place: Path) -> Path:
    """Return the folder or the archive to read in a place."""
    for candidate in (place, place / FOLDER, place / ARCHIVE):
        if candidate.is_file() or (candidate / TRAINING[0]).is_file():
            return candidate
    raise InvalidValue("data", f"a folder with {FOLDER} or {ARCHIVE} in it, or the archive itself", place)


def _downloaded() -> Path:
    import pooch  # type: ignore[import-untyped]

    try:
        return Path(pooch.retrieve(URL, f"md5:{MD5}", ARCHIVE, pooch.os_cache("ehfl"), progressbar=True))
    except (OSError, ValueError) as error:
        reason = f"no download from {URL} ({type(error).__name__})"
        raise InvalidValue("data", "given, or EHFL_DATA be set, where there is no network", reason) from error


def _folder_reader(folder: Path) -> Reader:
    def read(name: str) -> bytes:
        try:
            return (folder / name).read_bytes()
        except OSError as error:
            raise InvalidValue("data", f"a folder with {name} in it", f"{folder} ({error.strerror})") from error

    return read


def _archive_reader(source: Path, archive: tarfile.TarFile) -> Reader:
    members = {Path(member.name).name: member for member in archive.getmembers() if member.isfile()}

    def read(name: str) -> bytes:
        if name not in members:
            raise InvalidValue("data", f"an archive with {name} in it", source)
        file = archive.extractfile(members[name])
        assert file is not None  # isfile() above
        return file.read()

    return read


def _read_all(read: Reader, records: int) -> tuple[Bytes, Bytes, Bytes, Bytes]:
    images, labels = zip(*(_parsed(read(name), name, records) for name in (*TRAINING, *TEST)), strict=True)
    n_training = len(TRAINING)
    return np.concatenate(images[:n_training]), np.concatenate(labels[:n_training]), images[-1], labels[-1]


def _parsed(content: bytes, name: str, records: int) -> tuple[Bytes, Bytes]:
    """Return a file's images and labels; raise an error if its size or a label is wrong."""
    expected = records * _RECORD_BYTES
    if len(content) != expected:
        kind = "truncated" if len(content) < expected else "too long"
        given = f"one of {len(content)} bytes, it is {kind}"
        raise InvalidValue("data", f"whole: a {name} of {expected} bytes ({records} records)", given)
    rows = np.frombuffer(content, dtype=np.uint8).reshape(records, _RECORD_BYTES)
    if rows[:, 0].max() > 9:
        raise InvalidValue("data", f"CIFAR-10's: a {name} with labels in [0, 9]", f"label {rows[:, 0].max()}")
    # Colours last: the network runs in channels_last, which a transposed view would have to copy in every batch.
    planes = rows[:, 1:].reshape(records, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), rows[:, 0].copy()
