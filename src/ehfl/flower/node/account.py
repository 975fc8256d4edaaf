"""A node's energy account: harvest, level and payments, which survive restarts and kills.

A round is settled when a later one is reached, E(t+1) = min(E(t) - cost * paid + A(t), E_max), by `energy.Ledger`; with
a meter, E(t) is read from the device. An answer is written to the disk before it is sent, so no payment is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ehfl.energy import EnergyTotals, Fleet, Ledger
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.ledger import LevelOverflow
from ehfl.files import check_digest, parse_json, with_digest, write_text
from ehfl.flower.node.meters import METERS, Meter, check_unit, read_quanta
from ehfl.randomness import MAX_ROUNDS, check_seed
from ehfl.runs import sole_use
from ehfl.validation import InvalidValue, UserError, whole_number

_TOKEN = re.compile(r"[0-9a-z]{8,64}")  # it becomes a file name, so other characters are rejected
_PATIENCE_SECONDS = 20.0  # another process holds the lock for a meter reading, some seconds at most


@dataclass(frozen=True, slots=True)
class Statement:
    """A client's energy in a round."""

    energy: int  # E(t), before paying
    totals: EnergyTotals  # including the payment of round t; `stored` is the rest


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of an account: all rounds before `round` are settled; `round` itself may be paid."""

    round: int
    paid: bool
    energy: int
    totals: EnergyTotals


@dataclass(frozen=True, slots=True)
class AccountFile:
    """The file of one client in one run, in a folder that no other client uses."""

    folder: Path
    run: str  # the run's token
    client: int
    seed: int

    def __post_init__(self) -> None:
        if not isinstance(self.run, str) or not _TOKEN.fullmatch(self.run):
            raise InvalidValue("run", "a token of 8 to 64 digits and small letters", repr(self.run))

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.folder / f"{self.run}.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the file against other processes of this node, so that no round is paid twice."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with sole_use(self.folder, patience=_PATIENCE_SECONDS):
            yield

    def read(self) -> Standing | None:
        """Return the account's standing, None if there is no file; a damaged file raises an error, never a restart."""
        try:
            if not self.path.exists():
                return None
            facts = check_digest(parse_json(self.path.read_bytes()))
            standing = Standing(facts["round"], facts["paid"], facts["energy"], EnergyTotals(**facts["totals"]))
        except OSError as error:
            raise UserError(f"{self.path} cannot be read ({error.strerror or error}): {_REMEDY}") from None
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{self.path} is damaged ({error}): {_REMEDY}") from None
        self._check_own(facts)
        return standing

    def write(self, standing: Standing) -> None:
        """Replace the standing atomically."""
        text = json.dumps(with_digest(self._owner() | asdict(standing)), indent=2)
        write_text(self.path, f"{text}\n")

    def _owner(self) -> dict[str, Any]:
        return {"run": self.run, "client": self.client, "seed": self.seed}

    def _check_own(self, facts: dict[str, Any]) -> None:
        for name, own in self._owner().items():
            if facts.get(name) != own:
                remedy = "give every node a state folder of its own"
                raise UserError(f"{self.path} belongs to {name} {facts.get(name)}, not to {name} {own}: {remedy}")


_REMEDY = "put a copy back, or delete it to begin this client's account of the run anew"


_NOBODY = np.empty(0, np.int32)


class Stale(UserError):
    """A request for a past round; `round` is the current round of the account."""

    def __init__(self, asked: int, client: int, stands_at: int) -> None:
        super().__init__(f"round {asked} is over: the account of client {client} stands at round {stands_at}")
        self.round = stands_at


class CannotPay(UserError):
    """The cost of a round exceeds the client's energy."""


class Account:
    """The energy account of one client in one run, kept in the node's state folder.

    All state is on the disk, so any number of processes may use the same account, one after another or concurrently.

    >>> from tempfile import mkdtemp
    >>> from ehfl.energy import Replay
    >>> fleet = Fleet(clients=2, harvest=Replay([[1, 2], [0, 2], [0, 2]]), cost=3)
    >>> account = Account(Path(mkdtemp()), "0a1b2c3d", fleet, client=1, rounds=3, seed=0)
    >>> account.at(2).energy, account.pay(2).totals.stored, account.pay(2).totals.stored, account.at(3).energy
    (4, 1, 1, 3)
    """

    def __init__(
        self,
        folder: Path,
        run: str,
        fleet: Fleet,
        client: int,
        rounds: int,
        seed: int,
        meter: Meter | None = None,  # replaces the fleet's harvest
    ) -> None:
        self._fleet = fleet
        self._client = whole_number("client", client, low=0, high=fleet.clients - 1)
        self._rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
        self._seed = check_seed(seed)
        self._meter = None if meter is None else METERS.make(meter)
        if self._meter is not None:
            check_unit(fleet.unit, fleet.quantum)
        self._file = AccountFile(Path(folder), run, self._client, self._seed)

    def at(self, t: int) -> Statement:
        """Settle all rounds before t and return the client's energy; t = n_rounds is the end of the run."""
        t = whole_number("t", t, low=0, high=self._rounds)
        with self._file.held():
            kept = self._file.read()
            return self._written(self._reached(kept, t), kept)

    def pay(self, t: int, *, mains_powered: bool = False, steps: int | None = None) -> Statement:
        """Pay for round t, for all steps or `steps` steps; repeated calls pay once.

        The energy comes from the battery, or from the mains.
        """
        cost = self._fleet.cost_of(self._client, steps)
        t = whole_number("t", t, low=0, high=self._rounds - 1)
        with self._file.held():
            kept = self._file.read()
            now = self._reached(kept, t)
            return self._written(now if now.paid else self._paid(now, cost, mains_powered), kept)

    def _written(self, now: Standing, kept: Standing | None) -> Statement:
        if now != kept:
            self._file.write(now)
        return Statement(now.energy, now.totals)

    def _reached(self, kept: Standing | None, t: int) -> Standing:
        """Return the account's standing in round t, without writing it."""
        if kept is not None and t < kept.round:
            raise Stale(t, self._client, kept.round)
        if kept is not None and t == kept.round and (kept.paid or self._meter is None):
            return kept
        totals = None if kept is None else kept.totals
        if self._meter is None:
            totals = self._settled(range(0 if kept is None else kept.round, t), totals)
        else:
            totals = _measured(self._level(self._meter), totals)
        return Standing(t, paid=False, energy=totals.stored, totals=totals)

    def _settled(self, rounds: range, totals: EnergyTotals | None) -> EnergyTotals:
        """Return the totals after these rounds; any payment for the first one has already been made."""
        own = range(self._client, self._client + 1)
        if totals is None:  # reject a trace that is shorter than the run in the first round instead of the last
            self._fleet.harvest.units(self._seed, range(self._rounds - 1, self._rounds), own)
        # Stop at the requested round, so that weather of future rounds is never computed.
        ledger = Ledger(self._fleet, max(rounds.stop, 1), self._seed, own, totals)
        for t in rounds:
            ledger.settle(t, _NOBODY)
        return ledger.totals()

    def _level(self, meter: Meter) -> int:
        """Return the meter's reading as a battery level."""
        fleet = self._fleet
        read = read_quanta(meter, fleet.unit, fleet.quantum)
        if read > MAX_LEVEL and fleet.endless[self._client if fleet.endless.size > 1 else 0]:
            passed = f"the meter reads more than {MAX_LEVEL} {fleet.unit}"
            raise LevelOverflow(f"{passed}: give a capacity, or count in larger units")
        return min(read, fleet.ceiling_of(self._client))

    def _paid(self, now: Standing, cost: int, mains_powered: bool) -> Standing:
        has = now.totals
        if mains_powered:
            totals = replace(has, mains=has.mains + cost)
        elif has.stored >= cost:
            totals = replace(has, spent=has.spent + cost, stored=has.stored - cost)
        else:
            price = f"round {now.round} costs client {self._client} {self._fleet.amount(cost)}"
            raise CannotPay(f"{price}, and it has {self._fleet.amount(has.stored, named=False)}")
        return replace(now, paid=True, totals=totals)


def _measured(level: int, totals: EnergyTotals | None) -> EnergyTotals:
    """Return the totals of a metered device: a rise of the level is harvest, a fall is waste."""
    if totals is None:
        return EnergyTotals(initial=level, harvested=0, spent=0, stored=level, wasted=0, mains=0)
    gained = level - totals.stored
    harvested, wasted = totals.harvested + max(gained, 0), totals.wasted + max(-gained, 0)
    return replace(totals, stored=level, harvested=harvested, wasted=wasted)
