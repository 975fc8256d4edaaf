"""A fleet's energy counted in turns, the input of the clairvoyant optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import IntArray, Levels
from ehfl.energy import Fleet
from ehfl.energy.battery import Place
from ehfl.energy.feed import Weather
from ehfl.validation import whole_number


class Income(NamedTuple):
    """The income of the batteries over a range of rounds, in the fleet's unit; axes are client and round."""

    level: IntArray  # E_i of the first of these rounds if no client has taken part before, (n_clients,)
    stored: IntArray  # charge at the end of each round, before the limit of the capacity
    first: int  # the first of these rounds


@dataclass(frozen=True, eq=False, slots=True)
class TurnBatteries:
    """A battery in integer turns for each client: E(t+1) = min(E(t) - 1{takes part} + arrivals(t), capacity).

    Every schedule that the fleet can pay for is feasible with these batteries; `exact` means that the converse holds,
    too, so that their optimum is the fleet's.
    """

    start: Levels  # (n_clients,)
    arrivals: NDArray[np.int32]  # (n_clients, n_rounds)
    capacity: Levels  # (n_clients,), at most the number of rounds
    exact: bool


def income_of(fleet: Fleet, rounds: int, seed: int, first: int | None = None) -> Income:
    """Return the income of the rounds from `first` on; the default is the first in which a client can take part.

    Charging losses are subtracted, as in the ledger; leaks depend on the level and are ignored.
    """
    weather = Weather(fleet, range(fleet.clients), rounds, seed)
    level, most = fleet.start().astype(np.int64), _most(fleet)
    begin = rounds if first is None else first
    stored = np.empty((fleet.clients, rounds), np.int32)
    for t in range(rounds):
        units = sum(_stored(fleet, units, at) for at, units in weather.of_round(t))
        if first is None and begin == rounds and (level >= fleet.costs).any():
            begin = t
        if t < begin:
            level = np.minimum(level + units, most)
        stored[:, t] = units
    return Income(level, stored[:, begin:], begin)


def turn_batteries(fleet: Fleet, income: Income) -> TurnBatteries:
    """Return the batteries of that energy in turns, by client.

    With cost c, capacity C and U(t) what has come in until round t, a client can pay for its turns if and only if in
    any rounds s..t there are at most floor((C + U(t) - U(s)) / c) of them, and until t at most floor(U(t) / c). Here
    it has a unit whenever floor(U / c) grows, and room for ceil(C / c) of them. Since floor(a + b) <= floor(a) +
    ceil(b), that allows every such schedule. It allows no other one where C is infinite or never filled, or where C,
    the start and all that comes in are multiples of c, as they are for c = 1.

    >>> from ehfl.energy import Replay
    >>> fleet = Fleet(clients=1, harvest=Replay([[3], [3], [3]]), capacity=5, cost=2)
    >>> turns = turn_batteries(fleet, income_of(fleet, rounds=3, seed=0, first=0))
    >>> turns.arrivals.tolist(), turns.capacity.tolist(), turns.exact
    ([[1, 2, 1]], [3], False)
    """
    cost, most = np.broadcast_to(fleet.costs, (fleet.clients,)).astype(np.int64), _most(fleet)
    able = most >= cost
    came_in = _came_in(income, most)
    came_in[~able] = 0  # a battery that cannot hold the cost of a turn never pays for one
    never_full = came_in[:, -1] <= most
    alike = never_full | (cost == 1)
    for client in np.flatnonzero(~alike & (most % cost == 0)):
        alike[client] = not (came_in[client] % cost[client]).any()
    came_in //= cost[:, None]
    n_rounds = income.stored.shape[1]
    capacity = np.where(never_full, n_rounds, np.minimum(-(-most // cost), n_rounds))
    return TurnBatteries(
        start=np.minimum(came_in[:, 0], capacity).astype(np.int32),
        arrivals=np.minimum(np.diff(came_in, axis=1), capacity[:, None]).astype(np.int32),
        capacity=capacity.astype(np.int32),
        exact=bool(alike.all()) and not _leaks(fleet),
    )


def _came_in(income: Income, most: IntArray) -> IntArray:
    """Return U(t), the income until each round, (n_clients, n_rounds + 1); amounts above the capacity are lost."""
    came_in = np.empty((len(most), income.stored.shape[1] + 1), np.int64)
    came_in[:, 0] = income.level
    np.minimum(income.stored, most[:, None], out=came_in[:, 1:])
    return np.cumsum(came_in, axis=1, out=came_in)


def _leaks(fleet: Fleet) -> bool:
    return fleet.storage is not None and bool((fleet.storage.leak > 0).any() or (fleet.storage.drain > 0).any())


def check_first(first: int | None, rounds: int) -> int | None:
    """Return `first`, or raise an error if there is no such round; None stays None."""
    return None if first is None else whole_number("first", first, low=0, high=rounds - 1)


def _most(fleet: Fleet) -> IntArray:
    """Return each battery's capacity, (n_clients,); infinite ones become larger than any possible income."""
    most = np.where(fleet.endless, np.int64(2**62), fleet.ceilings.astype(np.int64))
    return np.broadcast_to(most, (fleet.clients,))


def _stored(fleet: Fleet, units: IntArray, at: Place) -> IntArray:
    units = units.astype(np.int64)
    return units if fleet.storage is None else fleet.storage.charged(units, at.round, at.clients)
