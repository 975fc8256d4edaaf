"""A node's own harvest, named by `harvest` in its node-config, which replaces the fleet's."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import HARVESTS, Fleet, Harvest, Replay


@dataclass(frozen=True, eq=False, slots=True)
class OwnTrace:
    """The recorded harvest of one device, used for any client number."""

    recorded: Replay  # of a single column

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return the recorded units for each of these clients, shape (n_rounds, n_clients)."""
        return np.repeat(self.recorded.units(seed, rounds, range(1)), len(clients), axis=1)

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the mean over the recorded rounds, shape (n_clients,)."""
        return np.repeat(self.recorded.mean_rates(1), n_clients)


def with_own_harvest(fleet: Fleet, given: object) -> Fleet:
    """Return the fleet with a node's own harvest, a string or a table.

    A trace has one column per client, as in a spec, or a single column, the node's own:

    >>> fleet = Fleet(clients=3, harvest="bernoulli:0.5", cost=2)
    >>> own = with_own_harvest(fleet, {"name": "replay", "arrivals": [[4], [0], [5]]})
    >>> own.harvest.units(seed=0, rounds=range(3), clients=range(2, 3)).tolist()
    [[4], [0], [5]]
    """
    harvest: Harvest = HARVESTS.make(given)
    if isinstance(harvest, Replay) and harvest.n_clients == 1:
        harvest = OwnTrace(harvest)
    return replace(fleet, harvest=harvest)
