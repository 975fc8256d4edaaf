"""The official binary layout of CIFAR-10 and CIFAR-100, from a folder, an archive or the network.

A record is its labels, then 1,024 red, 1,024 green and 1,024 blue bytes. CIFAR-10 has one label; CIFAR-100 has two, of
which the second, the finer one, is used. A file with another layout raises an error with its name.
"""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ehfl.validation import InvalidValue, renamed

RECORDS = 10_000  # in each of CIFAR-10's files; CIFAR-100 has five times as many in its first
_PIXEL_BYTES = 3072


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a data set."""

    name: str
    url: str
    md5: str
    folder: str
    training: tuple[str, ...]
    test: str
    per_file: int  # records of each training file, in those of the test file
    labels: int  # of a record, one byte each
    classes: int

    @property
    def archive(self) -> str:
        """The name of the archive."""
        return self.url.rpartition("/")[2]


CIFAR10 = Layout(
    "CIFAR-10", "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530",
    "cifar-10-batches-bin", tuple(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin", 1, 1, 10,
)  # fmt: skip
CIFAR100 = Layout(
    "CIFAR-100", "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8",
    "cifar-100-binary", ("train.bin",), "test.bin", 5, 2, 100,
)  # fmt: skip
TRAINING, TEST = CIFAR10.training, (CIFAR10.test,)
ARCHIVE, FOLDER = CIFAR10.archive, CIFAR10.folder

Bytes = NDArray[np.uint8]


def read_cifar(
    data: str | os.PathLike[str] | None, records: int = RECORDS, layout: Layout = CIFAR10
) -> tuple[Bytes, Bytes, Bytes, Bytes]:
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
        source = _downloaded(layout) if given is None else find_cifar(Path(given), layout)
        return _read(source, records, layout)


def _read(source: Path, records: int, layout: Layout) -> tuple[Bytes, Bytes, Bytes, Bytes]:
    names = (*layout.training, layout.test)
    found = _in_folder(source, names) if source.is_dir() else _in_archive(source, names, layout)
    per_file = [records * layout.per_file] * len(layout.training) + [records]
    *training, test = map(_parsed, found, names, per_file, [layout] * len(names))
    images, labels = (np.concatenate(parts) for parts in zip(*training, strict=True))
    return images, labels, *test


def _in_folder(folder: Path, names: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of each file."""
    for name in names:
        try:
            yield (folder / name).read_bytes()
        except OSError as error:
            raise InvalidValue("data", f"a folder with {name} in it", f"{folder} ({error.strerror})") from error


def _in_archive(source: Path, names: Sequence[str], layout: Layout) -> Iterator[bytes]:
    """Yield the content of each file."""
    try:
        with tarfile.open(source, "r:*") as archive:
            members = {Path(member.name).name: member for member in archive.getmembers() if member.isfile()}
            for name in names:
                if name not in members:
                    raise InvalidValue("data", f"an archive with {name} in it", source)
                file = archive.extractfile(members[name])
                assert file is not None  # isfile() above
                yield file.read()
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise InvalidValue("data", f"a whole {layout.name} archive", f"{source} ({error})") from error


def find_cifar(place: Path, layout: Layout = CIFAR10) -> Path:
    """Return the folder or the archive to read in a place."""
    for candidate in (place, place / layout.folder, place / layout.archive):
        if candidate.is_file() or (candidate / layout.training[0]).is_file():
            return candidate
    raise InvalidValue("data", f"a folder with {layout.folder} or {layout.archive} in it, or the archive itself", place)


def _downloaded(layout: Layout) -> Path:
    import pooch  # type: ignore[import-untyped]

    try:
        cache = pooch.os_cache("ehfl")
        return Path(pooch.retrieve(layout.url, f"md5:{layout.md5}", layout.archive, cache, progressbar=True))
    except (OSError, ValueError) as error:
        reason = f"no download from {layout.url} ({type(error).__name__})"
        raise InvalidValue("data", "given, or EHFL_DATA be set, where there is no network", reason) from error


def _parsed(content: bytes, name: str, records: int, layout: Layout) -> tuple[Bytes, Bytes]:
    """Return a file's images and labels; raise an error if its size or a label is wrong."""
    expected = records * (layout.labels + _PIXEL_BYTES)
    if len(content) != expected:
        kind = "truncated" if len(content) < expected else "too long"
        given = f"one of {len(content)} bytes, it is {kind}"
        raise InvalidValue("data", f"whole: a {name} of {expected} bytes ({records} records)", given)
    rows = np.frombuffer(content, dtype=np.uint8).reshape(records, -1)
    labels = rows[:, layout.labels - 1]
    if labels.max() >= layout.classes:
        allowed = f"{layout.name}'s: a {name} with labels in [0, {layout.classes - 1}]"
        raise InvalidValue("data", allowed, f"label {labels.max()}")
    # Colours last: the network runs in channels_last, which a transposed view would have to copy in every batch.
    planes = rows[:, layout.labels :].reshape(records, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels.copy()
