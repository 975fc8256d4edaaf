"""Checks before a comparison starts, each distinct thing once; errors name the key of the spec.

Can it be learned? Do user classes keep their contract? Does the aggregation fit its fleet, scheduler and machine?
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ehfl import user_code
from ehfl.energy import check_harvest
from ehfl.experiment.spec import build
from ehfl.experiment.spec.models import Run, Setting, Spec
from ehfl.partition import check_partition, with_users
from ehfl.quantities import as_bytes
from ehfl.randomness import TILE
from ehfl.registry import Table, is_user_class
from ehfl.scheduling import brings_weights, check_scheduler, check_target, wants_losses
from ehfl.validation import BrokenRules, InvalidValue, SpecError, at, renamed

if TYPE_CHECKING:
    from ehfl.experiment.run.workers import Crew
    from ehfl.learning import Aggregation

_ROUNDS = 20  # of a scheduler's trial
_CLIENTS = 1000  # at most, of an aggregation's


def check_comparison(spec: Spec) -> dict[str, str]:
    """Return the fingerprint of each arm's data by label; refuse what cannot be learned or compared."""
    from ehfl.learning.memory import check_room

    build.forget()
    checks, data, metrics = _Checks(spec.seeds), {}, []
    for arm in spec.arms:
        with renamed(arm.key_of):
            data[arm.label] = checks.learnable(arm.setting)
            checks.contracts(arm.setting)
            needed = memory_needed(arm.setting)  # after the contract, which a user class may break
            with at("learning"):
                check_room(build.plain_aggregation_of(arm.setting), needed, folder=Path())
        metrics.append(build.load_task(arm.setting)[0].metric)
        if metrics[-1] != metrics[0]:
            name = arm.setting.learning.task["name"]
            allowed = f"judged by {metrics[0].name}, as the first arm's is"
            raise InvalidValue(arm.key_of("learning.task"), allowed, f"{name}, judged by {metrics[-1].name}")
    return data


def check_harvests(spec: Spec) -> None:
    """Refuse user harvests that break their contract; the only check where nothing is trained."""
    checks = _Checks(spec.seeds)
    for arm in spec.arms:
        with renamed(arm.key_of):
            checks.harvest(arm.setting)


def check_schedulers(runs: Sequence[Run], crew: Crew | None = None) -> None:
    """Try the user schedulers of these runs, in workers if there are any, since one might kill its process.

    A scheduler that kills its worker is not reported here: its runs will fail, and only they.
    """
    from ehfl.experiment.run.workers import call_all  # which loads joblib; `ehfl simulate` does not need it

    own: dict[str, Run] = {}
    for run in runs:
        if is_user_class(run.setting.scheduler):
            own.setdefault(_key(run.setting.scheduler, run.setting.fleet), run)
    call_all([partial(_try_scheduler, run) for run in own.values()], 1, crew)


def _try_scheduler(run: Run) -> None:
    """Refuse a scheduler that breaks the rules on its run's fleet."""
    setting = run.setting
    with user_code.held(run.spec.code), renamed(run.arm.key_of):
        fleet = build.fleet_of(setting)
        rounds = min(setting.rounds, _ROUNDS if fleet.clients <= TILE else 2)
        with _broken_at("scheduler", setting.scheduler):
            check_scheduler(setting.scheduler, rounds=rounds, seed=run.seed, fleet=fleet)


@dataclass(frozen=True, slots=True)
class _Checks:
    """Checks under these seeds, each made once."""

    seeds: Sequence[int]
    done: set[str] = field(default_factory=set)

    def learnable(self, setting: Setting) -> str:
        """Return the fingerprint of a setting's data; refuse a setting that cannot be learned."""
        from ehfl.learning.engine.device import check_precision, pick_device

        learning = setting.learning
        if wants_losses(build.scheduler_of(setting)):  # so participants are decided only while learning goes on
            build.check_causal_steps(setting, f"{setting.scheduler['name']} chooses by losses")
        rule = build.local_sgd_of(setting)
        task, data = build.load_task(setting)
        build.plain_aggregation_of(setting)
        with at("learning"):
            check_precision(rule.precision, pick_device(learning.device))
        dealt = _key(learning.task, learning.data, learning.partition, learning.order, setting.fleet.clients)
        # A partition that cannot fail for some seeds alone is tried under one.
        sure = learning.partition["name"] in ("iid", "shards")
        for seed in self.seeds[:1] if sure else self.seeds:
            self._once(f"{dealt} {seed}", partial(build.parts_of, setting, task, seed))
        if setting.evaluation.goal != "auto":
            with at("evaluation"):
                task.metric.check_goal(setting.evaluation.goal)
        return data

    def contracts(self, setting: Setting) -> None:
        """Refuse user classes that break the rules of their kind."""
        from ehfl.learning import check_aggregation, check_task

        learning, clients, seed = setting.learning, setting.fleet.clients, self.seeds[0]
        task, data = build.load_task(setting)
        dealer = with_users(build.partition_of(setting), task.training.users)
        targets = task.training.targets.cpu().numpy()
        sizes, few = {"clients": clients, "seed": seed}, min(clients, _CLIENTS)
        made = build.plain_aggregation_of(setting)
        checks: dict[str, tuple[Any, Callable[[], None]]] = {
            "learning.task": (learning.task, partial(check_task, task, seed=seed)),
            "learning.partition": (learning.partition, partial(check_partition, dealer, targets=targets, **sizes)),
            "learning.step_size": (learning.step_size, partial(_check_steps, setting)),
            "learning.aggregation": (learning.aggregation, partial(check_aggregation, made, clients=few)),
        }
        self.harvest(setting)
        for key, (table, check) in checks.items():
            self._contract(key, table, (data, setting.rounds, clients), check)

    def harvest(self, setting: Setting) -> None:
        """Refuse a user harvest that breaks the rules."""
        table = build.harvest_table(setting)
        sizes = {"clients": setting.fleet.clients, "rounds": setting.rounds, "seed": self.seeds[0]}
        self._contract("fleet.harvest", table, sizes, partial(check_harvest, table, quick=True, **sizes))

    def _contract(self, key: str, table: Table, facts: Any, check: Callable[[], None]) -> None:
        """Make the check of a user class, once for the same facts; report broken rules under its key."""
        if is_user_class(table):
            with _broken_at(key, table):
                self._once(_key(key, table, facts), check)

    def _once(self, key: str, check: Callable[[], object]) -> None:
        if key not in self.done:
            check()
            self.done.add(key)


def _check_steps(setting: Setting) -> None:
    """Call a step size rule twice on all rounds, with all possible numbers of participants."""
    from ehfl.learning.engine.local_sgd import checked_steps

    counts = np.arange(setting.rounds) % (setting.fleet.clients + 1)
    counts.flags.writeable = False
    with at("learning"), build.calling_user_code("step_size", "give a step size for each round"):
        rule = build.step_size_rule_of(setting)
        first, second = (checked_steps(rule(counts, setting.rounds), setting.rounds) for _ in range(2))
        if not np.array_equal(first, second):
            raise InvalidValue("step_size", "the same when it is asked again", "other step sizes")


@contextmanager
def _broken_at(key: str, table: Table) -> Iterator[None]:
    """Report broken rules of a user class under its key."""
    try:
        yield
    except BrokenRules as error:
        fault = f"names {table['name']}, which breaks the rules: {'; '.join(error.faults)}"
        raise SpecError(key, fault) from error


def _key(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True, default=str)


def memory_needed(setting: Setting) -> int:
    """Return the most that a setting's aggregation stores of clients [bytes]."""
    from ehfl.learning.first_model import first_model
    from ehfl.learning.memory import size_of

    aggregation, clients = _aggregation_that_fits(setting), setting.fleet.clients
    if aggregation is None:
        return 0
    with at("learning.aggregation"), build.calling_user_code("", "be started"):
        # Most store nothing: then the model's weights need not be counted.
        if not size_of(aggregation.init(clients, 1)):
            return 0
        model = first_model(build.load_task(setting)[0], seed=0)
        trained = sum(weights.numel() for weights in model.parameters() if weights.requires_grad)
        return size_of(aggregation.init(clients, trained))


def _aggregation_that_fits(setting: Setting) -> Aggregation | None:
    """Return the aggregation, refused if it does not fit the scheduler; None if only a run can tell.

    Chances under a user scheduler are not computed here, since it might kill this process.
    """
    from ehfl.learning.aggregation.contract import wants_weights
    from ehfl.learning.aggregation.weights import no_weights

    if is_user_class(setting.scheduler) and build.wants_chances(setting):
        return None
    aggregation = build.aggregation_of(setting)
    if wants_weights(aggregation) and not brings_weights(build.scheduler_of(setting)):
        with at("learning"):
            raise no_weights(aggregation, setting.scheduler["name"])
    return aggregation


def notes_on(spec: Spec) -> Iterator[str]:
    """Yield lines about the memory that aggregations need, and about the precision of chances that they use."""
    from ehfl.learning.memory import is_filed, most_on_disk
    from ehfl.learning.training import CHECKPOINT_EVERY

    lines: dict[str, None] = {}  # an ordered set
    for setting in (arm.setting for arm in spec.arms):
        needed, clients = memory_needed(setting), setting.fleet.clients
        if not needed:
            continue
        where = "in memory, and twice in its checkpoints"
        if is_filed(needed):
            wanted = check_target(build.fleet_of(setting), build.target_of(setting))
            turns = wanted * min(setting.checkpoint_every or CHECKPOINT_EVERY, setting.rounds)  # between checkpoints
            where = f"in files of its folder, about {as_bytes(most_on_disk(needed, clients, turns))} while it runs"
        what = f"{setting.learning.aggregation['name']} remembers a model of each of {clients:,} clients"
        lines[f"{what}: up to {as_bytes(needed)} a run, {where}"] = None
    yield from lines
    for arm in spec.arms:
        if not build.wants_chances(arm.setting) or is_user_class(
            arm.setting.scheduler
        ):  # whose runs find out themselves
            continue
        found = build.chances_of(arm.setting)
        error = f"{100 * found.relative_error:.1f} %"
        how = "exact" if found.exact else f"estimated from {found.seeds:,} seeds (error up to {error})"
        yield f"{arm.label}: chances of taking part are {how}"
