"""The devices' half of a round: participants pay, everyone harvests, and every quantum of energy is accounted for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import IntArray, Levels
from ehfl.energy.battery import MAX_LEVEL, Settled, settle
from ehfl.energy.fleet import Fleet
from ehfl.energy.weather import Weather
from ehfl.randomness import MAX_ROUNDS, check_seed
from ehfl.validation import InvalidValue, UserError, of_kind, whole_number

_NOTHING = np.zeros(1, np.int32)


class LevelOverflow(UserError, OverflowError):
    """An infinite battery holds more than can be counted."""


@dataclass(frozen=True, slots=True)
class EnergyTotals:
    """Energy over all clients and rounds; initial + harvested = spent + stored + wasted, exactly."""

    initial: int
    harvested: int
    spent: int
    stored: int
    wasted: int
    mains: int  # drawn from the mains instead of a battery, outside the balance


class Ledger:
    """Levels of a fleet, or of a few of its clients, from round to round.

    What a client harvests depends on (seed, client, round) alone, so a device can keep its own account and comes to the
    level that the whole fleet's ledger has for it:

    >>> from ehfl.energy import Bernoulli
    >>> fleet = Fleet(clients=3, harvest=Bernoulli([0.1, 0.5, 0.9]), capacity=[1, 2, 3])
    >>> whole, last = Ledger(fleet, rounds=9, seed=4), Ledger(fleet, rounds=9, seed=4, clients=range(2, 3))
    >>> for t in range(9):
    ...     _ = whole.settle(t, np.array([2] if t > 5 else []).astype(int)), last.settle(t, np.arange(t > 5))
    >>> int(whole.energy[2]) == int(last.energy[0])
    True
    """

    def __init__(self, fleet: Fleet, rounds: int, seed: int, clients: range | None = None) -> None:
        self._fleet = of_kind("fleet", fleet, Fleet)
        self._clients = range(fleet.clients) if clients is None else clients
        known = isinstance(self._clients, range) and self._clients.step == 1 and len(self._clients) > 0
        if not known or self._clients.start < 0 or self._clients.stop > fleet.clients:
            raise InvalidValue("clients", f"a range of clients from 0 to {fleet.clients - 1}", clients)
        own = slice(self._clients.start, self._clients.stop)
        self._energy = fleet.start()[own]
        self._cost = fleet.costs[own] if fleet.costs.size > 1 else fleet.costs
        self._ceiling, self._endless = fleet.ceilings, fleet.endless
        if fleet.ceilings.size > 1:
            self._ceiling, self._endless = fleet.ceilings[own], fleet.endless[own]
        rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
        self._weather = Weather(fleet.harvest, self._clients, rounds, check_seed(seed))
        self._initial = int(self._energy.sum(dtype=np.int64))
        self._harvested = self._wasted = self._spent = self._mains = 0
        self._common_cost = int(self._cost[0]) if self._cost.size == 1 else None
        self.paid = 0  # by the participants of the last round together, from batteries or the mains
        self.energy: Levels = self._energy.view()  # E_i(t) of these clients, read-only
        self.energy.flags.writeable = False

    def settle(self, t: int, clients: IntArray, *, mains_powered: bool = False) -> Settled:
        """Play what round t does to the batteries; `clients` are the ascending places of those that take part.

        On mains power they pay nothing from their batteries. If one of them cannot pay, the result says which, and
        nothing is settled; a fleet of more than one tile is then of no use, since it is settled while it is looked at.
        """
        cost = _NOTHING if mains_powered else self._cost
        settled = settle(self._energy, clients, cost, self._weather.units(t), self._ceiling)
        if settled.unable < 0:
            if self._outgrown(settled):
                passed = f"a battery passed {MAX_LEVEL} {self._fleet.unit}"
                raise LevelOverflow(f"{passed}: give a capacity, or count in larger units")
            self._harvested += settled.harvested
            self._wasted += settled.wasted
            self.paid = self._price(clients)
            if mains_powered:
                self._mains += self.paid
            else:
                self._spent += self.paid
        return settled

    def _price(self, clients: IntArray) -> int:
        """Return what it costs these clients to take part in a round, together."""
        if self._common_cost is not None:
            return self._common_cost * clients.size
        return int(self._cost[clients].sum(dtype=np.int64))

    def totals(self) -> EnergyTotals:
        """Return what became of the energy so far."""
        return EnergyTotals(
            initial=self._initial,
            harvested=self._harvested,
            spent=self._spent,
            stored=int(self._energy.sum(dtype=np.int64)),
            wasted=self._wasted,
            mains=self._mains,
        )

    def _outgrown(self, settled: Settled) -> bool:
        """Return whether an infinite battery has passed the highest level that can be counted."""
        if self._endless.size == 1:
            return settled.wasted > 0 and bool(self._endless[0])  # nothing else can have been wasted
        return bool((self._energy[self._endless] > MAX_LEVEL).any())
