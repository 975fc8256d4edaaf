"""The columns of a trace's file as they stand there: CSV by Python's reader, Parquet by pyarrow."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ehfl.files import refuse_pipe
from ehfl.machine import check_memory
from ehfl.validation import InvalidValue, shown

_PARQUET = (".parquet", ".pq")
_BYTES_A_BYTE = 12  # of memory that a byte of text takes while it is read: every cell is a text of its own
_BYTES_A_CELL = 24  # of a Parquet file's: as it is read, as a float, and cumulated
Cells = Sequence[Any] | NDArray[Any]
_TIMES = ("time", "timestamp", "datetime")


class Rows(NamedTuple):
    """Columns of equal length, and where each row stands."""

    path: Path
    cells: Mapping[str, Cells]  # texts of CSV; numbers, stamps or texts of Parquet; by heading
    time: str  # the heading of the times; "" where the file has no headings
    numbers: Sequence[int]  # of each row's line
    line: str = "line"  # what a row is called in messages

    def place(self, row: int) -> str:
        """Return where a row stands, for messages."""
        return f"{self.line} {self.numbers[row]} of {self.path.name}"


def read_rows(path: Path) -> Rows:
    """Return the columns of a file, .parquet or text; refuse one that cannot be read, or is larger than the memory."""
    refused = "a readable trace, CSV or Parquet"
    try:
        refuse_pipe(path)
        return _parquet(path) if path.suffix.lower() in _PARQUET else _text(path)
    except OSError as error:
        raise InvalidValue("file", refused, f"{path} ({error.strerror or error})") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidValue("file", refused, f"{path} ({error})") from None


def _text(path: Path) -> Rows:
    check_memory("file", path, _BYTES_A_BYTE * path.stat().st_size)
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = next((line for line in file if line.strip() and not line.startswith("#")), "")
        file.seek(0)
        reader = csv.reader(file, delimiter=_delimiter(first))
        rows = [(reader.line_num, row) for row in reader if any(row) and not row[0].startswith("#")]
    headings = [cell.strip() for cell in rows[0][1]] if rows and not _are_numbers(rows[0][1]) else []
    body = rows[1:] if headings else rows
    _check_rows(path, len(body))
    return _named(Rows(path, {}, "", [number for number, _ in body]), headings, [row for _, row in body])


def _check_rows(path: Path, rows: int) -> None:
    if rows < 2:  # of one, nobody knows how long it lasts
        raise InvalidValue("file", "a trace of two rows or more", f"{rows} in {path.name}")


def _named(found: Rows, headings: list[str], cells: list[list[str]]) -> Rows:
    """Return the rows' cells by heading; without any there are times and one other column."""
    time, width = _time_in(headings, found.path) if headings else "", len(headings) or 2
    for row, line in enumerate(cells):
        if len(line) != width:
            allowed = f"a trace with {width} columns in every line" + ("" if headings else " (it has no headings)")
            raise InvalidValue("file", allowed, f"{len(line)} in {found.place(row)}")
    if len(set(headings)) < len(headings):
        twice = next(name for name in headings if headings.count(name) > 1)
        raise InvalidValue("file", "a trace whose headings differ", f"{shown(twice)} twice in {found.path.name}")
    columns = dict(zip(headings or ["", found.path.stem], zip(*cells, strict=True), strict=True))
    return found._replace(cells=columns, time=time)


def _delimiter(line: str) -> str:
    """Return what separates the cells of a line: whichever there is most of, a blank where there is none of the others.

    >>> _delimiter("time,Cape Town,Hong Kong"), _delimiter("103717744 0.07")
    (',', ' ')
    """
    most = max(",;\t", key=line.count)
    return most if most in line or " " not in line.strip() else " "


def _are_numbers(row: list[str]) -> bool:
    try:
        return [float(cell) for cell in row] != []
    except ValueError:
        return False


def _time_in(headings: Sequence[str], path: Path) -> str:
    """Return the heading of the times."""
    for name in headings:
        if name.lower() in _TIMES:
            return name
    allowed = f"a trace with a heading that names a column {' or '.join(_TIMES)}"
    raise InvalidValue("file", allowed, f"{path.name} with {', '.join(map(shown, headings[:6]))}")


def _parquet(path: Path) -> Rows:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        needed = "a CSV file, unless pyarrow is installed (pip install 'ehfl[parquet]')"
        raise InvalidValue("file", needed, path) from None
    try:
        with parquet.ParquetFile(path) as file:
            check_memory("file", path, _BYTES_A_CELL * file.metadata.num_rows * file.metadata.num_columns)
            table = file.read()
    except ArrowException as error:
        raise InvalidValue("file", "a readable trace, CSV or Parquet", f"{path} ({error})") from None
    _check_rows(path, table.num_rows)
    cells = {name: _plain(table.column(name)) for name in table.column_names}
    return Rows(path, cells, _time_in(list(cells), path), range(1, table.num_rows + 1), "row")


def _plain(column: Any) -> Cells:
    """Return a column's numbers as they are, stamps as NumPy's [us], anything else as Python's objects."""
    from pyarrow import types

    if types.is_timestamp(column.type):
        return np.asarray(column.cast("timestamp[us]", safe=False).to_numpy())
    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.to_numpy(), dtype=np.float64)  # what is missing is NaN
    return list(column.to_pylist())
