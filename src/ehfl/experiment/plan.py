"""`plan`: a fleet played through a year under several schedulers, and what to change about it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    PILOT,
    PRECISION,
    YEAR,
    Answer,
    Calendar,
    Curve,
    Free,
    Outlook,
    Plan,
    Prices,
    SizeMap,
    Trial,
    Want,
    budget_of,
    clairvoyant,
    free_of,
    levels_between,
    search,
    variable,
)
from ehfl.planning.optimum import check_size
from ehfl.planning.sizes import BATTERIES, MAP_YEARS, PANELS, map_shares
from ehfl.quantities import as_time
from ehfl.runs import read_facts
from ehfl.scheduling import Participation
from ehfl.scheduling.contract import is_mains_powered
from ehfl.validation import InvalidValue, SpecError, UserError, number_in

MOST_ROUNDS = 10_000_000  # a year of rounds of 3.2 s
SCHEDULERS = ("myopic", "greedy")  # unless others are asked for
SEEDS, ROUNDS = 5, 1000  # likewise; rounds of fleets whose rounds have no length, and so no year
_KEPT_LEVELS = 2**22  # of batteries (clients x rounds) that a process keeps to know the state of charge
_CURVE = (0.25, 0.5, 1.0, 2.0, 4.0)  # factors at which curves are taken
OnStep = Callable[[str], None]
Answers = dict[str, Answer]  # by the label of the scheduler
PlayArm = Callable[[Arm, Sequence[Trial]], FloatArray]  # as `planning.search.Play`
Wishes = Mapping[float, tuple[World, Want]]  # by the value that is tried
Read = Callable[[dict[str, Any]], Spec]  # gives the spec to plan, with these changes by key


def plan(
    spec: Source = None,
    *,
    rounds: int | None = None,
    want: Want | str | None = None,
    free: str | None = None,
    sustain: float | None = None,
    precision: float | None = None,
    curves: bool = False,
    size_map: bool = False,
    prices: Mapping[str, str] | None = None,
    clairvoyant: bool = False,
    from_empty: bool = False,
    jobs: int | None = None,
    on_step: OnStep | None = None,
    **overrides: Any,
) -> Plan:
    """Play a fleet through a year under several schedulers and return what it sustains; nothing is trained.

    `spec` is a TOML file, a dict with the same keys, a Spec, or None for a fleet that overrides describe:
    `plan(fleet={"clients": 50, "capacity": 5})`; overrides are those of `compare`, objects included. If rounds have a
    length, those of a year are played, unless `rounds` or the spec say otherwise. A seed is a year of weather: 0 to 4
    unless the spec or overrides give others. Batteries start as they are after a year of operation
    (`planning.steady_start`), unless fleet.initial is given; with `from_empty`, empty on the day of installation.

    `want`, "20 clients in 99 % of rounds in winter in 9 of 10 years", and `free` (battery, panel, clients or round)
    search the smallest value that meets it. `sustain`, 0.99, finds the most clients that take part in this share of
    rounds if they are wanted. Both have an interval at 90 % confidence. More years are played until its half is at most
    `precision` of the value, 0.35 unless seeds are given; if they are, exactly these are played. `curves` plays a
    quarter to four times of each value that can be changed; `size_map` batteries and panels together, and `prices`,
    {"battery": "0.30/Wh", "panel": "1.2/W"}, finds the cheapest of those that meet `want`. `clairvoyant` adds what is
    achievable with perfect foresight, from batteries as given. All arms must have the same fleet. `on_step` gets a line
    on each step.

    >>> found = plan(fleet={"clients": 10, "capacity": 5}, rounds=100, schedulers=["greedy"], seeds=2)
    >>> found.best.label, found.best.count_on(0.95)
    ('greedy', 2)
    """
    wanted = Want.parse(want) if isinstance(want, str) else want
    changes = by_keyword(overrides)
    if not has_seeds(spec):
        precision = PRECISION if precision is None and "seeds" not in changes else precision
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
    return make_plan(ready, rounds=rounds, want=wanted, free=free, sustain=sustain, precision=precision,
                     curves=curves, size_map=size_map, prices=None if prices is None else Prices.parse(prices),
                     possible=clairvoyant, jobs=jobs, on_step=on_step, note=note)  # fmt: skip


def has_seeds(source: Source) -> bool:
    """Return whether a spec says its seeds."""
    if source is None or isinstance(source, Spec):
        return source is not None
    if isinstance(source, Mapping):
        return "seeds" in source
    if not isinstance(source, str | os.PathLike):
        raise InvalidValue("spec", "a TOML file, a table or nothing", repr(source))
    return "seeds" in read_facts(Path(source))


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


def designs_of(spec: Spec) -> list[Spec]:
    """Return a spec for each fleet of its arms; where there are several, named after the first arm that has it.

    >>> from ehfl.experiment import make_spec
    >>> swept = make_spec({"sweep": {"fleet.capacity": [2, 5]}, "schedulers": ["myopic", "greedy"]})
    >>> [(one.name, len(one.arms)) for one in designs_of(swept)]
    [('capacity 2', 2), ('capacity 5', 2)]
    """
    groups: list[list[Arm]] = []
    for arm in spec.arms:
        same = next((group for group in groups if group[0].setting.fleet == arm.setting.fleet), None)
        if same is None:
            groups.append([arm])
        else:
            same.append(arm)
    if len(groups) == 1:
        return [spec]
    return [replace(spec, name=_design_name(group[0]), base=group[0].setting, arms=tuple(group)) for group in groups]


def _design_name(arm: Arm) -> str:
    """Return the label of an arm; in a sweep its point, which its schedulers have in common."""
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in arm.point.items()) or arm.label


def make_plan(
    spec: Spec,
    *,
    rounds: int | None = None,
    want: Want | None = None,
    free: str | None = None,
    sustain: float | None = None,
    precision: float | None = None,
    curves: bool = False,
    size_map: bool = False,
    prices: Prices | None = None,
    possible: bool = False,
    jobs: int | None = None,
    on_step: OnStep | None = None,
    note: str = "",
) -> Plan:
    """Return the plan of a spec's fleet under its arms' schedulers and seeds; `note` is a sentence on the spec."""
    if sustain is not None:
        number_in("sustain", sustain, "(0, 1]")
    if precision is not None:
        number_in("precision", precision, "[0.01, 10]")
    if free is not None and want is None:
        raise InvalidValue("free", "left out unless want is given", free)
    if want is None and (size_map or prices is not None):
        raise InvalidValue("want", "given where batteries and panels are sized", "none")
    with user_code.held(spec.code):
        check_harvests(spec)
        planner = _Planner.of(spec, rounds, want, precision, jobs, on_step)
        sizes = size_map or prices is not None
        return planner.plan(_Asked(free, sustain, curves, sizes, prices, possible, note))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a plan is to say, as `plan` explains, and a sentence on what was planned otherwise than given."""

    free: str | None
    sustain: float | None
    curves: bool
    sizes: bool
    prices: Prices | None
    possible: bool
    note: str


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
    precision: float | None  # of an answer's interval; None: exactly the spec's seeds are played

    @staticmethod
    def of(
        spec: Spec, rounds: int | None, want: Want | None, precision: float | None, jobs: int | None,
        on_step: OnStep | None
    ) -> _Planner:  # fmt: skip
        for arm in spec.arms:
            if arm.setting.fleet != spec.base.fleet:
                allowed = "the same for all arms of a plan (planning.Designs puts plans side by side)"
                raise InvalidValue(arm.key_of("fleet"), allowed, "another one")
        given = spec.base.rounds if "rounds" in spec.base.model_fields_set else None
        played = rounds or given or rounds_of(spec.base.fleet.round_length, ROUNDS)
        player = Player(code=spec.code, jobs=jobs)
        steady = "initial" not in spec.base.fleet.model_fields_set
        step = on_step or (lambda step: None)
        return _Planner(spec, build.fleet_table(spec.base), played, want, steady, player, step, precision)

    def plan(self, asked: _Asked) -> Plan:
        """Return the plan, with what is asked beyond the outlooks."""
        limited = [arm for arm in self.spec.arms if not is_mains_powered(build.scheduler_of(arm.setting))]
        fleet, want = build.build_fleet(dict(self.table)), self.want
        self._check(asked, limited, fleet)
        may_change = None if want is None or asked.free is None else self._free(asked.free, want)
        if may_change is not None and not np.isfinite(may_change.now):  # which the search compares with
            note = f"Batteries as given are infinite: planned with {may_change.shown(may_change.high)}, more than "
            note += "a client ever harvests or spends in these rounds."
            return replace(self, table=may_change.varied(may_change.high)).plan(replace(asked, note=note))
        if asked.possible and self.steady:  # an optimum and a scheduler are compared from the same start
            return replace(self, steady=False).plan(asked)
        found = self._as_it_is(fleet, limited, may_change, asked.note)
        limited.sort(key=lambda arm: [one.label for one in found.ranked].index(arm.label))
        if may_change is not None and want is not None:
            levels = levels_between(may_change.low, may_change.high, may_change.now, may_change.whole)
            play = partial(self._played, may_change, want)
            found = replace(found, answers=self._answers(limited, levels, may_change.now, want, play))
            if not any(one.found for one in found.answers.values()):
                found = replace(found, levers=self._levers(limited[0], want, may_change.name))
        if asked.sustain is not None:
            steered = [arm for arm in limited if "target" in arm.setting.scheduler]
            now, aim = max(1, found.best.count_on(asked.sustain)), Want(1, asked.sustain)
            play = partial(self._held, asked.sustain)
            held = self._answers(steered, range(fleet.clients, 0, -1), now, aim, play)
            found = replace(found, sustain=asked.sustain, sustained=held)
        if asked.sizes and want is not None:
            found = replace(found, sizes=self._sizes(limited[0], want, asked.prices))
        if asked.curves and limited:
            wanted = want or Want(found.best.target, 1.0)
            arm = next(one for one in limited if one.label == (found.answered_by or found.best.label))
            variables = variable(self.table, build.build_fleet, wanted, self.rounds)
            found = replace(found, curves=tuple(self._curve(arm, one, wanted) for one in variables))
        if asked.possible:
            self.on_step("what was possible")
            best = tuple(clairvoyant(fleet, self.rounds, seed) for seed in self.spec.seeds)
            found = replace(found, possible=best)
        return found

    def _check(self, asked: _Asked, limited: Sequence[Arm], fleet: Fleet) -> None:
        """Refuse, before the rounds, which take long, are played, what cannot be answered."""
        want, harvest = self.want, self.table["harvest"]
        if asked.sustain is not None and not any("target" in arm.setting.scheduler for arm in limited):
            allowed = "left out where no scheduler on harvested energy takes a target"
            raise InvalidValue("sustain", allowed, f"{100 * asked.sustain:g}")
        if (asked.free is not None or asked.sizes) and not limited:
            key, given = ("want", want) if asked.free is None else ("free", asked.free)
            raise InvalidValue(key, "left out where all schedulers are on mains power", given)
        if want is not None and want.clients > fleet.clients and asked.free != "clients":
            raise InvalidValue("want", f"for at most {fleet.clients:,} clients, unless clients are free", want)
        if asked.sizes and ("watts" not in harvest or (asked.prices and harvest["name"] == "trace")):
            allowed = "sun or wind, to size panels" if asked.prices else "one in watts, to size panels"  # a trace's are
            raise InvalidValue("fleet.harvest", allowed, harvest["name"])  # a factor, which has no price
        if asked.sizes and fleet.endless.any():
            raise InvalidValue("fleet.capacity", "finite where batteries are sized", math.inf)
        if asked.possible:
            check_size(fleet, self.rounds)

    def _as_it_is(self, fleet: Fleet, limited: Sequence[Arm], may_change: Free | None, note: str) -> Plan:
        """Return the plan of the fleet as it is, played under every arm and seed."""
        calendar = calendar_of(fleet)
        names = {arm.label: str(arm.setting.scheduler["name"]) for arm in self.spec.arms}
        return Plan(
            name=self.spec.name,
            fleet=fleet,
            harvest=str(self.table["harvest"]["name"]),
            rounds=self.rounds,
            seeds=self.spec.seeds,
            calendar=calendar,
            budget=budget_of(fleet, self.rounds, self.spec.seeds[0], calendar),
            outlooks=tuple(self._outlooks()),
            schedulers={label: "" if ":" in name else name for label, name in names.items()},
            sites=_sites(fleet),
            has_target=any(build.target_of(arm.setting) is not None for arm in limited),
            want=self.want,
            free=may_change,
            note=note,
        )

    def _sizes(self, arm: Arm, want: Want, prices: Prices | None) -> SizeMap:
        """Return batteries and panels together: a map, the line of the smallest batteries, and the cheapest design."""
        battery, panel = (self._free(name, want) for name in ("battery", "panel"))
        panels, batteries = (tuple(_times(one, factor) for factor in factors)
                             for one, factors in ((panel, PANELS), (battery, BATTERIES)))  # fmt: skip

        def battery_of(watts: float, now: float, years: Sequence[int], precision: float | None) -> Answer:
            there = replace(self, table=panel.varied(watts))
            own = there._free("battery", want)
            return there._smallest(replace(own, now=now, high=max(own.high, now)), want, arm, years, precision)

        def cells(watts: float, some: Sequence[float]) -> FloatArray:
            own, years = replace(battery, table=panel.varied(watts)), self.spec.seeds[:MAP_YEARS]
            shares = self._played(own, want, arm, [(value, year) for value in some for year in years])
            return np.asarray(shares.reshape(len(some), -1).mean(axis=1))

        line, now = [], battery.now
        for watts in panels:
            smallest = battery_of(watts, now, self.spec.seeds[:PILOT], None)
            now = smallest.value if smallest.found else now  # a larger panel needs no larger battery
            line.append(smallest.value if smallest.found else np.nan)
        sizes = SizeMap(arm.label, battery, panel, panels, batteries, map_shares(panels, batteries, cells),
                        np.array(line), min(PILOT, len(self.spec.seeds)), prices)  # fmt: skip
        if prices is not None:
            sizes = sizes.find_cheapest(lambda at: battery_of(panels[at], line[at], self.spec.seeds, self.precision))
        return sizes

    def _free(self, name: str, want: Want) -> Free:
        return free_of(self.table, build.build_fleet, name, want, self.rounds)

    def _smallest(self, free: Free, want: Want, arm: Arm, years: Sequence[int], precision: float | None) -> Answer:
        """Return the smallest value with which an arm does as wanted."""
        levels = levels_between(free.low, free.high, free.now, free.whole)
        return search(levels, partial(self._played, free, want, arm), wanted=want.share, share=want.years, seeds=years,
                      precision=precision, now=free.now)  # fmt: skip

    def _outlooks(self) -> list[Outlook]:
        """Return the outlook of each arm on the fleet as it is."""
        worlds = {arm.label: self._world(arm, self.table, None) for arm in self.spec.arms}
        self.on_step(", ".join(worlds))
        games = [
            Game(world, seed, partial(Outlook.of, label), label, world.rounds * world.fleet.clients <= _KEPT_LEVELS)
            for label, world in worlds.items()
            for seed in self.spec.seeds
        ]
        played, n_seeds = self.player.play(games), len(self.spec.seeds)
        return [Outlook.together(played[first : first + n_seeds]) for first in range(0, len(played), n_seeds)]

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

    def _answers(self, arms: Sequence[Arm], levels: Sequence[float], now: float, want: Want, play: PlayArm) -> Answers:
        """Return each arm's answer; with a precision, arms that need more than one before them are not searched."""
        found: dict[str, Answer] = {}
        direction = 1 if levels[0] <= levels[-1] else -1
        for arm in arms:
            reached = [direction * one.value for one in found.values() if one.found]
            beat = direction * min(reached) if reached and self.precision is not None else None
            found[arm.label] = search(levels, partial(play, arm), wanted=want.share, share=want.years, now=now,
                                      seeds=self.spec.seeds, precision=self.precision, beat=beat)  # fmt: skip
        return {arm.label: found[arm.label] for arm in self.spec.arms if arm.label in found}

    def _levers(self, arm: Arm, want: Want, tried: str) -> dict[str, str]:
        """Return the values of other properties that do in the first years, where no value of the one tried does."""
        found: dict[str, str] = {}
        for other in variable(self.table, build.build_fleet, want, self.rounds):
            if other.name == tried or (want.clients > self.table["clients"] and other.name != "clients"):
                continue
            answer = self._smallest(other, want, arm, self.spec.seeds[:PILOT], None)
            if answer.found:
                found[other.name] = other.shown(answer.value)
        return found

    def _held(self, share: float, arm: Arm, trials: Sequence[Trial]) -> FloatArray:
        """Return the share of rounds in which as many clients as tried take part if wanted, (n_trials,)."""
        games = {n: (self._world(arm, self.table, int(n)), Want(int(n), share)) for n, _ in trials}
        return self._shares(arm, games, trials, lambda n: f"{n:,} clients wanted")

    def _played(self, free: Free, want: Want, arm: Arm, trials: Sequence[Trial]) -> FloatArray:
        """Return the share of rounds as wanted, (n_trials,); NaN where a value cannot be played."""
        tables = {value: free.varied(value) for value, _ in trials}
        if all(table["clients"] < want.clients for table in tables.values()):
            return np.zeros(len(trials))
        try:
            games = {value: (self._world(arm, table, None), want) for value, table in tables.items()}
            return self._shares(arm, games, trials, lambda value: f"{free.name} {free.shown(value)}")
        except UserError as error:  # due to a value, since the fleet as given was played
            if len(tables) > 1:
                alone = [[trial for trial in trials if trial[0] == value] for value in tables]
                return np.concatenate([self._played(free, want, arm, same) for same in alone])
            self.on_step(f"{arm.label}, {free.name} {free.shown(trials[0][0])} cannot be played: {error}")
            return np.full(len(trials), np.nan)

    def _shares(self, arm: Arm, games: Wishes, trials: Sequence[Trial], shown: Callable[[float], str]) -> FloatArray:
        """Return the share of rounds as wanted in each trial, (n_trials,), and say it by value."""
        keeps = {value: partial(_share_of, want, calendar_of(world.fleet)) for value, (world, want) in games.items()}
        played = [Game(games[value][0], seed, keeps[value], arm.label) for value, seed in trials]
        shares = np.array(self.player.play(played))
        for value in games:
            same = shares[[value == one for one, _ in trials]]
            years = f"{same.size} year{'s' * (same.size > 1)}"
            self.on_step(f"{arm.label}, {shown(value)}: {100 * same.mean():.4g} % of rounds in {years}")
        return shares

    def _curve(self, arm: Arm, free: Free, want: Want) -> Curve:
        """Return the shares for a quarter to four times of a value."""
        fewest = want.clients if free.name == "clients" else 0.0  # fewer cannot do, whatever they harvest
        values = sorted({value for factor in _CURVE if (value := _times(free, factor)) >= fewest})
        tried = {value: self._played(free, want, arm, [(value, seed) for seed in self.spec.seeds]) for value in values}
        played = {value: shares for value, shares in tried.items() if np.isfinite(shares).all()}
        shown = tuple(map(free.shown, played))
        return Curve(free.name, arm.label, tuple(played), shown, free.now, np.stack(list(played.values())))


def _share_of(want: Want, calendar: Calendar | None, played: Participation) -> float:
    """Return the share of the rounds that count with as many clients as wanted."""
    return float((played.counts[want.rounds(calendar, played.rounds)] >= want.clients).mean())


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
