"""`plan`: a fleet played through a year under several schedulers, and what to change about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ehfl import user_code
from ehfl.arrays import FloatArray
from ehfl.energy import Fleet
from ehfl.experiment.check import check_harvests
from ehfl.experiment.play import Game, Player, World
from ehfl.experiment.spec import build
from ehfl.experiment.spec.models import Arm, Spec
from ehfl.experiment.spec.overrides import by_keyword
from ehfl.experiment.spec.read import Source, read_spec
from ehfl.planning import (
    YEAR,
    Answer,
    Calendar,
    Curve,
    Free,
    Outlook,
    Plan,
    SeedOutlook,
    Want,
    budget_of,
    clairvoyant,
    free_of,
    most_sustained,
    smallest,
    variable,
)
from ehfl.planning.optimum import check_size
from ehfl.quantities import as_time
from ehfl.runs import read_facts
from ehfl.scheduling.contract import is_mains_powered
from ehfl.validation import InvalidValue, SpecError, UserError, number_in

MOST_ROUNDS = 10_000_000  # a year of rounds of 3.2 s
SCHEDULERS = ("myopic", "greedy")  # unless others are asked for
SEEDS, ROUNDS = 3, 1000  # likewise; rounds of fleets whose rounds have no length, and so no year
_CURVE = (0.25, 0.5, 1.0, 2.0, 4.0)  # factors at which curves are taken
OnStep = Callable[[str], None]
Read = Callable[[dict[str, Any]], Spec]  # gives the spec to plan, with these changes by key


def plan(
    spec: Source = None,
    *,
    rounds: int | None = None,
    want: Want | str | None = None,
    free: str | None = None,
    sustain: float | None = None,
    curves: bool = False,
    clairvoyant: bool = False,
    from_empty: bool = False,
    jobs: int | None = None,
    on_step: OnStep | None = None,
    **overrides: Any,
) -> Plan:
    """Play a fleet through a year under several schedulers and return what it sustains; nothing is trained.

    `spec` is a TOML file, a dict with the same keys, a Spec, or None for a fleet that overrides describe:
    `plan(fleet={"clients": 50, "capacity": 5})`; overrides are those of `compare`, objects included. If rounds have a
    length, those of a year are played, unless `rounds` or the spec say otherwise. A seed is a year of weather: 0, 1
    and 2 unless the spec or overrides give others. Batteries start as they are after a year of operation
    (`planning.steady_start`), unless fleet.initial is given; with `from_empty`, empty on the day of installation.

    `want`, "20 clients in 99 % of rounds", and `free` (battery, panel, clients or round) search the smallest value that
    meets it, under each scheduler on harvested energy. `sustain`, 0.99, finds the most clients that take part in this
    share of rounds if they are wanted. `curves` plays a quarter to four times of each value that can be changed;
    `clairvoyant` adds what is achievable with perfect foresight. All arms must have the same fleet. `on_step` gets a
    line on each step.

    >>> found = plan(fleet={"clients": 10, "capacity": 5}, rounds=100, schedulers=["greedy"], seeds=2)
    >>> found.best.label, found.best.count_on(0.95)
    ('greedy', 2)
    """
    wanted = Want.parse(want) if isinstance(want, str) else want
    changes = by_keyword(overrides)
    if not has_seeds(spec):
        changes = {"seeds": SEEDS} | changes
    if spec is None:
        given = [key for key in changes if key.split(".")[0] in ("scheduler", "schedulers", "arms")]
        changes = ({} if given else {"schedulers": list(SCHEDULERS)}) | changes
    if from_empty:
        changes["fleet.initial"] = 0
    source = spec.facts() if isinstance(spec, Spec) else spec

    def read(more: dict[str, Any]) -> Spec:
        return spec if isinstance(spec, Spec) and not (changes or more) else read_spec(source or {}, changes | more)

    ready, note = read_plannable(read, wanted, free)
    return make_plan(ready, rounds=rounds, want=wanted, free=free, sustain=sustain, curves=curves,
                     possible=clairvoyant, jobs=jobs, on_step=on_step, note=note)  # fmt: skip


def has_seeds(source: Source) -> bool:
    """Return whether a spec says its seeds."""
    if source is None or isinstance(source, Spec):
        return source is not None
    return "seeds" in (source if isinstance(source, Mapping) else read_facts(Path(source)))


def read_plannable(read: Read, want: Want | None, free: str | None) -> tuple[Spec, str]:
    """Return the spec to plan, and a note on what was changed in it.

    If the battery cannot hold a turn, and its size is searched, the search starts from the smallest that can.
    """
    try:
        return read({}), ""
    except SpecError as error:
        if free != "battery" or want is None:
            raise
        try:
            endless = read({"fleet.capacity": math.inf, "fleet.initial": 0}).base
            battery = free_of(build.fleet_table(endless), build.build_fleet, "battery", Want(1, 1.0), 1)
            note = "Batteries as given cannot be played: planned with "
            note += f"{battery.shown(battery.low)}, the smallest that holds a turn."
            return read({"fleet.capacity": battery.low}), note
        except SpecError:
            raise error from None  # the battery was not the error


def make_plan(
    spec: Spec,
    *,
    rounds: int | None = None,
    want: Want | None = None,
    free: str | None = None,
    sustain: float | None = None,
    curves: bool = False,
    possible: bool = False,
    jobs: int | None = None,
    on_step: OnStep | None = None,
    note: str = "",
) -> Plan:
    """Return the plan of a spec's fleet under its arms' schedulers and seeds; `note` is a sentence on the spec."""
    if sustain is not None:
        number_in("sustain", sustain, "(0, 1]")
    if free is not None and want is None:
        raise InvalidValue("free", "left out without want, which says what it is for", free)
    with user_code.held(spec.code):
        check_harvests(spec)
        return _Planner.of(spec, rounds, want, jobs, on_step).plan(free, sustain, curves, possible, note)


@dataclass(frozen=True)
class _Planner:
    """Plays a fleet, and variants of it in one value, under every arm and seed; no game is played twice."""

    spec: Spec
    table: Mapping[str, Any]  # of the fleet that is planned
    rounds: int
    want: Want | None
    steady: bool  # whether batteries start as they are after a year
    player: Player
    on_step: OnStep
    known: dict[tuple[str, str, float, int], FloatArray] = field(default_factory=dict)
    as_it_is: dict[str, Outlook] = field(default_factory=dict)  # of the table, by label

    @staticmethod
    def of(spec: Spec, rounds: int | None, want: Want | None, jobs: int | None, on_step: OnStep | None) -> _Planner:
        for arm in spec.arms:
            if arm.setting.fleet != spec.base.fleet:
                raise InvalidValue(arm.key_of("fleet"), "the same for all arms of a plan", "another one")
        given = spec.base.rounds if "rounds" in spec.base.model_fields_set else None
        played = rounds or given or rounds_of(spec.base.fleet.round_length, ROUNDS)
        player = Player(code=spec.code, jobs=jobs)
        steady = "initial" not in spec.base.fleet.model_fields_set
        step = on_step or (lambda step: None)
        return _Planner(spec, build.fleet_table(spec.base), played, want, steady, player, step)

    def plan(self, free: str | None, sustain: float | None, curves: bool, possible: bool, note: str) -> Plan:
        limited = [arm for arm in self.spec.arms if not is_mains_powered(build.scheduler_of(arm.setting))]
        steered = [arm for arm in limited if "target" in arm.setting.scheduler]
        fleet, want = build.build_fleet(dict(self.table)), self.want
        if sustain is not None and not steered:
            allowed = "left out where no scheduler on harvested energy takes a target"
            raise InvalidValue("sustain", allowed, f"{100 * sustain:g}")
        if free is not None and not limited:
            raise InvalidValue("free", "left out where all schedulers are on mains power", free)
        if want is not None and want.clients > fleet.clients and free != "clients":
            raise InvalidValue("want", f"for at most {fleet.clients:,} clients, unless clients are free", want)
        may_change = None
        if want is not None and free is not None:
            may_change = free_of(self.table, build.build_fleet, free, want, self.rounds)
            if not np.isfinite(may_change.now):  # the search compares with the value now, which must be finite
                note = f"Batteries as given are infinite: planned with {may_change.shown(may_change.high)}, more than "
                note += "a client ever harvests or spends in these rounds."
                finite = replace(self, table=may_change.varied(may_change.high))
                return finite.plan(free, sustain, curves, possible, note)
        if possible:
            if self.steady:  # an optimum and a scheduler are compared from the same start
                return replace(self, steady=False).plan(free, sustain, curves, possible, note)
            check_size(fleet, self.rounds)  # before the rounds, which take long, are played
        outlooks = self._outlooks([(arm, self.table, None) for arm in self.spec.arms])
        self.as_it_is.update((one.label, one) for one in outlooks)
        calendar = calendar_of(fleet)
        names = {arm.label: str(arm.setting.scheduler["name"]) for arm in self.spec.arms}
        found = Plan(
            name=self.spec.name,
            fleet=fleet,
            harvest=str(self.table["harvest"]["name"]),
            rounds=self.rounds,
            seeds=self.spec.seeds,
            calendar=calendar,
            budget=budget_of(fleet, self.rounds, self.spec.seeds[0], calendar),
            outlooks=tuple(outlooks),
            schedulers={label: "" if ":" in name else name for label, name in names.items()},
            sites=_sites(fleet),
            has_target=any(build.target_of(arm.setting) is not None for arm in limited),
            want=want,
            free=may_change,
            answers={} if may_change is None else {arm.label: self._answer(arm, may_change) for arm in limited},
            sustained={} if sustain is None else
                      {arm.label: most_sustained(sustain, partial(self._held, arm), fleet.clients) for arm in steered},
            note=note,
        )  # fmt: skip
        if curves and limited:
            wanted = want or Want(found.best.target, 1.0)
            arm = next(one for one in limited if one.label == (found.answered_by or found.best.label))
            variables = variable(self.table, build.build_fleet, wanted, self.rounds)
            found = replace(found, curves=tuple(self._curve(arm, one, wanted) for one in variables))
        if possible:
            self.on_step("what was possible")
            best = tuple(clairvoyant(fleet, self.rounds, seed) for seed in self.spec.seeds)
            found = replace(found, possible=best)
        return found

    def _outlooks(self, wishes: Sequence[tuple[Arm, Mapping[str, Any], int | None]]) -> list[Outlook]:
        """Return the outlooks of arms on fleets with this many clients wanted (None: as in the arm)."""
        self.on_step(", ".join(arm.label for arm, *_ in wishes))
        worlds = [(arm.label, self._world(*wish)) for wish in wishes for arm in wish[:1]]
        games = [Game(world, seed, SeedOutlook.of, label) for label, world in worlds for seed in self.spec.seeds]
        played, n_seeds = self.player.play(games), len(self.spec.seeds)
        return [Outlook.of(label, played[n_seeds * i : n_seeds * (i + 1)]) for i, (label, _) in enumerate(worlds)]

    def _world(self, arm: Arm, table: Mapping[str, Any], clients: int | None) -> World:
        """Return the world of an arm with another fleet; if its round length differs, the same time is played."""
        scheduler = dict(arm.setting.scheduler)
        if clients is not None and "target" in scheduler:
            scheduler["target"] = clients
        now, length = self.table.get("round_length"), table.get("round_length")
        rounds = self.rounds if now is None or length is None else max(1, round(self.rounds * now / length))
        wanted = clients or (self.want.clients if self.want else build.target_of(arm.setting))
        # If the number of clients is free, more may be wanted than there are.
        return World(dict(table), scheduler, rounds, None if wanted is None else min(wanted, table["clients"]),
                     self.steady)  # fmt: skip

    def _held(self, arm: Arm, clients: int) -> FloatArray:
        """Return the share of rounds in which `clients` clients take part if wanted, (n_seeds,)."""
        shares = self._outlooks([(arm, self.table, clients)])[0].on_target(clients)
        self.on_step(f"{arm.label}, {clients:,} clients wanted: in {100 * shares.mean():.4g} % of rounds")
        return shares

    def _shares(self, arm: Arm, free: Free, want: Want, value: float) -> FloatArray:
        """Return the share of rounds with as many clients as wanted, (n_seeds,); NaN if the value cannot be played."""
        key = arm.label, free.name, value, want.clients
        if value == free.now:
            return self.as_it_is[arm.label].on_target(
                want.clients, want.rounds(calendar_of(build.build_fleet(dict(self.table))), self.rounds)
            )
        if key not in self.known:
            self.known[key] = self._played_shares(arm, free, want, value)
        return self.known[key]

    def _played_shares(self, arm: Arm, free: Free, want: Want, value: float) -> FloatArray:
        table, tried = free.varied(value), f"{arm.label}, {free.name} {free.shown(value)}"
        if table["clients"] < want.clients:
            return np.zeros(len(self.spec.seeds))
        try:
            outlook = self._outlooks([(arm, table, None)])[0]
            within = want.rounds(calendar_of(build.build_fleet(table)), outlook.counts.shape[1])
            shares = outlook.on_target(want.clients, within)
        except UserError as error:  # due to this value, since the fleet as given was played
            self.on_step(f"{tried} cannot be played: {error}")
            return np.full(len(self.spec.seeds), np.nan)
        self.on_step(f"{tried}: {100 * shares.mean():.4g} % of rounds")
        return shares

    def _answer(self, arm: Arm, free: Free) -> Answer:
        """Return the smallest value with which an arm meets `want`."""
        assert self.want is not None
        shares = partial(self._shares, arm, free, self.want)
        return smallest(self.want, shares, start=free.now, low=free.low, high=free.high, whole=free.whole)

    def _curve(self, arm: Arm, free: Free, want: Want) -> Curve:
        """Return the shares for a quarter to four times of a value."""
        tried = {value: self._shares(arm, free, want, value) for value in sorted({_times(free, x) for x in _CURVE})}
        played = {value: shares for value, shares in tried.items() if np.isfinite(shares).all()}
        shown = tuple(map(free.shown, played))
        return Curve(free.name, arm.label, tuple(played), shown, free.now, np.stack(list(played.values())))


def rounds_of(round_length: float | None, otherwise: int) -> int:
    """Return the rounds of a year, at least 1; `otherwise` if rounds have no length."""
    if round_length is None:
        return otherwise
    if (rounds := max(round(YEAR / round_length), 1)) > MOST_ROUNDS:
        allowed = f"at least {YEAR / MOST_ROUNDS:.4g} s, so that a year has at most {MOST_ROUNDS:,} rounds"
        raise InvalidValue("fleet.round_length", f"{allowed}, or the number of rounds given", as_time(round_length))
    return rounds


def calendar_of(fleet: Fleet) -> Calendar | None:
    """Return which rounds fall into which month, None if the harvest has no calendar."""
    power = getattr(fleet.harvest, "power", None)
    first_day = getattr(power, "first_day", None)
    if fleet.round_length is None or first_day is None:
        return None
    second, southern = float(getattr(power, "first_second", 0.0)), bool(getattr(power, "southern", False))
    return Calendar(int(first_day), fleet.round_length, second, southern)


def _times(free: Free, factor: float) -> float:
    return max(round(free.now * factor), 1) if free.whole else float(f"{free.now * factor:.4g}")


def _sites(fleet: Fleet) -> tuple[str, ...] | None:
    """Return each client's site, None if it is unknown, the same for all or another one for each."""
    names = getattr(getattr(fleet.harvest, "power", None), "site_names", None)
    if names is None:
        return None
    found: Sequence[str] = names(fleet.clients)
    return tuple(found) if 1 < len(set(found)) < fleet.clients else None
