"""From a spec to the things it names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ehfl.energy import Bernoulli, Fleet
from ehfl.partition import InLabelOrder, Partitioner, make_partitioner
from ehfl.scheduling import Policy, make_policy
from ehfl.theory import Constants, StepSize, make_step_size
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from ehfl.experiment.spec import ArmSpec, Spec


def fleet_of(spec: Spec) -> Fleet:
    """Return the fleet."""
    told = spec.fleet
    rate = told.rate
    if isinstance(rate, dict):
        rate = np.linspace(rate["low"], rate["high"], told.clients)
    return Fleet(told.clients, Bernoulli(rate), capacity=told.capacity, initial=told.initial, cost=told.cost)


def target_of(spec: Spec) -> int:
    """Return how many clients are wanted a round."""
    return spec.target if isinstance(spec.target, int) else fleet_of(spec).sustainable


def policy_of(spec: Spec, arm: ArmSpec) -> Policy:
    """Return an arm's scheduler."""
    return make_policy(arm.policy, spec.target if isinstance(spec.target, int) else "auto")


def steps_of(spec: Spec, arm: ArmSpec) -> StepSize:
    """Return an arm's rule for step sizes."""
    options = dict(arm.step_size or spec.learning.step_size)
    return make_step_size(options.pop("rule"), **options)


def partitioner_of(spec: Spec) -> Partitioner:
    """Return how the data are dealt out."""
    dealer = make_partitioner(spec.learning.partition)
    return InLabelOrder(dealer) if spec.learning.order == "by-label" else dealer


def constants_of(spec: Spec) -> Constants | None:
    """Return the problem's constants, if the spec knows them."""
    told = spec.theory
    return None if told is None else Constants(told.smoothness, told.variance, told.gap)


def check_buildable(spec: Spec, *, with_policies: bool = True) -> None:
    """Refuse what each value alone does not show: rates that do not fit the clients, schedulers that do not exist.

    Without policies, nothing that the spec names is imported.
    """
    clients = spec.fleet.clients
    _named("fleet", partial(fleet_of, spec))
    _named("theory", partial(constants_of, spec))
    if spec.fleet.capacity < spec.fleet.cost:
        given = f"{spec.fleet.capacity:g} with a cost of {spec.fleet.cost}"
        raise ValueError(f"fleet.capacity must be at least fleet.cost, or nobody could ever pay, got {given}")
    if isinstance(spec.target, int) and spec.target > clients:
        raise ValueError(f"target must be auto or in [1, {clients}] (the clients), got {spec.target}")
    for arm in spec.schedulers:
        width = arm.policy.partition(":")[2]
        if width.isdecimal() and not 1 <= int(width) <= clients:
            raise ValueError(f"schedulers must have widths in [1, {clients}] (the clients), got {arm.policy}")
        if with_policies:
            _named("", partial(policy_of, spec, arm))


def _named(section: str, build: Callable[[], object]) -> None:
    """Build, and name the spec's key if it is refused."""
    try:
        build()
    except InvalidValue as error:
        name = {"scheduler": "schedulers"}.get(error.name, error.name)
        key = f"{section}.{name}" if section else name
        raise ValueError(f"{key} must be {error.allowed}, got {error.given}") from error
