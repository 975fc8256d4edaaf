"""Files of numbers: texts and NumPy's own, which may say anything of themselves."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ehfl.files import read_numbers
from ehfl.validation import InvalidValue


def written(folder: Path, text: str | bytes, name: str = "numbers.csv") -> Path:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("1 2\n3\t4", [[1, 2], [3, 4]]),
        ("1, 2\r\n3, 4\r\n", [[1, 2], [3, 4]]),
        ("roof,attic\n1,2\n", [[1, 2]]),
        ("# in watts\nroof,attic\n\n1,2 # at noon\n", [[1, 2]]),
        ("\ufeff1,2\n", [[1, 2]]),
        ("0.25\n-1e3\n", [[0.25], [-1000.0]]),
        ("1,2,3", [[1, 2, 3]]),
        ("nan,inf\n", [[math.nan, math.inf]]),
    ],
)
def test_rows_of_numbers_are_read_from_a_text(tmp_path: Path, text: str, rows: list[list[float]]) -> None:
    assert repr(read_numbers("rates", written(tmp_path, text)).tolist()) == repr(np.array(rows, dtype=float).tolist())


def test_flat_numbers_may_stand_in_rows_of_any_length(tmp_path: Path) -> None:
    path = written(tmp_path, "rate\n0.1, 0.2, 0.3\n0.4\n\n0.5 0.6\n", "rates.txt")

    assert read_numbers("rates", path, flat=True).tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def test_numbers_of_numpys_keep_their_kind_and_shape_unless_flat(tmp_path: Path) -> None:
    np.save(tmp_path / "numbers.npy", np.array([[1, 2], [3, 4]], dtype=np.int16))
    found = read_numbers("rates", tmp_path / "numbers.npy")

    assert found.tolist() == [[1, 2], [3, 4]]
    assert found.dtype == np.int16
    assert read_numbers("rates", tmp_path / "numbers.npy", flat=True).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("numbers.csv", "", "no numbers"),
        ("numbers.csv", "# nothing\n\n", "no numbers"),
        ("numbers.csv", "roof,attic\n", "could not convert string to float: 'roof'"),
        ("numbers.csv", "1,2\n3,x\n", "could not convert string to float: 'x'"),
        ("numbers.csv", "a,b\nc,d\n", "could not convert string to float: 'c'"),
        ("numbers.csv", "1;2\n", "could not convert string to float: '1;2'"),
        ("numbers.csv", "1,2\n3\n", ""),
        ("numbers.csv", b"\xff\xfe1\x00", "'utf-8' codec can't decode"),
        ("numbers.npy", b"", ""),
        ("numbers.npy", b"1,2\n", ""),
        ("numbers.npy", b"\x93NUMPY\x01\x00v\x00{'descr'", ""),
    ],
)
def test_a_file_without_numbers_is_refused_by_argument_path_and_reason(
    tmp_path: Path, name: str, content: str | bytes, why: str
) -> None:
    """Where NumPy gives the reason, its words are not ours to test."""
    path = written(tmp_path, content, name)
    with pytest.raises(InvalidValue, match=r"^rates must be a readable file of numbers, .npy or text, got ") as caught:
        read_numbers("rates", path)

    assert f"{path} (" in str(caught.value)
    assert why in str(caught.value)


def test_a_file_that_is_not_there_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "absent.csv", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(InvalidValue) as caught:
            read_numbers("rates", path)
        assert f"{path} ({why})" in str(caught.value)


def test_a_pickle_of_numpys_is_not_executed(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "sprung",)

    np.save(tmp_path / "trap.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidValue, match=r"trap\.npy \(.*allow_pickle=False"):
        read_numbers("rates", tmp_path / "trap.npy")

    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("whole", [False, True])
def test_an_archive_in_the_place_of_an_array_is_refused(tmp_path: Path, whole: bool) -> None:
    with (tmp_path / "numbers.npy").open("wb") as file:
        np.savez(file, one=np.ones(3))
    if not whole:
        written(tmp_path, (tmp_path / "numbers.npy").read_bytes()[:40], "numbers.npy")

    with pytest.raises(InvalidValue, match=r"numbers\.npy"):
        read_numbers("rates", tmp_path / "numbers.npy")


def test_an_array_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "whole.npy", np.ones(3))
    written(tmp_path, (tmp_path / "whole.npy").read_bytes()[:-8], "numbers.npy")

    with pytest.raises(InvalidValue, match=r"numbers\.npy \(.*could only read 2 elements"):
        read_numbers("rates", tmp_path / "numbers.npy")


def test_arrays_by_columns_and_without_numbers_are_read(tmp_path: Path) -> None:
    for name, array in {"turned": np.arange(6).reshape(2, 3).T, "none": np.zeros((0, 4)), "one": np.array(7)}.items():
        np.save(tmp_path / f"{name}.npy", array)
        found = read_numbers("rates", tmp_path / f"{name}.npy")
        assert (found.dtype, found.shape, found.tolist()) == (array.dtype, array.shape, array.tolist())
