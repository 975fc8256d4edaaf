"""Measured power, played back: one column per client or site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from ehfl.arrays import FloatArray, IntArray, PerClient
from ehfl.energy.contract import RatedWatts
from ehfl.energy.traces.reader import DAY, Cumulated, Format, Record, read_record
from ehfl.quantities import as_time
from ehfl.randomness import Purpose, words
from ehfl.validation import InvalidValue, is_word

Assign = Literal["cycle", "each"]
Beyond = Literal["repeat", "refuse"]
Shift = Literal["none", "even", "random", "days"]
_FACTOR = RatedWatts(most=1e12, default=1.0)
_GOLDEN = (5**0.5 - 1) / 2  # its multiples spread over [0, 1) evenly, however many there are
_YEAR = 365 * DAY
_FIRST_DATE = 10 * _YEAR  # larger times are dates after 1980, smaller ones seconds since the recording began
_PROFILE = 288  # parts of a day that a forecaster tells apart: five minutes each


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """P_i(t) = energy of client i's column during round t / round length, from a file (see `read_record` for it).

    A round's energy is the integral of the recorded power over it, so nothing is lost whatever the round's length.
    Round 0 begins with the record's first row. Parameters:

    - `file`: CSV or Parquet. `watts` multiplies its power: 1 for W, the peak for a normalised trace; one number for all
      clients or one per client.
    - `columns`: the columns to use (default: all). `format`, `ohms`: power, or voltage into a resistor of `ohms`.
    - `assign`: "cycle", client i has column i mod n; "each", the fleet must have one client per column.
    - `beyond`: after the record's end, "repeat" starts again and "refuse" raises an error.
    - `shift`: clients begin later in the record (and go on at its start): "none"; "even", those that share a column
      are spread over the record; "random", anywhere, from (seed, client); "days", by whole days from (seed, client),
      which keeps the time of day.
    """

    per_client: ClassVar[tuple[str, ...]] = ("watts",)
    file: Path
    watts: RatedWatts = _FACTOR
    columns: str | Sequence[str] | None = None
    format: Format = "auto"
    ohms: float | None = None
    assign: Assign = "cycle"
    beyond: Beyond = "repeat"
    shift: Shift = "none"
    rated: PerClient = field(init=False)  # `watts`, which is a method, too
    record: Record = field(init=False)

    def __post_init__(self) -> None:
        for name, kind in (("assign", Assign), ("beyond", Beyond), ("shift", Shift)):
            given, choices = getattr(self, name), get_args(kind)
            if not is_word(given, *choices):
                raise InvalidValue(name, " or ".join(choices), repr(given))
        if self.shift != "none" and self.beyond == "refuse":
            allowed = "none with beyond refuse: a client that begins later would end later"
            raise InvalidValue("shift", allowed, self.shift)
        record = read_record(self.file, self.columns, self.format, self.ohms)
        if self.shift == "days" and record.duration < 2 * DAY:
            raise InvalidValue("shift", "none, even or random: the record is shorter than two days", self.shift)
        object.__setattr__(self, "record", record)

    def rounds_power(self, seed: int, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the mean power during each round [W], shape (len(rounds), len(clients))."""
        if self.beyond == "refuse" and len(rounds):
            self._check_end(max(rounds[0], rounds[-1]) + 1, round_length)
        later = self._begin(seed, clients)
        return self._mean_power(self.record.energy, rounds, clients, round_length, later)

    def mean_watts(self, n_clients: int) -> FloatArray:
        """Return the mean power of each client's column [W], shape (n_clients,)."""
        if self.assign == "each" and n_clients != len(self.record.names):
            allowed = f"cycle, or there must be a column for each of {n_clients} clients"
            raise InvalidValue("assign", allowed, f"each and {len(self.record.names)} columns")
        means: FloatArray = self._means(range(n_clients)) * self.rated.of_fleet(n_clients)
        return means

    def expected(self, rounds: range, clients: range, round_length: float) -> FloatArray:
        """Return the mean power at the same time of day over all days of the record [W]; else the mean of all.

        The time of day is not used for records under two full days, or if clients begin at random times of day.
        """
        if self.shift == "random" or self._profile is None:
            means = self._means(clients) * self.rated.part(clients)
            return np.broadcast_to(means, (len(rounds), len(clients)))
        later = None if self.shift == "days" else self._begin(0, clients)
        return self._mean_power(self._profile, rounds, clients, round_length, later)

    @property
    def first_day(self) -> int | None:
        """The day of the year at which round 0 begins, 0 for January 1; None of records without dates, or of less."""
        if self.record.start < _FIRST_DATE or self.record.duration < _YEAR:
            return None
        return datetime.fromtimestamp(self.record.start, UTC).timetuple().tm_yday - 1

    @property
    def first_second(self) -> float:
        """The time of day at which round 0 begins [s]."""
        return self.record.start % DAY

    def _mean_power(
        self, energy: Cumulated, rounds: range, clients: range, round_length: float, later: FloatArray | None
    ) -> FloatArray:
        if not len(rounds) or not len(clients):
            return np.zeros((len(rounds), len(clients)))
        # Consecutive rounds share edges; otherwise each round has two, and the energy between rounds is dropped.
        numbers = np.asarray(rounds)
        in_a_row = rounds.step == 1
        edges = np.append(numbers, rounds.stop) if in_a_row else np.stack([numbers, numbers + 1], axis=1).ravel()
        edges, columns = edges * float(round_length), self._columns(clients)
        if later is None:  # clients with one column have the same
            found = energy.between(edges, np.arange(len(self.record.names)))[:, columns]
        else:
            found = energy.between(edges, columns, later)
        return (found if in_a_row else found[::2]) * (self.rated.part(clients) / round_length)

    def _columns(self, clients: range) -> IntArray:
        return np.asarray(clients) % len(self.record.names)

    def _means(self, clients: range) -> FloatArray:
        means: FloatArray = self.record.energy.mean[self._columns(clients)]
        return means

    def _begin(self, seed: int, clients: range) -> FloatArray | None:
        """Return each client's start within the record [s], None if all start at its beginning."""
        if self.shift == "none":
            return None
        if self.shift == "even":
            lap = np.asarray(clients) // len(self.record.names)  # the first of each column begins at its start
            return np.asarray(lap * _GOLDEN % 1.0 * self.record.duration)
        drawn: FloatArray = words(seed, Purpose.HARVEST, range(1), clients)[0] / 2.0**32
        if self.shift == "random":
            return drawn * self.record.duration
        return np.asarray(np.floor(drawn * (self.record.duration // DAY)) * DAY)

    @cached_property
    def _profile(self) -> Cumulated | None:
        """Return the mean day, laid out over as long as it takes to be at the same time of day when it repeats."""
        record, days = self.record, int(self.record.duration // DAY)
        if days < 2:
            return None
        columns, grid = np.arange(len(record.names)), np.arange(days * _PROFILE + 1) * (DAY / _PROFILE)
        energy = record.energy.between(grid, columns).reshape(days, _PROFILE, -1).mean(axis=0)
        parts = _PROFILE if record.duration == days * DAY else int(np.ceil(record.duration / DAY * _PROFILE))
        times = np.minimum(np.arange(parts + 1) * (DAY / _PROFILE), record.duration)
        return Cumulated.of(times, energy[np.arange(parts) % _PROFILE] * (_PROFILE / DAY))

    def _check_end(self, rounds: int, round_length: float) -> None:
        most = int(self.record.duration / round_length * (1 + 1e-12))
        if rounds > most:
            allowed = f"at most {most:,} of {round_length:g} s: the record ends there, and beyond is refuse"
            raise InvalidValue("rounds", allowed, rounds)

    def __repr__(self) -> str:
        record = self.record
        several = f"{len(record.names)} columns, " if len(record.names) > 1 else ""
        return f"Trace({record.path.name}, {several}{as_time(record.duration)})"
