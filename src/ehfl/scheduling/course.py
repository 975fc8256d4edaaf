"""Who trains in which round, as learning asks for it: known before training, or decided in lockstep with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ehfl.arrays import Clients, FloatArray, IntArray
from ehfl.energy import Fleet, Ledger
from ehfl.randomness import check_seed
from ehfl.scheduling.contract import Scheduler
from ehfl.scheduling.participation import Participation
from ehfl.scheduling.rounds import Round, check_target, play
from ehfl.scheduling.schedulers import SCHEDULERS
from ehfl.scheduling.simulation import Recorder
from ehfl.validation import InvalidValue, whole_number


@dataclass(frozen=True, eq=False, slots=True)
class Lockstep:
    """A participation that is still to be decided, round by round, while a learner reports losses.

    Give it to `train` in the place of a participation when a scheduler chooses by losses (`wants_losses`).
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


class Course(Protocol):
    """Rounds in their order: `clients(t)` and then `report(t, ...)`, for t = 0, 1, ..."""

    def clients(self, t: int) -> Clients:
        """Return the participants of round t."""
        ...

    def weights(self, t: int) -> FloatArray | None:
        """Return how much their turns count, None where the scheduler does not say so."""
        ...

    def steps(self, t: int) -> IntArray | None:
        """Return how many local steps their turns have, None where all have K."""
        ...

    def report(self, t: int, losses: Sequence[float]) -> None:
        """Take in what the participants of round t reported."""
        ...

    def participation(self) -> Participation:
        """Return all rounds, once the last is over."""
        ...


def course_of(played: Participation | Lockstep) -> Course:
    """Return the rounds of a participation, or of one that is still to be decided."""
    if isinstance(played, Participation):
        return _Known(played)
    if isinstance(played, Lockstep):
        return _Decided(played)
    raise InvalidValue("participation", "what simulate returned, or a Lockstep", repr(played))


@dataclass(frozen=True, eq=False, slots=True)
class _Known:
    """Decided before training began: what is learned changes nothing."""

    played: Participation

    def clients(self, t: int) -> Clients:
        return self.played.clients(t)

    def weights(self, t: int) -> FloatArray | None:
        return self.played.weights_of(t)

    def steps(self, t: int) -> IntArray | None:
        return self.played.steps_of(t)

    def report(self, t: int, losses: Sequence[float]) -> None:
        pass

    def participation(self) -> Participation:
        return self.played


class _Decided:
    """Decided round by round, through the same loop as any simulation."""

    def __init__(self, plan: Lockstep) -> None:
        self._plan = plan
        self._recorder = Recorder(plan.rounds, plan.fleet, plan.record_energy)
        self._game = play(plan.fleet, plan.scheduler, plan.rounds, plan.seed, target=plan.target)
        self._now: Round | None = next(self._game)
        self._ledger: Ledger | None = None

    def clients(self, t: int) -> Clients:
        assert self._now is not None and self._now.index == t, "rounds are asked for in their order"
        return self._now.clients

    def weights(self, t: int) -> FloatArray | None:
        assert self._now is not None and self._now.index == t, "rounds are asked for in their order"
        return self._now.weights

    def steps(self, t: int) -> IntArray | None:
        assert self._now is not None and self._now.index == t, "rounds are asked for in their order"
        return self._now.steps

    def report(self, t: int, losses: Sequence[float]) -> None:
        assert self._now is not None and self._now.index == t, "a round is reported once"
        self._recorder.keep(self._now)
        try:
            self._now = self._game.send(losses)
        except StopIteration as end:
            self._now, self._ledger = None, end.value

    def participation(self) -> Participation:
        assert self._ledger is not None, "the last round is not over"
        plan = self._plan
        return self._recorder.participation(plan.fleet, plan.scheduler, plan.seed, plan.target, self._ledger)
