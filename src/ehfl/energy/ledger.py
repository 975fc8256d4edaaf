"""The devices' half of a round: participants pay, everyone harvests, and every quantum of energy is accounted for."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from ehfl.arrays import IntArray, Levels
from ehfl.energy.battery import MAX_LEVEL, Place, Settled, settle, settle_lossy
from ehfl.energy.fleet import Fleet
from ehfl.energy.weather import Weather
from ehfl.randomness import MAX_ROUNDS, check_seed
from ehfl.validation import InvalidValue, UserError, of_kind, whole_number

_NOTHING = np.zeros(1, np.int32)


class LevelOverflow(UserError, OverflowError):
    """An infinite battery holds more than can be counted."""


@dataclass(frozen=True, slots=True)
class EnergyTotals:
    """Energy over all clients and rounds; initial + harvested = spent + stored + wasted + lost, exactly."""

    initial: int
    harvested: int
    spent: int
    stored: int
    wasted: int
    mains: int  # drawn from the mains instead of a battery, outside the balance
    lost: int = 0  # in charging, by leaks and to devices that stand by

    @property
    def paid(self) -> int:
        """What rounds have cost, from batteries or the mains."""
        return self.spent + self.mains

    def check(self) -> None:
        """Refuse totals that cannot be: they are not whole numbers, or energy was lost or made.

        >>> EnergyTotals(initial=1, harvested=4, spent=2, stored=2, wasted=0, mains=0).check()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ehfl.validation.InvalidValue: totals must be balanced: ... + wasted + lost, got 5 and 4
        """
        for name, number in asdict(self).items():
            whole_number(f"totals.{name}", number, low=0)
        had, went = self.initial + self.harvested, self.spent + self.stored + self.wasted + self.lost
        if had != went:
            allowed = "balanced: initial + harvested = spent + stored + wasted + lost"
            raise InvalidValue("totals", allowed, f"{had} and {went}")


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

    A device that went dark takes its account up again with the `totals` that it kept, and settles the round that
    follows on them:

    >>> again = Ledger(fleet, rounds=12, seed=4, clients=range(2, 3), totals=last.totals())
    >>> again.energy.tolist() == last.energy.tolist()
    True
    """

    def __init__(
        self,
        fleet: Fleet,
        rounds: int,
        seed: int,
        clients: range | None = None,
        totals: EnergyTotals | None = None,  # of a single client: what it had when its account was put away
    ) -> None:
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
        self._storage = None if fleet.storage is None else fleet.storage.of(self._clients)
        self._step_costs = None if fleet.step_costs is None else fleet.step_costs.of(self._clients)
        rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
        self._weather = Weather(fleet.harvest, self._clients, rounds, check_seed(seed))
        initial = int(self._energy.sum(dtype=np.int64))
        kept = EnergyTotals(initial, 0, 0, initial, 0, 0) if totals is None else self._taken_up(totals)
        self._initial, self._harvested = kept.initial, kept.harvested
        self._wasted, self._lost = kept.wasted, kept.lost
        self._spent, self._mains = kept.spent, kept.mains
        self._common_cost = int(self._cost[0]) if self._cost.size == 1 else None
        self.paid = 0  # by the participants of the last round together, from batteries or the mains
        self.energy: Levels = self._energy.view()  # E_i(t) of these clients, read-only
        self.energy.flags.writeable = False

    def settle(
        self, t: int, clients: IntArray, *, mains_powered: bool = False, steps: IntArray | None = None
    ) -> Settled:
        """Play what round t does to the batteries; `clients` are the ascending places of those that take part.

        They pay for whole turns, or for so many `steps` each; on mains power nothing from their batteries. If one of
        them cannot pay, the result says which, and nothing is settled; a fleet of more than one tile is then of no use,
        since it is settled while it is looked at.
        """
        cost = _NOTHING if mains_powered else self._costs(clients, steps)
        levels = self._energy, clients, cost, self._weather.units(t), self._ceiling
        if self._storage is None:
            settled = settle(*levels)
        else:
            settled = settle_lossy(*levels, self._storage, Place(t, self._clients))
        if settled.unable < 0:
            if self._outgrown(settled):
                passed = f"a battery passed {MAX_LEVEL} {self._fleet.unit}"
                raise LevelOverflow(f"{passed}: give a capacity, or count in larger units")
            self._harvested += settled.harvested
            self._wasted += settled.wasted
            self._lost += settled.lost
            self.paid = self._price(clients, steps) if mains_powered else settled.paid
            if mains_powered:
                self._mains += self.paid
            else:
                self._spent += self.paid
        return settled

    def _taken_up(self, totals: EnergyTotals) -> EnergyTotals:
        """Let the only client have the level that it was left with, and return the totals."""
        of_kind("totals", totals, EnergyTotals).check()
        if len(self._clients) > 1:  # whose is what is stored would be unknown
            raise InvalidValue("totals", "left out, or those of a single client", f"{len(self._clients)} clients")
        capacity = min(int(self._ceiling[0]), MAX_LEVEL)
        if totals.stored > capacity:
            raise InvalidValue("totals.stored", f"at most the capacity {capacity}", totals.stored)
        self._energy[:] = totals.stored
        return totals

    def _costs(self, clients: IntArray, steps: IntArray | None) -> Levels:
        """Return what a turn costs, one number or (n_clients,); these clients' with so many steps."""
        if steps is None:
            return self._cost
        costs: Levels = np.array(np.broadcast_to(self._cost, self._energy.shape))
        costs[clients] = self._prices(clients, steps)
        return costs

    def _price(self, clients: IntArray, steps: IntArray | None) -> int:
        """Return what it costs these clients to take part in a round, together."""
        if steps is not None:
            return int(self._prices(clients, steps).sum())
        if self._common_cost is not None:
            return self._common_cost * clients.size
        return int(self._cost[clients].sum(dtype=np.int64))

    def _prices(self, clients: IntArray, steps: IntArray) -> IntArray:
        """Return what turns of so many steps cost, (len(clients),)."""
        if self._step_costs is None:
            raise InvalidValue("steps", "left out where the fleet does not say what a step costs", "some")
        return self._step_costs.prices(clients, steps)

    def totals(self) -> EnergyTotals:
        """Return what became of the energy so far."""
        return EnergyTotals(
            initial=self._initial,
            harvested=self._harvested,
            spent=self._spent,
            stored=int(self._energy.sum(dtype=np.int64)),
            wasted=self._wasted,
            mains=self._mains,
            lost=self._lost,
        )

    def _outgrown(self, settled: Settled) -> bool:
        """Return whether an infinite battery has passed the highest level that can be counted."""
        if self._endless.size == 1:
            return settled.wasted > 0 and bool(self._endless[0])  # nothing else can have been wasted
        return bool((self._energy[self._endless] > MAX_LEVEL).any())
