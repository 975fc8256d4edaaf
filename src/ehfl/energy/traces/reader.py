"""A trace's file as power over time: CSV and Parquet by pandas, checked and in watts; its energy between any times."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import BoolArray, FloatArray, IntArray
from ehfl.extras import check_extra
from ehfl.machine import check_memory
from ehfl.validation import InvalidValue, number_in, shown

Format = Literal["auto", "power", "voltage"]
Column = Any  # a pandas.Series
Floats = NDArray[np.floating[Any]]
MEMENTOS_OHMS = 30_000.0  # the resistor in place of the tag's processor
DAY = 86_400.0  # [s]
GAP = 3.0  # usual steps; a longer step is a gap in the record
_MICROSECOND = 1e-6
_TIMES = ("time", "timestamp", "datetime")
_FROM_UTC = r"([+-]\d\d):?(\d\d)\s*$"
_BYTES_A_BYTE = 12  # bytes of memory per byte of text during reading, where every cell is a separate string
_READABLE = "a readable trace, CSV or Parquet"


@dataclass(frozen=True, eq=False, slots=True)
class Cumulated:
    """E(tau) = integral of P from 0 to tau, for several columns; P repeats after the period.

    Rounds' energies are differences of E, so that rounds of any length sum to the exact total.

    >>> power = Cumulated.of(np.array([0.0, 10.0, 40.0]), np.array([[1.0], [2.0]]))
    >>> power.between(np.array([0.0, 15.0, 30.0, 60.0]), np.array([0])).ravel().tolist()
    [20.0, 30.0, 50.0]
    """

    times: FloatArray  # from 0 to the period, (n + 1,) [s]
    watts: FloatArray  # from each time to the next, (n, n_columns) [W]
    energy: FloatArray  # until each time, (n + 1, n_columns) [J]
    even: bool  # whether the times are evenly spaced, so that a row need not be searched for

    @classmethod
    def of(cls, times: FloatArray, watts: FloatArray) -> Cumulated:
        """Cumulate powers that hold from each time to the next."""
        steps, energy = np.diff(times), np.zeros((times.size, watts.shape[1]))
        np.cumsum(watts * steps[:, None], axis=0, out=energy[1:])
        return cls(times, np.ascontiguousarray(watts), energy, even=bool(np.ptp(steps) <= 1e-9 * steps.max()))

    @property
    def period(self) -> float:
        """The period [s]."""
        return float(self.times[-1])

    @property
    def mean(self) -> FloatArray:
        """The mean power of each column, (n_columns,) [W]."""
        means: FloatArray = self.energy[-1] / self.period
        return means

    def between(self, edges: Floats, columns: IntArray, later: FloatArray | None = None) -> FloatArray:
        """Return the energy from each time to the next [J], shape (len(edges) - 1, len(columns)).

        `later` is the delay of each column relative to `edges`, from 0 to the period, (len(columns),) [s].
        """
        periods, within = (part[:, None] for part in np.divmod(edges, self.period))
        if later is not None:
            within = within + later
            again = within >= self.period
            periods, within = periods + again, within - again * self.period
        row = self._rows(within)
        cell = row * self.watts.shape[1] + columns
        until = self.energy.ravel()[cell] + self.watts.ravel()[cell] * (within - self.times[row])
        # Subtract full periods before the difference, so that late rounds are as exact as early ones.
        found: FloatArray = np.diff(periods, axis=0) * self.energy[-1, columns] + np.diff(until, axis=0)
        return np.maximum(found, 0.0)  # rounding may leave slightly less than 0

    def _rows(self, within: FloatArray) -> IntArray:
        """Return the row at each time; at an edge either neighbour is correct, since E is continuous."""
        if self.even:
            row = (within * (self.watts.shape[0] / self.period)).astype(np.intp)
        else:
            row = np.searchsorted(self.times, within, side="right") - 1
        rows: IntArray = np.minimum(row, self.watts.shape[0] - 1)
        return rows


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
    """Return the content of a trace's file, in watts.

    The file is CSV (with commas, semicolons or tabs) or Parquet: a column `time` (or `timestamp`, `datetime`) of
    seconds (since 1970 also ms, us or ns) or of ISO stamps, whose distances from UTC may change with summer time, and
    a column of power for each client or site. Or it is text of two columns without headings, as Mementos' recordings
    [1]: milliseconds, or the digits of a clock, and volts across 30 kOhm. `columns` names those to take (all). Voltage
    into a resistor is P = V^2 / `ohms`.

    The result is cached until the file changes.

    [1] B. Ransford, J. Sorber and K. Fu, "Mementos: system support for long-running computation on RFID-scale devices",
        ASPLOS 2011; traces at github.com/ransford/mspsim, branch mementos.
    """
    path = Path(file)
    chosen = [columns] if isinstance(columns, str) else columns
    if chosen is not None and not (
        isinstance(chosen, list | tuple) and chosen and all(isinstance(name, str) for name in chosen)
    ):
        raise InvalidValue("columns", "a heading or a list of headings", repr(columns))
    if format not in ("auto", "power", "voltage"):
        raise InvalidValue("format", "auto, power or voltage", repr(format))
    if ohms is not None:
        number_in("ohms", ohms, "(0, 1e12]")
    try:
        state = path.stat()
    except OSError as error:
        raise InvalidValue("file", _READABLE, f"{path} ({error.strerror})") from None
    wanted = None if chosen is None else tuple(chosen)
    return _record(path.absolute(), (state.st_mtime_ns, state.st_size), wanted, format, ohms)


@lru_cache(maxsize=4)
def _record(
    path: Path,
    state: tuple[int, int],  # of the file: part of the cache key, so that a changed file is read again
    columns: tuple[str, ...] | None,
    format_: Format,
    ohms: float | None,
) -> Record:
    time, series = _columns(path)
    resistance = _resistance(time, format_, ohms)
    if not series:
        raise InvalidValue("file", "a trace with a column of power beside its times", path.name)
    for name in columns or ():
        if name not in series:
            raise InvalidValue("columns", f"of {', '.join(map(shown, series))}", name)
    names = columns or tuple(series)
    times = _seconds(path, time, clock=not time.name)
    values = np.stack([_values(path, series[name], signed=resistance is not None) for name in names], axis=1)
    power = values if resistance is None else values**2 / resistance
    power.flags.writeable = False
    after, step = times - times[0], float(np.median(np.diff(times)))
    if step > 10 * _MICROSECOND:  # smaller steps are rounding errors of dates
        after, step = np.round(after, 6), round(step, 6)
    return Record(path, names, float(times[0]), after, step, power)


def _resistance(time: Column, format_: Format, ohms: float | None) -> float | None:
    """Return what voltage falls across [Ohm], None of powers; a file without headings holds voltage."""
    is_voltage = format_ == "voltage" or (format_ == "auto" and not time.name)
    if not is_voltage and ohms is not None:
        raise InvalidValue("ohms", "left out: the file holds power, unless format is voltage", ohms)
    if is_voltage and ohms is None and time.name:
        raise InvalidValue("ohms", "given with format voltage: P = V^2 / ohms", "nothing")
    return (ohms or MEMENTOS_OHMS) if is_voltage else None


def _columns(path: Path) -> tuple[Column, dict[str, Column]]:
    """Return the times of a file, whose name is "" where it has no headings, and its other columns by heading."""
    try:
        frame = _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _text(path)
    except InvalidValue:
        raise
    except OSError as error:
        raise InvalidValue("file", _READABLE, f"{path} ({error.strerror or error})") from None
    except (ValueError, Warning) as error:  # pandas' and pyarrow's errors
        raise InvalidValue("file", _READABLE, f"{path} ({error})") from None
    if len(frame) < 2:  # the duration of a single row is unknown
        raise InvalidValue("file", "a trace of two rows or more", f"{len(frame)} in {path.name}")
    headings = [str(name) for name in frame.columns]
    time = _time_among(path, headings)
    return frame[time], {name: frame[name] for name in headings if name != time}


def _time_among(path: Path, headings: list[str]) -> str:
    time = next((name for name in headings if name.lower() in ("", *_TIMES)), None)
    if time is None:
        allowed = f"a trace with a heading that names a column {' or '.join(_TIMES)}"
        raise InvalidValue("file", allowed, f"{path.name} with {', '.join(map(shown, headings[:6]))}")
    return time


def _parquet(path: Path) -> Any:
    check_extra("parquet")
    from pyarrow import parquet

    check_memory("file", path, path.stat().st_size)
    return parquet.read_table(path).to_pandas(ignore_metadata=True)  # else times may become the frame's index


def _text(path: Path) -> Any:
    import pandas as pd

    check_memory("file", path, _BYTES_A_BYTE * path.stat().st_size)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rest = ((above, line) for above, line in enumerate(file) if line.strip() and not line.startswith("#"))
        above, first = next(rest, (0, ""))
    separator = max(",;\t", key=first.count)  # the most frequent; blanks where there is none of them
    separator = separator if separator in first or " " not in first.strip() else " "
    cells = [cell.strip() for cell in next(csv.reader([first], delimiter=separator), [])]
    headed = not all(map(_is_number, cells))
    names = [cell or f"column {place}" for place, cell in enumerate(cells)] if headed else ["", path.stem]
    _time_among(path, names)  # before pandas refuses two columns of one name, as files of weather have them
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # of rows that are longer than the headings
        return pd.read_csv(
            path,
            sep=r"\s+" if separator == " " else separator,
            names=names,  # pandas refuses two of one name
            index_col=False,
            skiprows=above + headed,
            comment=None if "#" in first else "#",
            skipinitialspace=True,
            encoding="utf-8-sig",
            dtype=object,  # floats by Python, which rounds correctly in every version of pandas
            na_filter=False,
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _refuse(path: Path, wrong: BoolArray, allowed: str, given: Callable[[int], str]) -> None:
    """Raise an error that names the first wrong row."""
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidValue("file", f"a trace {allowed}", f"{given(row)} in row {row + 1} of {path.name}")


def _values(path: Path, column: Column, *, signed: bool) -> FloatArray:
    """Return a column's numbers; raise an error for text, non-finite and, unless `signed`, negative values."""
    values = _as_floats(column)
    fits = np.isfinite(values) if signed else (values >= 0) & (values < np.inf)
    allowed = "of voltages that are finite numbers" if signed else "of powers that are finite numbers >= 0"
    _refuse(path, ~fits, allowed, lambda row: f"{shown(column.iloc[row])} for {shown(column.name)}")
    return values


def _as_floats(column: Column) -> FloatArray:
    """Return a column as floats, NaN for cells that are not numbers."""
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):  # some are text
        return np.array([float(cell) if _is_number(str(cell)) else np.nan for cell in column])


def _seconds(path: Path, column: Column, *, clock: bool) -> FloatArray:
    """Return the time of each row [s], of stamps since 1970 in their own zone; raise an error unless they ascend."""
    if column.dtype.kind in "iuf" or clock or _is_number(str(column.iloc[0])):
        times = _as_floats(column)
        finite = np.isfinite(times).all()
        times = clock_seconds(times) if clock and finite else times / _unit_of(times[0])
    else:
        times = _stamps(column)

    def cell(row: int) -> str:
        return shown(column.iloc[row])

    _refuse(path, ~np.isfinite(times), "whose times are seconds, or ISO stamps such as 2026-01-31 12:00:00", cell)
    steps = np.diff(times, prepend=-np.inf)
    usual = float(np.median(steps[1:]))
    _refuse(path, steps <= 0, "whose times ascend", lambda row: f"{cell(row)} after {cell(row - 1)}")
    steps[0] = usual
    allowed = f"without gaps: at most {GAP:g} times its usual step of {usual:g} s"
    hole = steps > GAP * usual * (1 + 1e-9)
    _refuse(path, hole, allowed, lambda row: f"{steps[row]:g} s from {cell(row - 1)} to {cell(row)}")
    return times


def _unit_of(first: float) -> float:
    """Return how many units of time make a second, by a time since 1970: s until the year 5138, else ms, us or ns.

    >>> [_unit_of(time) for time in (0.0, 1.7e9, 1.7e12, 1.7e15, 1.7e18)]
    [1.0, 1.0, 1000.0, 1000000.0, 1000000000.0]
    """
    return next((unit for unit in (1.0, 1e3, 1e6) if first < 1e11 * unit), 1e9)


def _stamps(column: Column) -> FloatArray:
    """Return the seconds since 1970 of stamps, by the clock of their site in standard time; NaN for invalid stamps.

    Summer time has other distances from UTC than standard time, whose distance is the least.
    """
    import pandas as pd

    if column.dtype.kind != "M":  # stamps of Parquet are such already, in UTC where they have a time zone
        column = column.astype(str).str.replace(r"[Zz]\s*$", "+00:00", regex=True)
        ahead = column.str.extract(_FROM_UTC).astype(float)  # sign and hours, minutes
        seconds = 3600 * ahead[0] + 60 * np.copysign(ahead[1], ahead[0])
        column = pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True).dt.tz_localize(None)
        if seconds.notna().any():
            # A stamp without a distance among others with one is no known time.
            column = column.where(seconds.notna()) + pd.to_timedelta(seconds.min(), unit="s")
    microseconds = column.to_numpy("M8[us]")
    return np.where(np.isnat(microseconds), np.nan, microseconds.astype(np.int64) / 1e6)


def clock_seconds(stamps: FloatArray) -> FloatArray:
    """Return Mementos' stamps in seconds: they are milliseconds, or the digits of a clock without colons.

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
