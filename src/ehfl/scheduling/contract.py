"""The interface of a scheduler, and the errors for one that breaks the rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import Clients, IntArray
from ehfl.energy import Fleet
from ehfl.randomness import TILE, frozen
from ehfl.scheduling.view import View
from ehfl.validation import FAILURES, UserError, blame

Brought = Literal["weights", "steps"]  # what a scheduler may bring for each turn


class Scheduler(Protocol):
    """Selects the participants of a round from a view. Only the method `select` is required.

    Optional class attributes: `mains_powered = True`, participants pay nothing from batteries; `wants_losses = True`,
    it uses `view.losses`, so it runs in lockstep with learning. Optional methods: `weights(view, clients)` returns the
    weight of each client's update in this round, a number > 0, for the aggregation `scheduled`; `steps(view, clients)`
    returns each client's number of local steps, an integer in [1, view.local_steps], for a fleet with a cost per step,
    and a participant pays only for these steps.
    """

    def select(self, view: View) -> IntArray:
        """Return the participants, each once and each with energy >= cost, in any order."""
        ...


def is_mains_powered(scheduler: Scheduler) -> bool:
    """Return whether participants draw from the mains instead of their batteries."""
    return bool(getattr(scheduler, "mains_powered", False))


def wants_losses(scheduler: Scheduler) -> bool:
    """Return whether the scheduler uses losses, so that it must run in lockstep with learning."""
    return bool(getattr(scheduler, "wants_losses", False))


def brings_weights(scheduler: Scheduler) -> bool:
    """Return whether the scheduler sets the weight of each turn."""
    return callable(getattr(scheduler, "weights", None))


def brings_steps(scheduler: Scheduler) -> bool:
    """Return whether the scheduler sets the number of local steps of each turn."""
    return callable(getattr(scheduler, "steps", None))


class SchedulerError(UserError):
    """A scheduler failed or broke a rule: `rule` is its key, for grouping, and `fault` the description."""

    def __init__(self, rule: str, fault: str, scheduler: str = "") -> None:
        super().__init__(f"{scheduler} {fault}".strip())
        self.rule = rule
        self.fault = fault


@contextmanager
def blamed_on(scheduler: Scheduler, t: int) -> Iterator[None]:
    """Add the scheduler's name to its errors in round t: broken rules, and exceptions with their place."""
    name = type(scheduler).__name__
    try:
        yield
    except SchedulerError as error:
        raise SchedulerError(error.rule, error.fault, name) from error
    except FAILURES as error:  # user code may raise anything, SystemExit included
        if isinstance(error, UserError) and type(scheduler).__module__.startswith("ehfl."):
            raise  # a wrong value for one of ehfl's schedulers
        raise SchedulerError("fails", f"fails: round {t}, {blame(scheduler, error)}", name) from error


def admitted(picked: IntArray, n_clients: int, t: int) -> Clients:
    """Return the selected clients, sorted, or raise SchedulerError if they are not distinct clients of the fleet."""
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


def admitted_turns(what: Brought, given: object, n_clients: int, t: int, most: int = 1) -> NDArray[Any]:
    """Return weights of `n_clients`, numbers > 0, or steps, integers in [1, most]; else raise SchedulerError."""
    found, is_steps = np.asarray(given), what == "steps"
    if found.shape != (n_clients,) or found.dtype.kind not in ("iu" if is_steps else "iuf"):
        wanted = "a number of steps" if is_steps else "a weight"
        shape = f"{found.dtype} of shape {found.shape} for {n_clients}"
        raise SchedulerError(what, f"must return {wanted} for each client: round {t}, got {shape}")
    wrong = found[~((found >= 1) & (found <= most) if is_steps else np.isfinite(found) & (found > 0))]
    if wrong.size:
        allowed = f"in [1, {most}]" if is_steps else "that are finite and > 0"
        raise SchedulerError(what, f"must return {what} {allowed}: round {t}, got {wrong[0]}")
    return found.astype(np.int32 if is_steps else np.float64)


def unpaid(fleet: Fleet, client: int, level: int, cost: int, t: int) -> SchedulerError:
    """Return the error for a client that was selected but cannot pay."""
    has, price = fleet.amount(level), fleet.amount(cost, named=False)
    detail = f"round {t}, client {client} was picked with {has} and a round costs {price}"
    return SchedulerError("energy", f"spends energy that is not there: {detail}")


def _ascend(clients: IntArray) -> bool:
    # The kernel takes int32, into which larger numbers would wrap.
    if clients.size <= TILE or clients.dtype != np.int32:
        return bool((clients[1:] > clients[:-1]).all())
    from ehfl.scheduling import kernels

    return bool(kernels.ascend(frozen(clients)))
