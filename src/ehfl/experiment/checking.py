"""What is looked at before a comparison starts: can it be learned, and does what is the user's own keep the rules.

Each distinct thing is looked at once, quickly; errors bear the key of the spec that it stands under.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ehfl import own_code
from ehfl.energy import check_harvest
from ehfl.experiment import building
from ehfl.experiment.execution import forget_task, loaded_task
from ehfl.experiment.fitting import check_aggregation_fits
from ehfl.experiment.spec import Run, Setting, Spec
from ehfl.machine import check_time
from ehfl.partition import check_partition
from ehfl.randomness import TILE
from ehfl.registry import is_own
from ehfl.scheduling import SchedulerError, check_scheduler
from ehfl.validation import BrokenRules, InvalidValue, SpecError, at, renamed

if TYPE_CHECKING:
    from ehfl.experiment.workers import Crew
    from ehfl.learning import Task

_ROUNDS = 20  # of a scheduler's trial
_CLIENTS = 1000  # at most, of an aggregation's


def check_comparison(spec: Spec) -> dict[str, str]:
    """Return the fingerprint of each arm's data, by label; refuse what cannot be learned or put into one table."""
    forget_task()  # its data may have changed since the last comparison
    building.forget_chances()
    checks, data, metrics = _Checks(spec.seeds), {}, []
    for arm in spec.arms:
        with renamed(arm.key_of):
            data[arm.label] = checks.learnable(arm.setting)
            checks.own_things(arm.setting)
            check_aggregation_fits(arm.setting)  # behind the rules, which one of the user's own may break
        metrics.append(loaded_task(arm.setting)[0].metric)
        if metrics[-1] != metrics[0]:
            name = arm.setting.learning.task["name"]
            allowed = f"judged by {metrics[0].name}, as the first arm's is"
            raise InvalidValue(arm.key_of("learning.task"), allowed, f"{name}, judged by {metrics[-1].name}")
    return data


def check_harvests(spec: Spec) -> None:
    """Refuse harvests of the user's own that break the rules: what is checked where nothing is trained."""
    checks = _Checks(spec.seeds)
    for arm in spec.arms:
        with renamed(arm.key_of):
            checks.harvest(arm.setting)


def check_schedulers(runs: Sequence[Run], crew: Crew | None = None) -> None:
    """Try the user's own schedulers of these runs; in workers, if there are any, since one might end its process.

    Of one that does nothing is said here: its runs will tell, and leave the others alone.
    """
    from ehfl.experiment.workers import call_all  # here, since ehfl simulate asks for harvests alone, without joblib

    own: dict[str, Run] = {}
    for run in runs:
        if is_own(run.setting.scheduler):
            own.setdefault(_key(run.setting.scheduler, run.setting.fleet), run)
    faults = call_all([partial(scheduler_fault, run) for run in own.values()], 1, crew)
    for run, fault in zip(own.values(), faults, strict=True):
        if fault:
            raise SpecError(run.arm.key_of("scheduler"), fault)


def scheduler_fault(run: Run) -> str:
    """Return what is wrong with the scheduler of a run, on its own fleet; nothing where all is right."""
    setting = run.setting
    with own_code.held(run.spec.code), renamed(run.arm.key_of):
        fleet = building.fleet_of(setting)
        rounds = min(setting.rounds, _ROUNDS if fleet.clients <= TILE else 2)
        try:
            check_scheduler(setting.scheduler, rounds=rounds, seed=run.seed, fleet=fleet)
        except SchedulerError as error:
            return _broken(setting.scheduler, [line.removeprefix("  - ") for line in error.fault.splitlines()[1:]])
    return ""


@dataclass(frozen=True, slots=True)
class _Checks:
    """Checks under these seeds, each made once."""

    seeds: Sequence[int]
    done: set[str] = field(default_factory=set)

    def learnable(self, setting: Setting) -> str:
        """Return the fingerprint of a setting's data; refuse a task that is not there, a goal beyond its metric."""
        from ehfl.learning.device import pick_device

        learning = setting.learning
        building.check_step_size(setting)
        rule = building.local_sgd_of(setting)
        check_time("learning.local_steps", rule.local_steps, rule.seconds(turns=setting.rounds))
        task, data = loaded_task(setting)
        building.plain_aggregation_of(setting)
        with at("learning"):
            pick_device(learning.device)
        dealt = _key(learning.task, learning.data, learning.partition, learning.order, setting.fleet.clients)
        self._once(dealt, partial(self._deal, setting, task))
        if setting.evaluation.goal != "auto":
            with at("evaluation"):
                task.metric.check_goal(setting.evaluation.goal)
        return data

    def own_things(self, setting: Setting) -> None:
        """Refuse things of the user's own that break the rules of their kind."""
        from ehfl.learning import check_task

        learning, clients, seed = setting.learning, setting.fleet.clients, self.seeds[0]
        task, data = loaded_task(setting)
        dealer, targets = building.partition_of(setting), task.training.targets.cpu().numpy()
        sizes = {"clients": clients, "seed": seed}
        checks: dict[str, tuple[Any, Callable[[], None]]] = {
            "learning.task": (learning.task, partial(check_task, task, seed=seed)),
            "learning.partition": (learning.partition, partial(check_partition, dealer, targets=targets, **sizes)),
            "learning.step_size": (learning.step_size, partial(_check_steps, setting)),
            "learning.aggregation": (learning.aggregation, partial(_check_aggregation, setting)),
        }
        self.harvest(setting)
        for key, (table, check) in checks.items():
            if is_own(table):
                self._once(_key(key, table, data, setting.rounds, clients), partial(_refuse_broken, key, table, check))

    def harvest(self, setting: Setting) -> None:
        """Refuse a harvest of the user's own that breaks the rules."""
        key, table = "fleet.harvest", building.harvest_table(setting)
        sizes = {"clients": setting.fleet.clients, "rounds": setting.rounds, "seed": self.seeds[0]}
        if is_own(table):
            check = partial(check_harvest, table, quick=True, **sizes)
            self._once(_key(key, table, sizes), partial(_refuse_broken, key, table, check))

    def _once(self, key: str, check: Callable[[], None]) -> None:
        if key not in self.done:
            check()
            self.done.add(key)

    def _deal(self, setting: Setting, task: Task) -> None:
        """Deal the data on trial; under every seed where some of them may fail."""
        sure = setting.learning.partition["name"] in ("iid", "shards")
        for seed in self.seeds[:1] if sure else self.seeds:
            building.parts_of(setting, task, seed)


def _check_aggregation(setting: Setting) -> None:
    from ehfl.learning import check_aggregation

    check_aggregation(building.plain_aggregation_of(setting), clients=min(setting.fleet.clients, _CLIENTS))


def _check_steps(setting: Setting) -> None:
    """Try a rule for step sizes, twice, on as many rounds as there will be, with all numbers of participants."""
    from ehfl.learning.local_sgd import checked_steps

    counts = np.arange(setting.rounds) % (setting.fleet.clients + 1)
    counts.flags.writeable = False
    with at("learning"), building.users_own("step_size", "one that gives a step size for each round"):
        rule = building.step_size_rule_of(setting)
        first, second = (checked_steps(rule(counts, setting.rounds), setting.rounds) for _ in range(2))
        if not np.array_equal(first, second):
            raise InvalidValue("step_size", "the same when it is asked again", "other step sizes")


def _refuse_broken(key: str, table: Any, check: Callable[[], None]) -> None:
    """Refuse, under its key, a thing that a check finds to break the rules."""
    try:
        check()
    except BrokenRules as error:
        raise SpecError(key, _broken(table, error.faults)) from error


def _broken(table: Any, faults: Sequence[str]) -> str:
    return f"names {table['name']}, which breaks the rules: {'; '.join(faults)}"


def _key(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True, default=str)
