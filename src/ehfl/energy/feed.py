"""A fleet's harvest and its forecast round by round, fetched from the harvest in blocks of many rounds.

Both ask the harvest through `_ask`, which checks the answer and turns errors of user code into one line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.battery import Place
from ehfl.energy.contract import fault_of
from ehfl.energy.fleet import Fleet
from ehfl.randomness import batch_rounds
from ehfl.validation import FAILURES, UserError, blame, described, whole_number

_NUMBERS = 2**20  # cached forecasts: consecutive rounds look ahead to nearly the same rounds


@dataclass(slots=True)
class Weather:
    """The units that reach clients of a fleet, one part of a round after the other."""

    fleet: Fleet
    clients: range
    rounds: int
    seed: int
    _first: int = field(default=0, init=False)  # the part in the batch's first row
    _batch: IntArray = field(default_factory=lambda: np.empty((0, 0), np.uint8), init=False)

    def of_round(self, t: int) -> Iterator[tuple[Place, IntArray]]:
        """Yield what reaches these clients in each part of a round, (n_clients,), and where its rounding stands."""
        whole_number("t", t, low=0, high=self.rounds - 1)
        for part in range(t * self.fleet.parts, (t + 1) * self.fleet.parts):
            yield Place(part, self.clients), self._units(part)

    def _units(self, part: int) -> IntArray:
        if not 0 <= part - self._first < len(self._batch):
            end = min(part + batch_rounds(len(self.clients)), self.rounds * self.fleet.parts)
            method = "units" if self.fleet.parts == 1 else "part_units"
            units = _ask(self.fleet.harvest, method, range(part, end), self.clients, self.seed)
            highest = units.max(initial=0) if units.dtype != np.uint8 else 0
            # Kernels are compiled only for these two dtypes.
            self._first, self._batch = part, units.astype(np.uint8 if highest < 256 else np.int32, copy=False)
        row: IntArray = self._batch[part - self._first]
        return row


class Expectation:
    """The expected harvest of future rounds, for schedulers that plan ahead.

    A harvest with a forecast has a third method, `expected(rounds, clients)`: a pure function without a seed, with the
    shape and unit of `units`. The default forecast is the mean rate. Charging losses and standby are subtracted; leaks
    depend on the level and are not.

    >>> from ehfl.energy import Bernoulli
    >>> Expectation(Fleet(clients=2, harvest=Bernoulli([0.5, 1.0]))).ahead(t=7, rounds=3).tolist()
    [[0.5, 1.0], [0.5, 1.0], [0.5, 1.0]]
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._first = 0  # the round of the block's first row
        self._block: FloatArray = np.empty((0, fleet.clients))

    def ahead(self, t: int, rounds: int) -> FloatArray:
        """Return the expected gain in rounds t..t+rounds-1, (rounds, n_clients), read-only [the fleet's unit].

        It is negative where standby exceeds the harvest.
        """
        harvest, clients = self._fleet.harvest, self._fleet.clients
        if not callable(getattr(harvest, "expected", None)):  # broadcast the means instead of storing a block
            return np.broadcast_to(self._stored(self._fleet.rates), (rounds, clients))
        if not self._first <= t <= t + rounds <= self._first + len(self._block):
            wanted = range(t, t + rounds + _NUMBERS // clients)
            block = self._stored(_ask(harvest, "expected", wanted, range(clients)).astype(np.float64))
            block.flags.writeable = False
            self._first, self._block = t, block
        return self._block[t - self._first :][:rounds]

    def _stored(self, harvest: FloatArray) -> FloatArray:
        """Return the part of a harvest that remains in the battery."""
        storage = self._fleet.storage
        return harvest if storage is None else harvest * storage.efficiency - self._fleet.drain_a_round


def _ask(harvest: object, method: str, rounds: range, clients: range, *seed: int) -> NDArray[Any]:
    """Return the checked result of a method of the harvest for these rounds and clients."""
    try:
        found = np.asarray(getattr(harvest, method)(*seed, rounds, clients))
    except UserError:
        raise
    except FAILURES as error:  # whatever user code raises
        asked = f"{method}, rounds {rounds.start} to {rounds[-1]}"
        raise UserError(f"{type(harvest).__name__} fails: {asked}, {blame(harvest, error)}") from error
    if fault := fault_of(method, found, rounds, clients):
        raise UserError(f"{described(harvest)}: {fault}")
    return found
