"""Files of numbers, as text and as NumPy writes them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from ehfl.files.whole import refuse_pipe
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def read_numbers(name: str, path: Path, *, flat: bool = False) -> NDArray[np.generic]:
    """Return the numbers in a file: an array of .npy, or the rows of a text, separated by commas or white space.

    A first line of words is a heading, what follows # a comment. `flat` joins rows, which may then differ in length.
    Errors name the argument that the path was given for.
    """
    import numpy as np

    allowed = "a readable file of numbers, .npy or text"
    try:
        refuse_pipe(path)
        if path.suffix == ".npy":
            with path.open("rb") as file:
                found = read_npy(file, path.stat().st_size)
            return found.reshape(-1) if flat else found
        rows = _rows(path.read_text(encoding="utf-8-sig"))
        if not flat and len({len(row) for row in rows}) > 1:
            raise ValueError("rows of different lengths")
        return np.array([number for row in rows for number in row] if flat else rows)
    except OSError as error:
        raise InvalidValue(name, allowed, f"{path} ({error.strerror or error})") from None
    except (ValueError, EOFError) as error:
        raise InvalidValue(name, allowed, f"{path} ({error})") from None


def read_npy(file: IO[bytes], size: int) -> NDArray[np.generic]:
    """Return the array that a file of so many bytes holds, in the format that NumPy calls npy; nothing is unpickled.

    What its heading says is compared with the size first: no memory is taken for numbers that are not there.
    """
    import numpy as np

    shape, order, kind, heading = _npy_heading(file)
    needed, there = math.prod(shape) * kind.itemsize, size - heading
    if needed != there or min(shape, default=0) < 0:
        raise ValueError(f"its heading says {needed} bytes of numbers, and it has {there}")
    content = file.read(needed)
    if len(content) != needed:
        raise ValueError(f"it ends after {len(content)} of {needed} bytes of numbers")
    # A copy, because an array over bytes cannot be written to.
    return np.frombuffer(content, kind).reshape(shape, order=order).copy() if content else np.empty(shape, kind)


def _npy_heading(file: IO[bytes]) -> tuple[tuple[int, ...], Literal["C", "F"], np.dtype[Any], int]:
    """Return the shape, the order, the kind of numbers, and how many bytes the heading takes."""
    from numpy.lib import format as npy

    began = file.tell()
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        shape, by_columns, kind = readers[npy.read_magic(file)](file)
    except Exception as error:  # NumPy reads it as if it were Python, and fails in as many ways
        raise ValueError(f"its heading is not NumPy's ({type(error).__name__}: {error})") from None
    if kind.hasobject:
        raise ValueError("it holds objects of Python, which are not read")
    return shape, "F" if by_columns else "C", kind, file.tell() - began


def _rows(text: str) -> list[list[float]]:
    """Return the numbers of each line that has any."""
    bare = [line.partition("#")[0].strip() for line in text.splitlines()]
    lines = [[cell.strip() for cell in line.split(",")] if "," in line else line.split() for line in bare if line]
    if len(lines) > 1 and not _is_number(lines[0][0]):
        lines = lines[1:]
    if not lines:
        raise ValueError("no numbers")
    return [[float(word) for word in line] for line in lines]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
