"""Participation of arms and seeds, played here or in workers, for simulate, plan, bound and compare."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ehfl.energy import Fleet
from ehfl.experiment.spec import build
from ehfl.experiment.spec.models import Setting, Spec
from ehfl.randomness import TILE
from ehfl.registry import Table
from ehfl.scheduling import SCHEDULERS, Lockstep, Participation, Scheduler, simulate, wants_losses
from ehfl.validation import UserError

if TYPE_CHECKING:  # SciPy, behind comparisons, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis import Comparison, Trial
    from ehfl.planning import Optimum, Share

Result = TypeVar("Result")
OnRound = Callable[[int], None]

_OPTIMA: build.Memo[Optimum] = build.Memo(100)

# A round's time in NumPy on one core, measured for 10 and 1,000 clients. Workers start in about two seconds, so they
# are worth it from twice that time; a fleet of more than one tile uses all cores anyway.
_SECONDS_A_ROUND, _SECONDS_A_CLIENT = 4e-5, 1.2e-7
_WORTH_WORKERS = 4.0  # [s] in all


@dataclass(frozen=True)
class World:
    """All that decides participation except the seed: plain data for workers; fleet and scheduler are built lazily."""

    fleet_table: Table  # as `build_fleet` takes it
    scheduler_table: Table
    rounds: int
    target: int | None = None
    steady: bool = False  # whether batteries start as they are after a year, see `planning.steady_start`

    @staticmethod
    def of(setting: Setting) -> World:
        """Return the world of a setting."""
        return World(build.fleet_table(setting), setting.scheduler, setting.rounds, build.target_of(setting))

    @cached_property
    def fleet(self) -> Fleet:
        """The fleet, shared by equal tables."""
        return build.build_fleet(self.fleet_table)

    @cached_property
    def scheduler(self) -> Scheduler:
        """The scheduler, shared by all seeds."""
        return SCHEDULERS.make(self.scheduler_table, "scheduler")

    @property
    def seconds(self) -> float:
        """The approximate time that a seed takes on one core."""
        n_clients: int = self.fleet_table["clients"]
        return self.rounds * (_SECONDS_A_ROUND + _SECONDS_A_CLIENT * n_clients)

    def play(self, seed: int, **options: Any) -> Participation:
        """Play all rounds under a seed; `options` are those of `simulate`."""
        fleet = self.fleet
        if self.steady:
            from ehfl.planning import steady_start

            fleet = steady_start(fleet, self.scheduler, self.rounds, seed, self.target)
        return simulate(fleet, self.scheduler, self.rounds, seed, target=self.target, **options)

    def begin(self, seed: int, *, record_energy: bool) -> Participation | Lockstep:
        """Play all rounds, or, if the scheduler wants losses, return a Lockstep that decides them while learning."""
        if not wants_losses(self.scheduler):
            return self.play(seed, record_energy=record_energy, threads=1)
        return Lockstep(self.fleet, self.scheduler, self.rounds, seed, self.target, record_energy=record_energy)

    def best(self, seed: int) -> Optimum:
        """Return what is achievable with perfect foresight."""
        from ehfl.planning import clairvoyant

        key = self.fleet_table, self.rounds, seed
        return _OPTIMA.get(key, lambda: clairvoyant(self.fleet, self.rounds, seed))

    def __getstate__(self) -> dict[str, Any]:
        """Send only the fields: fleet and scheduler may be large, and a worker builds its own."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class Game(Generic[Result]):
    """A world played under a seed; `keep` reduces its participation to the result."""

    world: World
    seed: int
    keep: Callable[[Participation], Result]  # called in the worker, so that little is sent back
    label: str  # of the scheduler, for errors
    record_energy: bool = False  # whether `keep` is to get the batteries' levels

    def play(self, threads: int | None = None, on_round: OnRound | None = None) -> Result:
        """Play all rounds and return the result."""
        options: dict[str, Any] = {"threads": threads, "on_round": on_round, "record_energy": self.record_energy}
        return self.keep(self.world.play(self.seed, **options))


class Player:
    """Plays games in this process, or on all cores if that is worth starting workers."""

    def __init__(self, *, code: str | None = None, jobs: int | None = None, threads: int | None = None) -> None:
        self._code, self._jobs, self._threads = code, jobs, threads
        self._started = False  # whether workers wait for more

    def play(self, games: Sequence[Game[Result]], on_round: OnRound | None = None) -> list[Result]:
        """Return each game's result, in order; `on_round` is called for each round of each game."""
        workers = self._workers(games)
        if workers == 1:
            return [game.play(self._threads, on_round) for game in games]
        self._started = True
        from ehfl.experiment.run.workers import Processes, beginning, call_all

        # The longest first, so that it does not keep a single core busy at the end.
        order = sorted(range(len(games)), key=lambda place: -games[place].world.seconds)

        def over(number: int) -> None:
            for t in range(games[order[number]].world.rounds if on_round else 0):
                on_round(t)  # type: ignore[misc]  # not None here

        crew = Processes(beginning(self._code, trains=False), threads=1)
        kept = call_all([partial(games[place].play, 1) for place in order], workers, crew, on_done=over)
        found: dict[int, Result] = {}
        for place, one in zip(order, kept, strict=True):
            if one is None:  # alone in a worker too, it died
                raise UserError(f"{games[place].label} ended the process that played it")
            found[place] = one
        return [found[place] for place in range(len(games))]

    def _workers(self, games: Sequence[Game[Result]]) -> int:
        if self._jobs is not None:
            return min(self._jobs, len(games))
        cores = os.cpu_count() or 1
        large = any(game.world.fleet_table["clients"] > TILE for game in games)
        seconds = sum(game.world.seconds for game in games)
        worth = 0.1 * _WORTH_WORKERS if self._started else _WORTH_WORKERS
        if large or self._threads is not None or seconds < worth:
            return 1
        return min(cores, len(games))


def check_best(*specs: Spec) -> None:
    """Refuse fleets and rounds that are too large to compute the optimum."""
    from ehfl.planning.optimum import check_size

    for arm in (arm for spec in specs for arm in spec.arms):
        check_size(build.fleet_of(arm.setting), arm.setting.rounds)


def shares_of(specs: Sequence[Spec], comparison: Comparison) -> dict[str, list[Share | None]]:
    """Return each arm's share, per seed, of what is achievable with perfect foresight, by the arm's name.

    The share is None for runs on mains power, with turns of fewer steps, or on devices, which have energy of their own.
    """
    from ehfl.planning import share

    several = len({spec.name for spec in specs}) > 1  # then names are those of `ehfl.read`
    worlds = {
        f"{spec.name}: {arm.label}" if several else arm.label: World.of(arm.setting)
        for spec in specs
        for arm in spec.arms
    }

    def share_of(world: World, trial: Trial) -> Share | None:
        return None if trial.devices is not None else share(trial.participation, world.best(trial.seed))

    return {arm.name: [share_of(worlds[arm.name], trial) for trial in arm.trials] for arm in comparison.arms}
