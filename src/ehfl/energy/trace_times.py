"""The times of a trace: seconds, ISO stamps of one time zone, or the clock of Mementos' recordings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.trace_rows import Rows
from ehfl.validation import InvalidValue, shown

GAP = 3.0  # usual steps; a row that would have to last longer is a hole in the record
_ALLOWED = "a trace whose times are seconds, or ISO stamps such as 2026-01-31 12:00:00"


def seconds_of(rows: Rows) -> FloatArray:
    """Return the time of each row [s], of stamps since 1970 by their own clock; refuse any that do not ascend."""
    cells = rows.cells[rows.time]
    if isinstance(cells, np.ndarray):
        times = _of_numbers(cells)
    elif not rows.time:
        numbers = _numbers(cells)
        times = clock_seconds(numbers) if np.isfinite(numbers).all() else numbers
    else:
        times = _numbers(cells) if _is_number(cells[0]) else _stamps(rows)
    _check(rows, times)
    return times


def usual_step(times: FloatArray) -> float:
    """Return the median of the steps [s], which is how long the last row lasts."""
    return float(np.median(np.diff(times)))


def clock_seconds(stamps: FloatArray) -> FloatArray:
    """Return the seconds that Mementos' stamps stand for: milliseconds, or a clock's digits without its colons.

    Their authors call them milliseconds, but 34959999 is followed by 35000000: it is 3:49:59.999. Stamps of which one
    could not be a clock's (its minute or second is beyond 59) are counted milliseconds. Where a second begins, a few
    have the next one's number and the right one's after them; these are a second too high, and put right.

    >>> clock_seconds(np.array([34959998.0, 34959999.0, 35001000.0, 35000001.0])).tolist()
    [13799.998, 13799.999, 13800.0, 13800.001]
    """
    minutes, rest = np.divmod(stamps, 100_000)
    hours, minutes = np.divmod(minutes, 100)
    if (minutes > 59).any() or (rest >= 60_000).any():
        return stamps / 1000
    whole = hours * 3_600_000 + minutes * 60_000 + rest  # [ms]
    early = np.zeros(whole.size, np.bool_)
    early[1:-1] = (np.diff(whole)[:-1] == 1001) & (np.diff(whole)[1:] == -999)
    seconds: FloatArray = (whole - 1000 * early) / 1000
    return seconds


def _of_numbers(cells: Any) -> FloatArray:
    """Return numbers or NumPy's stamps [us] in seconds; a stamp that is missing is NaN."""
    if cells.dtype.kind != "M":
        return np.asarray(cells, dtype=np.float64)
    seconds: FloatArray = np.where(np.isnat(cells), np.nan, cells.astype("datetime64[us]").astype(np.int64) / 1e6)
    return seconds


def _is_number(cell: object) -> bool:
    try:
        float(str(cell))
    except ValueError:
        return False
    return True


def _numbers(cells: Sequence[Any]) -> FloatArray:
    return np.array([float(cell) if _is_number(cell) else np.nan for cell in cells])


def _stamps(rows: Rows) -> FloatArray:
    """Return the seconds since 1970 that stamps show, read as if their clock were UTC's."""
    found = [_stamp(rows, row, cell) for row, cell in enumerate(rows.cells[rows.time])]
    zones = [stamp.utcoffset() for stamp in found]
    for row, zone in enumerate(zones):
        if zone != zones[0]:
            given = f"{_zone(zones[0])} in {rows.place(0)} and {_zone(zone)} in {rows.line} {rows.numbers[row]}"
            raise InvalidValue("file", "a trace whose times have one time zone (UTC has no summer time)", given)
    return np.array([stamp.replace(tzinfo=UTC).timestamp() for stamp in found])


def _stamp(rows: Rows, row: int, cell: object) -> datetime:
    try:
        return datetime.fromisoformat(str(cell).strip())
    except ValueError:
        raise InvalidValue("file", _ALLOWED, f"{shown(cell)} in {rows.place(row)}") from None


def _zone(offset: timedelta | None) -> str:
    """Return a time zone in words.

    >>> _zone(timedelta(hours=1)), _zone(timedelta(hours=-5.5)), _zone(None)
    ('UTC+01:00', 'UTC-05:30', 'no time zone')
    """
    if offset is None:
        return "no time zone"
    minutes = round(offset.total_seconds() / 60)
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _check(rows: Rows, times: FloatArray) -> None:
    """Refuse times that are none, do not ascend, or leave a hole."""
    cells, wrong = rows.cells[rows.time], ~np.isfinite(times)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidValue("file", _ALLOWED, f"{shown(cells[row])} in {rows.place(row)}")
    steps = np.diff(times)
    if (steps <= 0).any():
        row = int((steps <= 0).argmax()) + 1
        given = f"{shown(cells[row])} after {shown(cells[row - 1])} in {rows.place(row)}"
        raise InvalidValue("file", "a trace whose times ascend", given)
    usual = usual_step(times)
    if steps.max() > GAP * usual * (1 + 1e-9):
        row = int((steps > GAP * usual * (1 + 1e-9)).argmax()) + 1
        given = f"{steps[row - 1]:g} s from {shown(cells[row - 1])} to {shown(cells[row])} in {rows.place(row)}"
        raise InvalidValue("file", f"a trace without gaps: at most {GAP:g} times its usual step of {usual:g} s", given)
