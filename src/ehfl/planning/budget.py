"""What comes in and what goes out: a fleet's energy before anybody is scheduled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy import Fleet
from ehfl.planning.calendar import Calendar
from ehfl.randomness import batch_rounds

_AT_ONCE = 2**22  # amounts of harvest that are held in memory


@dataclass(frozen=True, eq=False, slots=True)
class Budget:
    """Means of what clients harvest, in the fleet's unit a round, beside what a round costs them."""

    harvest: FloatArray  # stored of what is harvested, (n_clients,) [units a round]
    drain: FloatArray  # lost while standing by, (n_clients,) [units a round]
    cost: FloatArray  # (n_clients,) [units]
    capacity: FloatArray  # (n_clients,) [units]
    by_month: FloatArray | None = None  # harvest of each month, (12, n_clients); None without a calendar

    @property
    def payable(self) -> FloatArray:
        """Share of the rounds that each client can pay for, on average, (n_clients,)."""
        return payable(self.harvest, self.drain, self.cost)

    @property
    def sustainable(self) -> float:
        """Clients a round that the mean harvest pays for."""
        return float(self.payable.sum())

    @property
    def sustainable_by_month(self) -> FloatArray | None:
        """The same with each month's harvest, (12,), NaN for months that were not looked at."""
        if self.by_month is None:
            return None
        return np.asarray(payable(self.by_month, self.drain, self.cost).sum(axis=1))

    @property
    def rounds_kept(self) -> FloatArray:
        """Rounds that a full battery pays for, (n_clients,)."""
        return self.capacity / self.cost


def payable(harvest: FloatArray, drain: FloatArray, cost: FloatArray) -> FloatArray:
    """Return min((harvest - drain) / cost, 1), not below 0: a client takes part once in a round at the most."""
    share: FloatArray = np.clip((harvest - drain) / cost, 0, 1)
    return share


def budget_of(fleet: Fleet, rounds: int, seed: int = 0, calendar: Calendar | None = None) -> Budget:
    """Return what these rounds bring under a seed; of 0 rounds, the harvest's own mean.

    >>> from ehfl.energy import Bernoulli
    >>> fleet = Fleet(clients=4, harvest=Bernoulli(0.5), capacity=6, cost=2)
    >>> round(budget_of(fleet, rounds=1000).sustainable, 3), budget_of(fleet, rounds=0).sustainable
    (1.011, 1.0)
    """
    n_clients, storage = fleet.clients, fleet.storage
    efficiency, drain = (np.ones(1), np.zeros(1)) if storage is None else (storage.efficiency, storage.drain)
    months = None if calendar is None else calendar.months(range(rounds))
    sums = np.zeros((12 if months is not None else 1, n_clients))
    step = max(1, min(rounds, max(_AT_ONCE // n_clients, batch_rounds(n_clients))))
    for start in range(0, rounds, step):
        part = range(start, min(start + step, rounds))
        units = np.asarray(fleet.harvest.units(seed, part, range(n_clients)), dtype=np.float64)
        if months is None:
            sums[0] += units.sum(axis=0)
        else:
            np.add.at(sums, months[part.start : part.stop], units)
    stored = sums * efficiency
    counts = np.full(1, rounds) if months is None else np.bincount(months, minlength=12)
    means = np.divide(stored, counts[:, None], out=np.full(sums.shape, np.nan), where=counts[:, None] > 0)
    return Budget(
        harvest=stored.sum(axis=0) / rounds if rounds else fleet.rates * efficiency,
        drain=np.broadcast_to(drain, (n_clients,)),
        cost=np.broadcast_to(fleet.costs.astype(np.float64), (n_clients,)),
        capacity=np.broadcast_to(np.asarray(fleet.capacity, dtype=np.float64), (n_clients,)),
        by_month=None if months is None else means,
    )
