"""The number of turns and the last turn of each client, recorded for schedulers that read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.randomness import TILE
from ehfl.validation import UserError

# Limits of a batch of rounds, and of clients in it: recording them singly would cost as much as the rest of a round.
_ROUNDS, _CLIENTS = 1024, 2**14


class Past:
    """Turns of each client so far.

    Small fleets always record turns. For a large fleet that would cost more than the rest of the round, so turns are
    recorded only if the scheduler reads them in the first round, and a first read later raises an error; so does
    `recent` for every fleet. With `asked=True` every round is kept, and all values are available at any time.
    """

    def __init__(self, n_clients: int, *, asked: bool = False) -> None:
        self._n_clients = n_clients
        self._kept = asked or n_clients <= TILE
        self._begun = False
        self._pending: list[tuple[int, IntArray]] = []  # rounds that are not yet in the arrays
        self._waiting = 0  # clients in them
        self._turns: IntArray | None = None
        self._last: IntArray | None = None
        self._recent: dict[float, Recent] = {}  # by rate
        self._rounds: list[tuple[int, IntArray]] | None = [] if asked else None

    @property
    def turns(self) -> IntArray:
        """The number of turns of each client, (n_clients,), read-only."""
        return read_only(self._arrays()[0])

    @property
    def last_turn(self) -> IntArray:
        """The round in which each client last took part, (n_clients,), read-only; -1 before its first turn."""
        return read_only(self._arrays()[1])

    def recent(self, rate: float, t: int) -> FloatArray:
        """Return the recent participation rate of each client before round t, (n_clients,), read-only."""
        if rate not in self._recent:
            if self._begun and self._rounds is None:
                raise UserError("view.recent is kept only if it is read in round 0: read it in every round")
            self._recent[rate] = Recent(self._n_clients, rate)
            for played in self._rounds or ():
                self._recent[rate].note(*played)
        return read_only(self._recent[rate].before(t))

    def note(self, t: int, clients: IntArray) -> None:
        """Record the participants of round t."""
        self._begun = True
        for one in self._recent.values():
            one.note(t, clients)
        if self._rounds is not None:
            self._rounds.append((t, clients))
        if self._kept:
            self._pending.append((t, clients))
            self._waiting += clients.size
            if len(self._pending) >= _ROUNDS or self._waiting >= _CLIENTS:
                self._arrays()

    def _arrays(self) -> tuple[IntArray, IntArray]:
        """Return turns and last turns, including all pending rounds."""
        if not self._kept and self._begun:
            raise UserError(
                f"view.turns and view.last_turn of more than {TILE:,} clients are kept only if they are read in "
                "round 0: read them in every round"
            )
        self._kept = True
        if self._turns is None or self._last is None:
            self._turns = np.zeros(self._n_clients, np.int32)
            self._last = np.full(self._n_clients, -1, np.int32)
        if self._pending:
            rounds, groups = zip(*self._pending, strict=True)
            clients = np.concatenate(groups)
            self._turns += np.bincount(clients, minlength=self._n_clients).astype(np.int32)
            self._last[clients] = np.repeat(rounds, [group.size for group in groups])  # of several the last one stays
            self._pending.clear()
            self._waiting = 0
        return self._turns, self._last


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


class Recent:
    """sum over past rounds s of rate (1 - rate)^(t-1-s) 1{i in S_s}: in round t, for each client.

    >>> recent = Recent(n_clients=2, rate=0.5)
    >>> recent.note(0, np.array([0]))
    >>> recent.note(1, np.array([0, 1]))
    >>> recent.before(2).tolist(), recent.before(3).tolist()
    ([0.75, 0.5], [0.375, 0.25])
    """

    def __init__(self, n_clients: int, rate: float) -> None:
        self._left = 1 - rate  # of a round's share, with each round that follows
        self._rate = rate
        self._shares = np.zeros(n_clients)
        self._rounds = 0  # that are in the shares

    def note(self, t: int, clients: IntArray) -> None:
        """Add the participants of round t."""
        self._shares = self.before(t + 1)
        self._shares[clients] += self._rate
        self._rounds = t + 1

    def before(self, t: int) -> FloatArray:
        """Return the shares at the start of round t, (n_clients,), as a new array."""
        return self._shares * self._left ** (t - self._rounds)
