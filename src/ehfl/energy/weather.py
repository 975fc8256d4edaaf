"""A harvest as the round loop asks for it: one round at a time, whatever is cheaper underneath."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import IntArray
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.harvest import Harvest
from ehfl.randomness import batch_rounds
from ehfl.validation import FAILURES, UserError, blame, whole_number


@dataclass(slots=True)
class Weather:
    """The units that reach a fleet, fetched many rounds at once while the fleet is small."""

    harvest: Harvest
    clients: range
    rounds: int
    seed: int
    _first: int = field(default=0, init=False)  # the round of the batch's first row
    _batch: IntArray = field(default_factory=lambda: np.empty((0, 0), np.uint8), init=False)

    def units(self, round_: int) -> IntArray:
        """Return A_i(t) of these clients, shape (n_clients,)."""
        if not 0 <= round_ - self._first < len(self._batch):
            whole_number("t", round_, low=0, high=self.rounds - 1)
            last = min(round_ + batch_rounds(len(self.clients)), self.rounds)
            self._first, self._batch = round_, self._fetch(range(round_, last), self.clients)
        row: IntArray = self._batch[round_ - self._first]
        return row

    def _fetch(self, rounds: range, clients: range) -> IntArray:
        try:
            units = np.asarray(self.harvest.units(self.seed, rounds, clients))
        except UserError:
            raise
        except FAILURES as error:  # whatever the user's own code raises
            asked = f"rounds {rounds.start} to {rounds[-1]}"
            raise UserError(f"{type(self.harvest).__name__} fails: {asked}, {blame(self.harvest, error)}") from error
        if fault := fault_of(units, rounds, clients):
            raise UserError(f"{self.harvest!r}: {fault}")
        highest = units.max(initial=0) if units.dtype != np.uint8 else 0
        return units.astype(np.uint8 if highest < 256 else np.int32, copy=False)  # kernels take the former


def fault_of(units: NDArray[Any], rounds: range, clients: range) -> str:
    """Return what is wrong with units that a harvest has returned, nothing where all is right."""
    if units.shape != (len(rounds), len(clients)):
        return f"units must have shape {(len(rounds), len(clients))}, got {units.shape}"
    if units.dtype.kind not in "iu":
        return f"units must be whole numbers (.astype(np.uint8)), got {units.dtype}"
    if units.dtype.kind == "i" and units.min(initial=0) < 0:
        return f"units must be at least 0, got {units.min()}"
    if units.dtype != np.uint8 and units.max(initial=0) > MAX_LEVEL:
        return f"units must be at most {MAX_LEVEL}, got {units.max()}"
    return ""
