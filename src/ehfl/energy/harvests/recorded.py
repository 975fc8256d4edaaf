"""Recorded or planned units from lists, arrays and files, played once or as a repeating pattern."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, IntArray, PerClient, describe
from ehfl.energy.battery import MAX_LEVEL
from ehfl.files import read_numbers
from ehfl.randomness import MAX_ROUNDS
from ehfl.validation import InvalidValue


@dataclass(frozen=True, eq=False)
class Replay:
    """A_i(t) as given: `arrivals` has shape (n_rounds, n_clients), integers >= 0.

    Or it names a file of them: .npy, or .csv with one row per round and one column per client.

    >>> Replay([[1, 0], [0, 2]]).units(seed=0, rounds=range(1, 2), clients=range(2)).tolist()
    [[0, 2]]
    """

    arrivals: ArrayLike | Path
    _units: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_units", recorded_units("arrivals", self.arrivals, axes=("n_rounds", "n_clients")))

    @property
    def n_clients(self) -> int:
        """The number of recorded clients."""
        return int(self._units.shape[1])

    @property
    def n_rounds(self) -> int:
        """The number of recorded rounds."""
        return int(self._units.shape[0])

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the recorded units; the seed has no effect."""
        if len(rounds) and rounds[-1] >= self._units.shape[0]:
            raise InvalidValue("rounds", f"at most {self._units.shape[0]} (as recorded)", rounds[-1] + 1)
        return self._units[rounds.start : rounds.stop : rounds.step, clients.start : clients.stop : clients.step]

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return each client's mean over the recorded rounds, shape (n_clients,)."""
        if self._units.shape[1] != n_clients:
            raise InvalidValue("arrivals", f"one column per client ({n_clients})", f"{self._units.shape[1]} columns")
        means: FloatArray = self._units.mean(axis=0)
        return means

    def __repr__(self) -> str:
        return "Replay({} rounds, {} clients)".format(*self._units.shape)


@dataclass(frozen=True, eq=False)
class Periodic:
    """A_i(t) = pattern[(t - shift_i) mod period], the period as long as the pattern.

    It is deterministic: for devices that are charged by the clock, and for the arrivals that energy cycles assume
    (Güler and Yener, arXiv 2102.11274), one unit every E rounds. `pattern` is a list of integers [units], or a file of
    them; `shift` is the delay of a client's pattern in rounds, one number for all or one per client, rounded down. In
    specs `shift = { low = 0, high = 23 }` spreads clients evenly over a day of 24 rounds.

    >>> day = Periodic([0, 2, 1], shift=[0, 1])
    >>> day.units(seed=0, rounds=range(4), clients=range(2)).tolist()
    [[0, 1], [2, 0], [1, 2], [0, 1]]
    >>> day.mean_rates(2).tolist()
    [1.0, 1.0]
    """

    per_client: ClassVar[tuple[str, ...]] = ("shift",)
    pattern: ArrayLike | Path
    shift: ArrayLike = 0  # [rounds]
    _pattern: IntArray = field(init=False, repr=False)  # (period,)
    _shifts: PerClient = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pattern = recorded_units("pattern", self.pattern, axes=("period",))
        if pattern.max() > MAX_LEVEL:
            raise InvalidValue("pattern", f"at most {MAX_LEVEL}", pattern.max())
        object.__setattr__(self, "_pattern", pattern.astype(np.uint8 if pattern.max() < 256 else np.int32))
        object.__setattr__(self, "_shifts", PerClient.of("shift", self.shift, f"[{-MAX_ROUNDS}, {MAX_ROUNDS}]"))

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the pattern's units, shape (len(rounds), len(clients)); the seed changes nothing."""
        period = self._pattern.size
        phases = np.floor(self._shifts.part(clients)).astype(np.int64) % period
        # Between -period and period: a negative index counts from the end, which is what a period asks for.
        places = (np.asarray(rounds, dtype=np.int64) % period)[:, None] - phases
        return np.broadcast_to(self._pattern[places], (len(rounds), len(clients)))

    def expected(self, rounds: range, clients: range) -> FloatArray:
        """Return the forecast, which equals the harvest [units], (len(rounds), len(clients))."""
        return self.units(0, rounds, clients).astype(np.float64)

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the pattern's mean, shape (n_clients,)."""
        self._shifts.of_fleet(n_clients)  # raises an error for another number of clients
        return np.broadcast_to(self._pattern.mean(), (n_clients,))

    def __repr__(self) -> str:
        return f"Periodic({self._pattern.size} rounds, {describe(self._shifts)})"


def recorded_units(name: str, given: ArrayLike | Path, axes: tuple[str, ...]) -> IntArray:
    """Return integers >= 0 as a new array with these axes; a string or a path names a file of them.

    >>> recorded_units("pattern", [0, 2, 1], axes=("period",)).tolist()
    [0, 2, 1]
    """
    if isinstance(given, str | os.PathLike):
        found: NDArray[Any] = _whole(name, read_numbers(name, Path(given), flat=len(axes) == 1))
    else:
        try:
            found = np.array(given)
        except ValueError:
            raise InvalidValue(name, "rows of equal length, one a round", "rows that differ") from None
    if found.ndim != len(axes) or found.size == 0:
        shape = ", ".join(axes) + ("," if len(axes) == 1 else "")
        raise InvalidValue(name, f"of shape ({shape})", f"shape {found.shape}")
    if found.dtype.kind not in "iu":
        raise InvalidValue(name, "whole numbers", f"an array of {found.dtype}")
    if found.min() < 0:
        raise InvalidValue(name, "at least 0", found.min())
    found.flags.writeable = False
    return found


def _whole(name: str, numbers: NDArray[Any]) -> NDArray[Any]:
    """Return integral floats as integers: a text file does not distinguish 1.0 from 1."""
    if numbers.dtype.kind == "f" and np.isfinite(numbers).all() and (numbers % 1 == 0).all():
        if np.abs(numbers).max(initial=0) > MAX_LEVEL:
            raise InvalidValue(name, f"at most {MAX_LEVEL}", f"{numbers.flat[np.abs(numbers).argmax()]:g}")
        return numbers.astype(np.int64)
    return numbers
