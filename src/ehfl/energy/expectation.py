"""What can be expected of a fleet's harvest: what a scheduler that plans ahead goes by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray
from ehfl.energy.fleet import Fleet
from ehfl.validation import FAILURES, UserError, blame

_NUMBERS = 2**20  # that are kept: the rounds ahead of one round are nearly those ahead of the next


class Expectation:
    """The expected harvest of coming rounds, fetched many rounds at once.

    A harvest that can be foretold has a third method, `expected(rounds, clients)`: what is known beforehand of
    A_i(t), a pure function without a seed, of the same shape and unit as `units`. Of others the mean rate is expected.
    What charging and standing by take is taken off; what leaks depends on the level, and is left out.

    >>> from ehfl.energy import Bernoulli
    >>> Expectation(Fleet(clients=2, harvest=Bernoulli([0.5, 1.0]))).ahead(t=7, rounds=3).tolist()
    [[0.5, 1.0], [0.5, 1.0], [0.5, 1.0]]
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._first = 0  # the round of the block's first row
        self._block: FloatArray = np.empty((0, fleet.clients))

    def ahead(self, t: int, rounds: int) -> FloatArray:
        """Return what batteries can expect in rounds t..t+rounds-1, (rounds, n_clients), read-only [the fleet's unit].

        It is negative where a device that stands by draws more than comes in.
        """
        if not callable(getattr(self._fleet.harvest, "expected", None)):
            return np.broadcast_to(self._stored(self._fleet.rates), (rounds, self._fleet.clients))
        if not self._first <= t <= t + rounds <= self._first + len(self._block):
            more = _NUMBERS // self._fleet.clients
            self._first, self._block = t, self._fetched(range(t, t + rounds + more), range(self._fleet.clients))
        return self._block[t - self._first :][:rounds]

    def _fetched(self, rounds: range, clients: range) -> FloatArray:
        harvest: Any = self._fleet.harvest
        name = type(harvest).__name__
        try:
            found = np.asarray(harvest.expected(rounds, clients))
        except UserError:
            raise
        except FAILURES as error:  # whatever the user's own code raises
            asked = f"expected, rounds {rounds.start} to {rounds[-1]}"
            raise UserError(f"{name} fails: {asked}, {blame(harvest, error)}") from error
        if fault := fault_of_expected(found, rounds, clients):
            raise UserError(f"{name}: {fault}")
        block = self._stored(found.astype(np.float64))
        block.flags.writeable = False
        return block

    def _stored(self, harvest: FloatArray) -> FloatArray:
        """Return what is left in the battery of a harvest."""
        storage = self._fleet.storage
        return harvest if storage is None else harvest * storage.efficiency - storage.drain


def fault_of_expected(found: NDArray[Any], rounds: range, clients: range) -> str:
    """Return what is wrong with an expectation that a harvest has returned, nothing where all is right."""
    if found.shape != (len(rounds), len(clients)):
        return f"expected must have shape {(len(rounds), len(clients))}, got {found.shape}"
    if found.dtype.kind not in "iuf":
        return f"expected must be numbers, got {found.dtype}"
    wrong = ~(np.isfinite(found) & (found >= 0))
    if wrong.any():
        t, client = (int(place[0]) for place in np.nonzero(wrong))
        return (
            f"expected must be finite and at least 0, got {found[t, client]} for client {client} in round {rounds[t]}"
        )
    return ""
