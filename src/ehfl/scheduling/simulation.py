"""simulate(): the round loop run to its end."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import NDArray

from ehfl.energy import Fleet
from ehfl.energy.battery import Levels
from ehfl.energy.harvest import IntArray
from ehfl.randomness import TILE, check_seed, frozen
from ehfl.scheduling.participation import EnergyTotals, Participation
from ehfl.scheduling.policy import Policy
from ehfl.scheduling.rounds import Outcome, Round, play


def simulate(
    fleet: Fleet,
    policy: Policy,
    rounds: int,
    seed: int = 0,
    *,
    record_energy: bool = False,
    threads: int | None = None,
    on_round: Callable[[int], None] | None = None,
) -> Participation:
    """Play all rounds and return who took part in each; equal arguments, equal results, for any number of threads.

    Every policy meets the same harvest for the same seed. `record_energy` keeps E_i(t) of every round and client;
    `on_round` is called with each round's index once it has been played.

    >>> from ehfl import Bernoulli, Myopic
    >>> played = simulate(Fleet(clients=10, harvest=Bernoulli(rate=0.5)), Myopic(target=5), rounds=1000, seed=0)
    >>> played.counts[:6].tolist()
    [0, 4, 3, 5, 4, 5]
    """
    seed = check_seed(seed)
    most = int(rounds) * fleet.clients if isinstance(rounds, int | np.integer) else 0  # bad rounds are refused by play
    recorder = _Recorder(most, fleet if record_energy else None, on_round)
    outcome = recorder.follow(play(fleet, policy, rounds, seed, threads=threads))
    final = outcome.final_energy
    return Participation(
        n_clients=fleet.clients,
        offsets=recorder.offsets(),
        indices=recorder.indices(),
        final_energy=final,
        totals=EnergyTotals(
            initial=fleet.total_initial,
            harvested=outcome.harvested,
            spent=outcome.spent,
            stored=int(final.sum(dtype=np.int64)),
            wasted=outcome.wasted,
            mains=outcome.mains,
        ),
        sustainable=fleet.sustainable,
        policy=repr(policy),
        seed=seed,
        energy=recorder.energy(),
    )


class _Recorder:
    """Keeps each round's clients, in blocks so large that they are rarely joined and never copied while growing."""

    _BLOCK = 2**26  # clients; memory that is not written to is not taken

    def __init__(self, most: int, recorded: Fleet | None, on_round: Callable[[int], None] | None) -> None:
        self._on_round = on_round
        self._block = max(1, min(self._BLOCK, most))
        self._levels = None if recorded is None else [recorded.start()]
        self._ends = [0]
        self._blocks: list[NDArray[np.int32]] = []
        self._filled = 0  # of the last block

    def follow(self, game: Generator[Round, object, Outcome]) -> Outcome:
        while True:
            try:
                played = next(game)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            self._keep(played.clients)
            if self._levels is not None:
                self._levels.append(played.energy_after.copy())
            if self._on_round is not None:
                self._on_round(played.index)

    def _keep(self, clients: NDArray[np.int32]) -> None:
        if not self._blocks or self._filled + clients.size > self._blocks[-1].size:
            self._close_block()
            self._blocks.append(np.empty(max(self._block, clients.size), np.int32))
            self._filled = 0
        _copy(clients, self._blocks[-1][self._filled : self._filled + clients.size])
        self._filled += clients.size
        self._ends.append(self._ends[-1] + clients.size)

    def _close_block(self) -> None:
        if self._blocks:
            self._blocks[-1] = self._blocks[-1][: self._filled]

    def offsets(self) -> IntArray:
        return np.array(self._ends, dtype=np.int32 if self._ends[-1] < 2**31 else np.int64)

    def indices(self) -> NDArray[np.int32]:
        self._close_block()
        return self._blocks[0] if len(self._blocks) == 1 else np.concatenate(self._blocks)

    def energy(self) -> Levels | None:
        return None if self._levels is None else np.stack(self._levels)


def _copy(source: NDArray[np.int32], target: NDArray[np.int32]) -> None:
    if source.size <= TILE:
        target[:] = source
        return
    from ehfl.scheduling import kernels

    kernels.copy(frozen(source), target)
