"""The devices' half of a round: participants pay, all clients harvest, and every quantum of energy is accounted for."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from ehfl.arrays import IntArray, Levels
from ehfl.energy.battery import LOSSLESS, MAX_LEVEL, Settled, of_clients, settle
from ehfl.energy.feed import Weather
from ehfl.energy.fleet import Fleet
from ehfl.randomness import MAX_ROUNDS, check_seed
from ehfl.validation import InvalidValue, UserError, whole_number

_NOTHING = np.zeros(1, np.int32)
_NO_CLIENTS = np.empty(0, np.int32)


class LevelOverflow(UserError, OverflowError):
    """The level of an infinite battery exceeds MAX_LEVEL."""


@dataclass(frozen=True, slots=True)
class EnergyTotals:
    """Energy over all clients and rounds; initial + harvested = spent + stored + wasted + lost, exactly."""

    initial: int
    harvested: int
    spent: int
    stored: int
    wasted: int
    mains: int  # drawn from the mains instead of a battery, outside the balance
    lost: int = 0  # charging losses, leaks and standby

    @property
    def paid(self) -> int:
        """The cost of all rounds, from batteries and the mains."""
        return self.spent + self.mains

    def check(self) -> None:
        """Raise an error if totals are not integers or do not balance.

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

    A harvest depends only on (seed, client, round), so the ledger of a single device has the same level as the fleet's
    ledger:

    >>> from ehfl.energy import Bernoulli
    >>> fleet = Fleet(clients=3, harvest=Bernoulli([0.1, 0.5, 0.9]), capacity=[1, 2, 3])
    >>> whole, last = Ledger(fleet, rounds=9, seed=4), Ledger(fleet, rounds=9, seed=4, clients=range(2, 3))
    >>> for t in range(9):
    ...     _ = whole.settle(t, np.array([2] if t > 5 else []).astype(int)), last.settle(t, np.arange(t > 5))
    >>> int(whole.energy[2]) == int(last.energy[0])
    True

    A device that was off resumes from its stored `totals` and settles the next round:

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
        totals: EnergyTotals | None = None,  # of a single client, to resume its account
    ) -> None:
        self._fleet = fleet
        self._clients = range(fleet.clients) if clients is None else clients
        in_a_row = isinstance(self._clients, range) and self._clients.step == 1 and len(self._clients) > 0
        if not in_a_row or self._clients.start < 0 or self._clients.stop > fleet.clients:
            raise InvalidValue("clients", f"a range of clients from 0 to {fleet.clients - 1}", clients)
        self._energy = fleet.start()[self._clients.start : self._clients.stop]
        self._cost, self._ceiling = (of_clients(one, self._clients) for one in (fleet.costs, fleet.ceilings))
        self._endless = of_clients(fleet.endless, self._clients)
        self._storage = LOSSLESS if fleet.storage is None else fleet.storage.of(self._clients)
        self._step_costs = None if fleet.step_costs is None else fleet.step_costs.of(self._clients)
        rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
        self._weather = Weather(fleet, self._clients, rounds, check_seed(seed))
        initial = int(self._energy.sum(dtype=np.int64))
        known = EnergyTotals(initial, 0, 0, initial, 0, 0) if totals is None else self._resumed(totals)
        self._account = asdict(known)
        self.paid = 0  # by the participants of the last round together, from batteries or the mains
        self.energy: Levels = self._energy.view()  # E_i(t) of these clients, read-only
        self.energy.flags.writeable = False

    def settle(
        self, t: int, clients: IntArray, *, mains_powered: bool = False, steps: IntArray | None = None
    ) -> Settled:
        """Settle the batteries in round t; `clients` are the ascending places of the participants.

        They pay first; then batteries lose energy and are charged in each part of the round. They pay for all steps,
        or for `steps` steps each; with mains power not from their batteries. If a participant cannot pay, the result
        names it and the other values are undefined; the ledger of a fleet of more than one tile is then unusable,
        because payments and harvests share one pass.
        """
        cost = _NOTHING if mains_powered else self._cost
        if steps is not None and not mains_powered:
            cost = np.array(np.broadcast_to(self._cost, self._energy.shape))
            cost[clients] = self._prices(clients, steps)
        parts, paying = [], clients
        for at, units in self._weather.of_round(t):
            settled = settle(self._energy, paying, cost, units, self._ceiling, self._storage, at)
            if settled.unable >= 0:
                return settled
            if self._outgrown(settled):
                passed = f"a battery passed {MAX_LEVEL} {self._fleet.unit}"
                raise LevelOverflow(f"{passed}: give a capacity, or count in larger units")
            parts.append(settled)
            paying = _NO_CLIENTS
        settled = Settled.sum(parts)
        self.paid = int(self._prices(clients, steps).sum(dtype=np.int64)) if mains_powered else settled.paid
        account = self._account
        account["mains" if mains_powered else "spent"] += self.paid
        account["harvested"] += settled.harvested
        account["wasted"] += settled.wasted
        account["lost"] += settled.lost
        return settled

    def totals(self) -> EnergyTotals:
        """Return the energy balance so far."""
        return EnergyTotals(**self._account | {"stored": int(self._energy.sum(dtype=np.int64))})

    def _resumed(self, totals: EnergyTotals) -> EnergyTotals:
        """Set the level of the only client from its totals, and return them."""
        totals.check()
        if len(self._clients) > 1:  # the sum does not say what each of them stores
            raise InvalidValue("totals", "left out, or those of a single client", f"{len(self._clients)} clients")
        capacity = min(int(self._ceiling[0]), MAX_LEVEL)
        if totals.stored > capacity:
            raise InvalidValue("totals.stored", f"at most the capacity {capacity}", totals.stored)
        self._energy[:] = totals.stored
        return totals

    def _prices(self, clients: IntArray, steps: IntArray | None) -> IntArray:
        """Return the costs of these participants, for all or `steps` steps each, (len(clients),)."""
        if steps is None:
            return np.broadcast_to(self._cost[clients] if self._cost.size > 1 else self._cost, clients.shape)
        if self._step_costs is None:
            raise InvalidValue("steps", "left out where the fleet does not say what a step costs", "some")
        return self._step_costs.prices(clients, steps)

    def _outgrown(self, settled: Settled) -> bool:
        """Return whether an infinite battery has exceeded MAX_LEVEL."""
        if self._endless.size == 1:
            return settled.wasted > 0 and bool(self._endless[0])  # infinite batteries waste energy only by an overflow
        return bool((self._energy[self._endless] > MAX_LEVEL).any())
