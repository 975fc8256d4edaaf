"""How often and when last each client took part: kept for those schedulers that ask for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.randomness import TILE
from ehfl.scheduling.recent import Recent
from ehfl.validation import UserError

# Rounds that are taken in at once, and clients in them: one by one they would cost as much as all else in a round.
_ROUNDS, _CLIENTS = 1024, 2**14


class Past:
    """Turns of each client so far.

    Small fleets always keep count. In a large one it would cost more than the rest of the round, so it is kept only if
    the scheduler asks in the first round, and a scheduler that asks later is refused; what is recent is kept for those
    alone who ask for it then. One of which all is `asked` keeps every round, and answers whatever is asked, whenever.
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
        """How often each client took part, (n_clients,), read-only."""
        return read_only(self._arrays()[0])

    @property
    def last_turn(self) -> IntArray:
        """The round in which each client last took part, (n_clients,), read-only; -1 before its first turn."""
        return read_only(self._arrays()[1])

    def recent(self, rate: float, t: int) -> FloatArray:
        """Return how often each client took part of late, before round t, (n_clients,), read-only."""
        if rate not in self._recent:
            if self._begun and self._rounds is None:
                raise UserError("view.recent is kept only if it is asked for in round 0: ask for it in every round")
            self._recent[rate] = Recent(self._n_clients, rate)
            for played in self._rounds or ():
                self._recent[rate].note(*played)
        return read_only(self._recent[rate].before(t))

    def note(self, t: int, clients: IntArray) -> None:
        """Take down who took part in round t."""
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
        """Return turns and last turns with all rounds taken in."""
        if not self._kept and self._begun:
            raise UserError(
                f"view.turns and view.last_turn of more than {TILE:,} clients are kept only if they are asked for in "
                "round 0: ask for them in every round"
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
