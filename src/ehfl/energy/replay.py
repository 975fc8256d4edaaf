"""Given arrivals, played back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.recorded import recorded_units
from ehfl.validation import InvalidValue


@dataclass(frozen=True, eq=False)
class Replay:
    """A_i(t) as given: `arrivals` has shape (n_rounds, n_clients), whole numbers, none negative.

    Or it names a file of them: .npy, or .csv with a row a round and a column a client.

    >>> Replay([[1, 0], [0, 2]]).units(seed=0, rounds=range(1, 2), clients=range(2)).tolist()
    [[0, 2]]
    """

    arrivals: ArrayLike | Path
    _units: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_units", recorded_units("arrivals", self.arrivals, axes=("n_rounds", "n_clients")))

    @property
    def n_clients(self) -> int:
        """How many clients were recorded."""
        return int(self._units.shape[1])

    @property
    def n_rounds(self) -> int:
        """How many rounds were recorded."""
        return int(self._units.shape[0])

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the recorded units; the seed changes nothing."""
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
