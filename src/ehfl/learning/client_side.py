"""The clients as a run asks for them: who takes part, what comes of their training, what was seen of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ehfl.arrays import Clients, IntArray
from ehfl.history import Devices, Record
from ehfl.learning.aggregation import Assign, Update
from ehfl.scheduling import Participation


class ClientSide(Protocol):
    """The clients of a run, for rounds t = 0, 1, ...: `clients`, `updates`, then `report`; `again` for past rounds.

    There are two: `InProcess` trains in this process, and `ehfl.flower` sends the model to devices.
    """

    rounds: int  # T
    n_clients: int
    keeps_losses: bool  # whether a resumed run needs each participant's loss to decide as it did
    keeps_steps: bool  # whether turns may have fewer than K local steps, so that records say how many

    @property
    def labels(self) -> IntArray | None:
        """How many training examples of each class every client holds, (n_clients, n_classes); None if unknown."""
        ...

    def clients(self, t: int) -> Clients:
        """Return who shall take part in round t, ascending."""
        ...

    def updates(self, assign: Assign, clients: Clients, t: int, eta: float) -> Iterator[Update]:
        """Yield what these clients make of their assignments, in their order; a device may fail, and is left out."""
        ...

    def report(self, t: int, losses: Sequence[float]) -> Devices | None:
        """Take in the losses of those who took part, which ends the round; return what was seen of devices."""
        ...

    def again(self, record: Record) -> int:
        """Go through a round that was played before this process began; return how many took part."""
        ...

    def participation(self) -> Participation:
        """Return all rounds, once the last is over."""
        ...
