"""simulate() plays all rounds; a `Course` decides them one by one, in lockstep with learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import Clients, FloatArray, IntArray
from ehfl.energy import Fleet
from ehfl.machine import check_memory
from ehfl.randomness import MAX_ROUNDS, TILE, check_seed
from ehfl.scheduling.contract import Scheduler, is_mains_powered
from ehfl.scheduling.participation import PackedClients, Participation
from ehfl.scheduling.rounds import Play, Round, check_target
from ehfl.scheduling.schedulers import SCHEDULERS
from ehfl.validation import InvalidValue, whole_number


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
    """Play all rounds and return the participation; equal arguments give equal results, for any number of threads.

    A scheduler may be given by its name, as in "round-robin:1". Every scheduler meets the same harvest for the same
    seed. `target` is the number of clients per round; the default is the number that the harvest sustains.
    `record_energy` keeps E_i(t) of every round and client; `on_round` is called with each round's index after it.

    >>> from ehfl import Bernoulli, Myopic
    >>> played = simulate(Fleet(clients=10, harvest=Bernoulli(rate=0.5)), Myopic(target=5), rounds=1000, seed=0)
    >>> played.counts[:6].tolist()
    [0, 4, 3, 5, 4, 5]
    """
    if not isinstance(fleet, Fleet):
        raise InvalidValue("fleet", "an ehfl.Fleet", repr(fleet))
    scheduler, rounds = SCHEDULERS.make(scheduler), whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    course = Course(Lockstep(fleet, scheduler, rounds, seed, target, record_energy), threads)
    for t in range(rounds):
        course.report(t)
        if on_round is not None:
            on_round(t)
    return course.participation()


@dataclass(frozen=True, eq=False, slots=True)
class Lockstep:
    """A participation that is decided round by round during training, from the reported losses.

    Pass it to `train` instead of a participation if the scheduler uses losses (`wants_losses`).
    """

    fleet: Fleet
    scheduler: Scheduler  # or its name
    rounds: int
    seed: int = 0
    target: int | None = None
    record_energy: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scheduler", SCHEDULERS.make(self.scheduler))
        whole_number("rounds", self.rounds, low=1)
        check_seed(self.seed)
        check_target(self.fleet, self.target)

    @property
    def n_clients(self) -> int:
        """The clients of the fleet."""
        return self.fleet.clients


class Course:
    """The rounds of a lockstep, decided one by one and kept.

    For t = 0, 1, ... ask for the clients of round t, their weights and steps, and then report it, with their losses.
    """

    _BYTES_A_ROUND = 200  # of Python's own: an array, how many took part and what it cost

    def __init__(self, plan: Lockstep, threads: int | None = None) -> None:
        fleet = plan.fleet
        levels = 8 * fleet.clients if plan.record_energy else 0  # as they come, and joined at the end
        check_memory("rounds", plan.rounds, plan.rounds * (self._BYTES_A_ROUND + levels))
        self._plan = plan
        self._play = Play(fleet, plan.scheduler, plan.rounds, plan.seed, target=plan.target, threads=threads)
        self._levels = [fleet.start()] if plan.record_energy else None
        self._counts: list[int] = []
        self._spent: list[int] = []
        self._weights: list[FloatArray] = []  # of each round, where there are any
        self._steps: list[IntArray] = []  # likewise
        self._now: Round | None = self._play.step()

    def _round(self, t: int) -> Round:
        assert self._now is not None and self._now.index == t, "rounds are asked for in their order"
        return self._now

    def clients(self, t: int) -> Clients:
        """Return the sorted participants of round t."""
        return self._round(t).clients

    def weights_of(self, t: int) -> FloatArray | None:
        """Return the weights of its turns, if the scheduler gives any."""
        return self._round(t).weights

    def steps_of(self, t: int) -> IntArray | None:
        """Return the local steps of its turns, if the scheduler sets them."""
        return self._round(t).steps

    def report(self, t: int, losses: Sequence[float] | None = None) -> None:
        """Keep round t, end it with the losses of its participants, if they are known, and decide the next one."""
        played = self._round(t)
        self._counts.append(played.clients.size)
        self._spent.append(played.spent)
        if played.weights is not None:
            self._weights.append(played.weights)
        if played.steps is not None:
            self._steps.append(played.steps)
        if self._levels is not None:
            self._levels.append(played.energy_after.copy())
        self._now = None if self._play.over else self._play.step(losses)

    def participation(self) -> Participation:
        """Return all rounds, once they are over."""
        assert self._now is None, "the last round is not over"
        plan, fleet, ledger = self._plan, self._plan.fleet, self._play.ledger
        ends = np.append(0, np.cumsum(self._counts))
        kept = tuple(clients for _, clients in self._play.past.rounds)
        return Participation(
            n_clients=fleet.clients,
            offsets=ends.astype(np.int32 if ends[-1] < 2**31 else np.int64),
            participants=PackedClients(fleet.clients, kept) if fleet.clients > TILE else np.concatenate(kept),
            spent=np.array(self._spent, dtype=np.int64),
            final_energy=ledger.energy,
            totals=ledger.totals(),
            target=check_target(fleet, plan.target),
            scheduler=repr(plan.scheduler),
            seed=check_seed(plan.seed),
            mains_powered=is_mains_powered(plan.scheduler),
            unit=fleet.unit,
            energy=None if self._levels is None else np.stack(self._levels),
            weights=np.concatenate(self._weights) if self._weights else None,
            steps=np.concatenate(self._steps) if self._steps else None,
            quantum=fleet.quantum,
            round_length=fleet.round_length,
        )
