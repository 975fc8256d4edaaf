"""simulate(): the round loop run to its end."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import Clients, FloatArray, IntArray
from ehfl.energy import Fleet, Ledger
from ehfl.machine import check_memory
from ehfl.randomness import MAX_ROUNDS, TILE, check_seed, frozen
from ehfl.scheduling.contract import Scheduler, is_mains_powered
from ehfl.scheduling.participation import Participation
from ehfl.scheduling.rounds import Round, check_target, play
from ehfl.scheduling.schedulers import SCHEDULERS
from ehfl.validation import check_function, of_kind, whole_number


def simulate(
    fleet: Fleet,
    scheduler: Scheduler | str,
    rounds: int,
    seed: int = 0,
    *,
    target: int | None = None,
    record_energy: bool = False,
    threads: int | None = None,
    on_round: Callable[[int], None] | None = None,
) -> Participation:
    """Play all rounds and return who took part in each; equal arguments, equal results, for any number of threads.

    A scheduler may be given by its name, as in "round-robin:1". Every scheduler meets the same harvest for the same
    seed. `target` is how many clients are wanted a round, if it is not what the harvest sustains. `record_energy` keeps
    E_i(t) of every round and client; `on_round` is called with each round's index once it has been played.

    >>> from ehfl import Bernoulli, Myopic
    >>> played = simulate(Fleet(clients=10, harvest=Bernoulli(rate=0.5)), Myopic(target=5), rounds=1000, seed=0)
    >>> played.counts[:6].tolist()
    [0, 4, 3, 5, 4, 5]
    """
    fleet, scheduler = of_kind("fleet", fleet, Fleet), SCHEDULERS.make(scheduler)
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    check_function("on_round", on_round)
    recorder = Recorder(rounds, fleet, record_energy)
    game = play(fleet, scheduler, rounds, seed, target=target, threads=threads)
    ledger = _follow(game, recorder, on_round)
    return recorder.participation(fleet, scheduler, seed, target, ledger)


def _follow(
    game: Generator[Round, ArrayLike | None, Ledger], recorder: Recorder, on_round: Callable[[int], None] | None
) -> Ledger:
    while True:
        try:
            played = next(game)
        except StopIteration as end:
            ledger: Ledger = end.value
            return ledger
        recorder.keep(played)
        if on_round is not None:
            on_round(played.index)


class Recorder:
    """Keeps each round's clients, in blocks so large that they are rarely joined and never copied while growing."""

    _BLOCK = 2**26  # clients; memory that is not written to is not taken
    _BYTES_A_ROUND = 80  # how many took part and what it cost, as numbers of Python's

    def __init__(self, rounds: int, fleet: Fleet, record_energy: bool) -> None:
        levels = 8 * fleet.clients if record_energy else 0  # as they come, and joined at the end
        check_memory("rounds", rounds, rounds * (self._BYTES_A_ROUND + levels))
        self._rounds = rounds
        self._block = max(1, min(self._BLOCK, rounds * fleet.clients))
        self._levels = [fleet.start()] if record_energy else None
        self._ends = [0]
        self._spent: list[int] = []
        self._blocks: list[Clients] = []
        self._filled = 0  # of the last block
        self._weights: list[FloatArray] = []  # of each round, where there are any
        self._steps: list[IntArray] = []  # likewise

    def keep(self, played: Round) -> None:
        """Take down a round."""
        clients = played.clients
        if not self._blocks or self._filled + clients.size > self._blocks[-1].size:
            self._close_block()
            self._check_room(played.index)
            self._blocks.append(np.empty(max(self._block, clients.size), np.int32))
            self._filled = 0
        _copy(clients, self._blocks[-1][self._filled : self._filled + clients.size])
        self._filled += clients.size
        self._ends.append(self._ends[-1] + clients.size)
        self._spent.append(played.spent)
        if played.weights is not None:
            self._weights.append(played.weights)
        if played.steps is not None:
            self._steps.append(played.steps)
        if self._levels is not None:
            self._levels.append(played.energy_after.copy())

    def _check_room(self, played: int) -> None:
        """Refuse the rounds once it shows that they will not fit: before, nobody knows how many will take part."""
        if played:
            # a client's number, and perhaps its weight and steps
            kept = (4 + 8 * bool(self._weights) + 4 * bool(self._steps)) * self._ends[-1]
            check_memory("rounds", self._rounds, 2 * kept * self._rounds / played - kept)  # joined at the end

    def participation(
        self, fleet: Fleet, scheduler: Scheduler, seed: int, target: int | None, ledger: Ledger
    ) -> Participation:
        """Return all rounds that were kept."""
        self._close_block()
        return Participation(
            n_clients=fleet.clients,
            offsets=self._offsets(),
            indices=self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks),
            spent=np.array(self._spent, dtype=np.int64),
            final_energy=ledger.energy,
            totals=ledger.totals(),
            target=check_target(fleet, target),
            scheduler=repr(scheduler),
            seed=check_seed(seed),
            mains_powered=is_mains_powered(scheduler),
            unit=fleet.unit,
            energy=None if self._levels is None else np.stack(self._levels),
            weights=np.concatenate(self._weights) if self._weights else None,
            steps=np.concatenate(self._steps) if self._steps else None,
            quantum=fleet.quantum,
            round_length=fleet.round_length,
        )

    def _close_block(self) -> None:
        if self._blocks:
            self._blocks[-1] = self._blocks[-1][: self._filled]

    def _offsets(self) -> IntArray:
        return np.array(self._ends, dtype=np.int32 if self._ends[-1] < 2**31 else np.int64)


def _copy(source: Clients, target: Clients) -> None:
    if source.size <= TILE:
        target[:] = source
        return
    from ehfl.scheduling import kernels

    kernels.copy(frozen(source), target)
