"""A trace's file as power over time: read, checked and in watts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy.cumulated import Cumulated
from ehfl.energy.trace_rows import Rows, read_rows
from ehfl.energy.trace_times import seconds_of, usual_step
from ehfl.validation import InvalidValue, number_in, path_of, shown

Format = Literal["auto", "power", "voltage"]
MEMENTOS_OHMS = 30_000.0  # the resistor in place of the tag's processor
DAY = 86_400.0  # [s]
_MICROSECOND = 1e-6


@dataclass(frozen=True, eq=False)
class Record:
    """Power over time: row k's holds from its time until the next row's, the last row's for one usual step."""

    path: Path
    names: tuple[str, ...]  # of the columns
    start: float  # the first row's time [s]: since 1970 by the stamps' own clock, or as the file counts
    times: FloatArray  # after the start, (n_rows,) [s]
    step: float  # the usual one [s]
    watts: FloatArray  # (n_rows, n_columns) [W]

    @property
    def duration(self) -> float:
        """How long it lasts [s]."""
        return float(self.times[-1]) + self.step

    @cached_property
    def energy(self) -> Cumulated:
        """Its energy until any time."""
        return Cumulated.of(np.append(self.times, self.duration), self.watts)


def read_record(
    file: Path | str,
    columns: Sequence[str] | str | None = None,
    format: Format = "auto",  # noqa: A002  # the parameter's name
    ohms: float | None = None,
) -> Record:
    """Return what a trace's file holds, in watts.

    The file is CSV (with commas, semicolons or tabs) or Parquet: a column `time` (or `timestamp`, `datetime`) of
    seconds or of ISO stamps of one time zone, and a column of power for each client or site. Or it is text of two
    columns without headings, as Mementos' recordings [1]: milliseconds, or the digits of a clock, and volts across 30
    kOhm. `columns` names those to take (all). Voltage into a resistor is P = V^2 / `ohms`.

    A file is read once while it does not change.

    [1] B. Ransford, J. Sorber and K. Fu, "Mementos: system support for long-running computation on RFID-scale devices",
        ASPLOS 2011; traces at github.com/ransford/mspsim, branch mementos.
    """
    path = path_of("file", file)
    chosen = _chosen(columns)
    if format not in ("auto", "power", "voltage"):
        raise InvalidValue("format", "auto, power or voltage", repr(format))
    if ohms is not None:
        number_in("ohms", ohms, "(0, 1e12]")
    try:
        state = path.stat()
    except OSError as error:
        raise InvalidValue("file", "a readable trace, CSV or Parquet", f"{path} ({error.strerror})") from None
    return _record(path.absolute(), (state.st_mtime_ns, state.st_size), chosen, format, ohms)


def _chosen(columns: Sequence[str] | str | None) -> tuple[str, ...] | None:
    several = (columns,) if isinstance(columns, str) else columns
    if several is None:
        return None
    if not isinstance(several, list | tuple) or not several or not all(isinstance(name, str) for name in several):
        raise InvalidValue("columns", "a heading or a list of headings", repr(columns))
    return tuple(several)


@lru_cache(maxsize=4)
def _record(
    path: Path,
    state: tuple[int, int],
    columns: tuple[str, ...] | None,
    format_: Format,
    ohms: float | None,
) -> Record:
    """Read it; `state` is the file's, so that one that has changed is another."""
    rows = read_rows(path)
    resistance = _resistance(rows, format_, ohms)
    names = _names(rows, columns)
    times = seconds_of(rows)
    values = np.stack([_values(rows, name, signed=resistance is not None) for name in names], axis=1)
    power = values if resistance is None else values**2 / resistance
    power.flags.writeable = False
    after, step = times - times[0], usual_step(times)
    if step > 10 * _MICROSECOND:  # what is left of dates beyond is rounding
        after, step = np.round(after, 6), round(step, 6)
    return Record(path, names, float(times[0]), after, step, power)


def _resistance(rows: Rows, format_: Format, ohms: float | None) -> float | None:
    """Return what voltage falls across [Ohm], None of powers."""
    is_voltage = format_ == "voltage" or (format_ == "auto" and not rows.time)
    if not is_voltage and ohms is not None:
        raise InvalidValue("ohms", "left out: the file holds power, unless format is voltage", ohms)
    if is_voltage and ohms is None and rows.time:
        raise InvalidValue("ohms", "given with format voltage: P = V^2 / ohms", "nothing")
    return (ohms or MEMENTOS_OHMS) if is_voltage else None


def _names(rows: Rows, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    there = tuple(name for name in rows.cells if name != rows.time)
    if not there:
        raise InvalidValue("file", "a trace with a column of power beside its times", rows.path.name)
    for name in columns or ():
        if name not in there:
            raise InvalidValue("columns", f"of {', '.join(map(shown, there))}", name)
    return columns or there


def _values(rows: Rows, name: str, *, signed: bool) -> FloatArray:
    """Return a column's numbers; refuse what is none, infinite or, unless it may be `signed`, negative."""
    cells = rows.cells[name]
    values = np.array([_number(cell) for cell in cells]) if not isinstance(cells, np.ndarray) else cells
    values = values.astype(np.float64)
    wrong = ~np.isfinite(values) if signed else ~((values >= 0) & (values < np.inf))
    if wrong.any():
        row = int(wrong.argmax())
        what = "voltages that are finite numbers" if signed else "powers that are finite numbers >= 0"
        given = f"{shown(cells[row])} for {shown(name)} in {rows.place(row)}"
        raise InvalidValue("file", f"a trace of {what}", given)
    return values


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")
