"""What a scheduler must offer, and what it is told when it breaks the rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from ehfl.arrays import Clients, FloatArray, IntArray
from ehfl.energy import Fleet
from ehfl.randomness import TILE, frozen
from ehfl.scheduling.view import View
from ehfl.validation import FAILURES, UserError, blame


class Scheduler(Protocol):
    """Picks the participants of a round from what it sees. One method is all it takes.

    Two facts may be declared as class attributes. `mains_powered = True`: participants pay nothing from batteries.
    `wants_losses = True`: it chooses by `view.losses`, so it is driven in lockstep with learning. And it may bring
    weights, by a second method: `weights(view, clients)` returns how much the updates of these clients count in the
    round of the view, a number > 0 for each, where the aggregation goes by them (`scheduled`). Likewise it may say how
    many local steps turns have, where the fleet says what a step costs: `steps(view, clients)` returns a whole number
    in [1, view.local_steps] for each, and a participant pays for so many.
    """

    def select(self, view: View) -> IntArray:
        """Return the clients that take part, each once and each with energy >= cost, in any order."""
        ...


def is_mains_powered(scheduler: Scheduler) -> bool:
    """Return whether participants draw from the mains instead of their batteries."""
    return bool(getattr(scheduler, "mains_powered", False))


def wants_losses(scheduler: Scheduler) -> bool:
    """Return whether the scheduler must be driven in lockstep with learning, because it chooses by losses."""
    return bool(getattr(scheduler, "wants_losses", False))


def brings_weights(scheduler: Scheduler) -> bool:
    """Return whether the scheduler says how much each turn counts."""
    return callable(getattr(scheduler, "weights", None))


def brings_steps(scheduler: Scheduler) -> bool:
    """Return whether the scheduler says how many local steps each turn has."""
    return callable(getattr(scheduler, "steps", None))


class SchedulerError(UserError):
    """A scheduler failed or broke a rule: `rule` says which one, for grouping, and `fault` how."""

    def __init__(self, rule: str, fault: str, scheduler: str = "") -> None:
        super().__init__(f"{scheduler} {fault}".strip())
        self.rule = rule
        self.fault = fault


@contextmanager
def blamed_on(scheduler: Scheduler, t: int) -> Iterator[None]:
    """Name the scheduler in errors that come from it in round t: a broken rule, or a failure of its own, and where."""
    name = type(scheduler).__name__
    try:
        yield
    except SchedulerError as error:
        raise SchedulerError(error.rule, error.fault, name) from error
    except FAILURES as error:  # whatever a user's code raises, an exit included
        if isinstance(error, UserError) and type(scheduler).__module__.startswith("ehfl."):
            raise  # one of ours was given a wrong value
        raise SchedulerError("fails", f"fails: round {t}, {blame(scheduler, error)}", name) from error


def admitted(picked: IntArray, n_clients: int, t: int) -> Clients:
    """Return the picked clients, sorted, or raise SchedulerError if they are not distinct clients of the fleet."""
    clients = np.asarray(picked)
    if clients.ndim != 1 or (clients.size and clients.dtype.kind not in "iu"):
        given = f"{clients.dtype} of shape {clients.shape}"
        raise SchedulerError("type", f"must return a list of client numbers: round {t}, got {given}")
    if not _ascend(clients):
        clients = np.sort(clients)
        repeated = clients[1:][clients[1:] == clients[:-1]]
        if repeated.size:
            raise SchedulerError("twice", f"picks a client twice: round {t}, client {repeated[0]}")
    if clients.size and (clients[0] < 0 or clients[-1] >= n_clients):
        stranger = clients[0] if clients[0] < 0 else clients[-1]
        detail = f"round {t}, client {stranger} was picked and clients are 0 to {n_clients - 1}"
        raise SchedulerError("stranger", f"picks a client that does not exist: {detail}")
    return clients.astype(np.int32, copy=False)


def admitted_weights(given: object, n_clients: int, t: int) -> FloatArray:
    """Return the weights of so many clients, or raise SchedulerError if they are not a number > 0 for each."""
    weights = np.asarray(given)
    if weights.shape != (n_clients,) or weights.dtype.kind not in "iuf":
        found = f"{weights.dtype} of shape {weights.shape} for {n_clients}"
        raise SchedulerError("weights", f"must return a weight for each client: round {t}, got {found}")
    wrong = weights[~(np.isfinite(weights) & (weights > 0))]
    if wrong.size:
        raise SchedulerError("weights", f"must return weights that are finite and > 0: round {t}, got {wrong[0]}")
    return weights.astype(np.float64)


def admitted_steps(given: object, n_clients: int, most: int, t: int) -> IntArray:
    """Return the steps of so many clients, or raise SchedulerError if they are not a whole number in [1, most] each."""
    steps = np.asarray(given)
    if steps.shape != (n_clients,) or steps.dtype.kind not in "iu":
        found = f"{steps.dtype} of shape {steps.shape} for {n_clients}"
        raise SchedulerError("steps", f"must return a number of steps for each client: round {t}, got {found}")
    wrong = steps[(steps < 1) | (steps > most)]
    if wrong.size:
        raise SchedulerError("steps", f"must return steps in [1, {most}]: round {t}, got {wrong[0]}")
    return steps.astype(np.int32)


def unpaid(fleet: Fleet, client: int, level: int, cost: int, t: int) -> SchedulerError:
    """Return the error for a client that was picked but cannot pay."""
    has, price = fleet.amount(level), fleet.amount(cost, named=False)
    detail = f"round {t}, client {client} was picked with {has} and a round costs {price}"
    return SchedulerError("energy", f"spends energy that is not there: {detail}")


def _ascend(clients: IntArray) -> bool:
    if clients.size <= TILE or clients.dtype != np.int32:  # the kernel's numbers; larger ones would become others
        return bool((clients[1:] > clients[:-1]).all())
    from ehfl.scheduling import kernels

    return bool(kernels.ascend(frozen(clients)))
