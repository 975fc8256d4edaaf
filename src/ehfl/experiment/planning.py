"""plan(): a setting's fleet played through a year under several schedulers, and what to change about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ehfl import own_code
from ehfl.arrays import FloatArray
from ehfl.energy import Fleet
from ehfl.experiment import building
from ehfl.experiment.spec import Arm, Spec
from ehfl.experiment.varying import FREE, Free, free, table_of, with_changes
from ehfl.experiment.workers import Processes, call_all, end_with
from ehfl.planning import (
    YEAR,
    Answer,
    Calendar,
    Curve,
    Outlook,
    Plan,
    SeedOutlook,
    Want,
    budget_of,
    clairvoyant,
    most_sustained,
    smallest,
)
from ehfl.planning.clairvoyant import check_size
from ehfl.scheduling import SCHEDULERS, simulate
from ehfl.scheduling.contract import is_mains_powered
from ehfl.validation import InvalidValue, UserError

MOST_ROUNDS = 1_000_000
_CURVE = (0.25, 0.5, 1.0, 2.0, 4.0)  # factors at which curves are taken
_SMALL = 500_000  # clients times rounds that this process plays by itself: workers take a second or two to begin
OnStep = Callable[[str], None]


def plan(
    spec: Spec,
    *,
    rounds: int | None = None,
    want: Want | None = None,
    free_name: str | None = None,
    sustain: float | None = None,
    curves: bool = False,
    possible: bool = False,
    jobs: int | None = None,
    on_step: OnStep | None = None,
    note: str = "",
) -> Plan:
    """Play a spec's fleet under its arms' schedulers and seeds; find what `want` takes of what is `free`.

    The search is made under every scheduler on harvested energy. `sustain` asks for the most clients that can be wanted
    and had in this share of rounds, under each scheduler that takes a target, `possible` for what any scheduler could
    have reached. Arms must have one fleet. Rounds are those of a year
    where rounds have a length, else the spec's. `note` is a sentence on what was planned otherwise than given.
    """
    _check_one_fleet(spec)
    limited = [arm for arm in spec.arms if not is_mains_powered(building.scheduler_of(arm.setting))]
    steered = [arm for arm in limited if "target" in arm.setting.scheduler]
    if sustain is not None and not steered:
        allowed = "left out where no scheduler on harvested energy takes a target"
        raise InvalidValue("sustain", allowed, f"{100 * sustain:g}")
    if free_name is not None and not limited:
        raise InvalidValue("free", "left out where all schedulers are on mains power", free_name)
    fleet = building.fleet_of(spec.base)
    if want is not None and want.clients > fleet.clients and free_name != "clients":
        raise InvalidValue("want", f"for at most {fleet.clients:,} clients, unless clients are free", want)
    played = rounds or rounds_of(fleet.round_length, spec.base.rounds)
    may_change = None
    if want is not None and free_name is not None:
        may_change = free(spec.base, free_name, want, played)
        if not np.isfinite(may_change.now):  # a battery that never ends is not one to compare with
            note = f"Batteries as given are infinite: planned with {may_change.shown(may_change.high)}, more than a "
            note += "client ever harvests or spends in these rounds."
            spec = with_changes(spec, may_change.change(may_change.high))
            may_change, fleet = free(spec.base, free_name, want, played), building.fleet_of(spec.base)
            limited, steered = ([arm for arm in spec.arms if arm.label in {one.label for one in several}]
                                for several in (limited, steered))  # fmt: skip
    if possible:
        check_size(fleet, played)  # before rounds are played that take long
    players = _Players(spec, played, want, jobs, on_step or (lambda step: None))
    outlooks = tuple(players.as_it_is(arm) for arm in spec.arms)
    calendar = calendar_of(fleet)
    found = Plan(
        name=spec.name,
        fleet=fleet,
        harvest=str(spec.base.fleet.harvest_table()["name"]),
        rounds=played,
        seeds=spec.seeds,
        calendar=calendar,
        budget=budget_of(fleet, played, spec.seeds[0], calendar),
        outlooks=outlooks,
        schedulers={arm.label: "" if ":" in arm.setting.scheduler["name"] else arm.setting.scheduler["name"]
                    for arm in spec.arms},
        sites=_sites(fleet),
        has_target=any(building.target_of(arm.setting) is not None for arm in limited),
        want=want,
        free=may_change,
        answers={} if may_change is None else {arm.label: players.answer(arm, may_change) for arm in limited},
        sustained={} if sustain is None else
                  {arm.label: most_sustained(sustain, partial(players.held, arm), fleet.clients) for arm in steered},
        note=note,
    )  # fmt: skip
    if curves and limited:
        wanted = want or Want(found.best.target, 1.0)
        arm = next(one for one in limited if one.label == (found.answered_by or found.best.label))
        found = replace(found, curves=tuple(players.curve(arm, one, wanted) for one in _variable(spec, wanted, played)))
    if possible:
        players.on_step("what was possible")
        found = replace(found, possible=tuple(clairvoyant(fleet, played, seed) for seed in spec.seeds))
    return found


def rounds_of(round_length: float | None, otherwise: int) -> int:
    """Return the rounds of a year, at least one and not too many; where rounds have no length, those given."""
    if round_length is None:
        return otherwise
    return int(min(max(round(YEAR / round_length), 1), MOST_ROUNDS))


def calendar_of(fleet: Fleet) -> Calendar | None:
    """Return which rounds fall into which month, None where the harvest knows of no calendar."""
    power = getattr(fleet.harvest, "power", None)
    first_day = getattr(power, "first_day", None)
    if fleet.round_length is None or first_day is None:
        return None
    return Calendar(int(first_day), fleet.round_length, float(getattr(power, "first_second", 0.0)))


class _Players:
    """Plays fleets under the spec's seeds, a few at a time."""

    def __init__(self, spec: Spec, rounds: int, want: Want | None, jobs: int | None, on_step: OnStep) -> None:
        self._spec, self._rounds, self._want, self.on_step = spec, rounds, want, on_step
        small = len(spec.seeds) == 1 or spec.base.fleet.clients * rounds < _SMALL
        self._workers = 1 if small and jobs is None else min(jobs or os.cpu_count() or 1, len(spec.seeds))
        beginning = {"initializer": begin_player, "initargs": (os.getpid(), list(sys.path), spec.code)}
        self._as_it_is: dict[str, Outlook] = {}  # with nothing changed, by label
        self._known: dict[tuple[str, str, float, int], FloatArray] = {}
        self._crew = Processes(beginning, threads=1) if self._workers > 1 else None

    def outlook(self, arm: Arm, table: dict[str, Any], *, clients: int | None = None) -> Outlook:
        """Return what an arm's scheduler makes of a fleet; of another round length, as much time is played.

        `clients` are wanted a round, whatever the scheduler's own target is; else as many as the plan wants.
        """
        round_length, scheduler = table.get("round_length"), dict(arm.setting.scheduler)
        if clients is not None and "target" in scheduler:
            scheduler["target"] = clients
        now = self._spec.base.fleet.round_length
        rounds = (
            self._rounds if now is None or round_length is None else max(1, round(self._rounds * now / round_length))
        )
        wanted = clients or (self._want.clients if self._want else building.target_of(arm.setting))
        wanted = None if wanted is None else min(wanted, table["clients"])  # more may be wanted where clients are free
        calls = [partial(play, table, scheduler, rounds, seed, wanted) for seed in self._spec.seeds]
        played = call_all(calls, self._workers, self._crew)
        if any(one is None for one in played):
            raise InvalidValue("scheduler", "one that does not end its process", arm.label)
        return Outlook.of(arm.label, [one for one in played if one is not None])

    def as_it_is(self, arm: Arm) -> Outlook:
        """Return what an arm's scheduler makes of the spec's own fleet."""
        self._as_it_is[arm.label] = self.outlook(arm, table_of(self._spec.base))
        self.on_step(arm.label)
        return self._as_it_is[arm.label]

    def held(self, arm: Arm, clients: int) -> FloatArray:
        """Return the share of rounds in which `clients` take part, if they are wanted, (n_seeds,)."""
        shares = self.outlook(arm, table_of(self._spec.base), clients=clients).on_target(clients)
        self.on_step(f"{arm.label}, {clients:,} clients wanted: in {100 * shares.mean():.4g} % of rounds")
        return shares

    def shares(self, arm: Arm, free: Free, want: Want, value: float) -> FloatArray:
        """Return the share of rounds with as many clients as wanted, (n_seeds,); a value is played once."""
        key = arm.label, free.name, value, want.clients
        if value == free.now and arm.label in self._as_it_is:
            return self._as_it_is[arm.label].on_target(want.clients)
        if key not in self._known:
            self._known[key] = self._played_shares(arm, free, want, value)
        return self._known[key]

    def _played_shares(self, arm: Arm, free: Free, want: Want, value: float) -> FloatArray:
        changed = table_of(free.setting) | dict(free.change(value))
        tried = f"{arm.label}, {free.name} {free.shown(value)}"
        if changed["clients"] < want.clients:  # a scheduler cannot be asked for more clients than there are
            return np.zeros(len(self._spec.seeds))
        try:
            shares = self.outlook(arm, changed).on_target(want.clients)
        except UserError as error:  # the fleet as given was played, so it is this value that cannot be
            self.on_step(f"{tried} cannot be played: {error}")
            return np.full(len(self._spec.seeds), np.nan)
        self.on_step(f"{tried}: {100 * shares.mean():.4g} % of rounds")
        return shares

    def answer(self, arm: Arm, free: Free) -> Answer:
        """Return the smallest value with which the arm does what is wanted."""
        assert self._want is not None
        want = self._want
        return smallest(want, lambda value: self.shares(arm, free, want, value), start=free.now, low=free.low,
                        high=free.high, whole=free.whole)  # fmt: skip

    def curve(self, arm: Arm, free: Free, want: Want) -> Curve:
        """Return what a quarter to four times of a thing would do."""
        tried = {value: self.shares(arm, free, want, value) for value in sorted({_times(free, x) for x in _CURVE})}
        played = {value: shares for value, shares in tried.items() if np.isfinite(shares).all()}
        values = tuple(played)
        shares = np.stack(list(played.values()))
        return Curve(free.name, arm.label, values, tuple(map(free.shown, values)), free.now, shares)


def play(table: dict[str, Any], scheduler: dict[str, Any], rounds: int, seed: int, target: int | None) -> SeedOutlook:
    """Play a fleet that a table describes; in a worker, or here."""
    fleet = building.fleet_in(table)
    played = simulate(fleet, SCHEDULERS.make(scheduler, "scheduler"), rounds, seed, target=target)
    return SeedOutlook.of(played)


def begin_player(parent: int, path: list[str], code: str | None) -> None:
    """Begin a worker process that plays fleets: it ends with its parent, and imports from where that does."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    os.dup2(2, 1)  # standard output is for the results of the command
    sys.path.extend(folder for folder in path if folder not in sys.path)
    own_code.hold(code)


def _variable(spec: Spec, want: Want, rounds: int) -> list[Free]:
    """Return what can be varied about a spec's fleet, but for the length of rounds, which changes what a round is."""
    found = []
    for name in FREE:
        try:
            one = free(spec.base, name, want, rounds)
        except InvalidValue:
            continue
        if name != "round" and np.isfinite(one.now) and not (name == "clients" and _has_own_values(spec)):
            found.append(one)
    return found


def _has_own_values(spec: Spec) -> bool:
    """Return whether clients have values of their own, of which there are as many as clients."""
    table = table_of(spec.base)
    return any(isinstance(value, tuple | list) for value in (*table.values(), *table["harvest"].values()))


def _times(free: Free, factor: float) -> float:
    return max(round(free.now * factor), 1) if free.whole else float(f"{free.now * factor:.4g}")


def _sites(fleet: Fleet) -> tuple[str, ...] | None:
    """Return where each client is, None where all are in one place, each in its own, or nobody says."""
    names = getattr(getattr(fleet.harvest, "power", None), "site_names", None)
    if names is None:
        return None
    found: Sequence[str] = names(fleet.clients)
    return tuple(found) if 1 < len(set(found)) < fleet.clients else None


def _check_one_fleet(spec: Spec) -> None:
    for arm in spec.arms:
        if arm.setting.fleet != spec.base.fleet:
            raise InvalidValue(arm.key_of("fleet"), "the same for all arms of a plan", "another one")
