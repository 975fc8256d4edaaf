"""check_scheduler(): tests that a user's scheduler follows the interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import Clients
from ehfl.energy import Bernoulli, Fleet
from ehfl.energy.feed import Expectation
from ehfl.randomness import Purpose, check_seed, generator
from ehfl.scheduling.contract import (
    Brought,
    Scheduler,
    SchedulerError,
    admitted,
    admitted_turns,
    blamed_on,
    brings_steps,
    brings_weights,
    is_mains_powered,
    unpaid,
)
from ehfl.scheduling.past import Past
from ehfl.scheduling.rounds import facts_of_steps
from ehfl.scheduling.schedulers import SCHEDULERS
from ehfl.scheduling.simulation import simulate
from ehfl.scheduling.view import View
from ehfl.validation import BrokenRules, whole_number


def check_scheduler(
    scheduler: Scheduler | str | Mapping[str, Any],
    *,
    clients: int = 10,
    rounds: int = 50,
    seed: int = 0,
    fleet: Fleet | None = None,
) -> None:
    """Test a scheduler on many views and in full simulations; raise BrokenRules with a list of the faults.

    The check passes silently if the scheduler returns existing clients, each at most once and only if it can pay, does
    not change its input, and returns the same for the same view; and if its weights, if any, are finite and > 0, one
    per client, and its steps integers from 1 to K. Views are of fleets with `clients` clients and a few more, with
    various costs; or only of the given fleet.

    >>> class Everyone:
    ...     def select(self, view):
    ...         return np.arange(view.energy.size)
    >>> check_scheduler(Everyone())
    Traceback (most recent call last):
    ehfl.validation.BrokenRules: Everyone breaks the rules:
      - spends energy that is not there: round 0, client 0 was picked with 0 units and a round costs 1
    """
    made = SCHEDULERS.make(scheduler)
    # Construct a second instance if possible, as every run of a comparison does.
    twin = made if made is scheduler else SCHEDULERS.make(scheduler)
    whole_number("clients", clients, low=1, high=100_000)
    whole_number("rounds", rounds, low=1, high=100_000)
    check_seed(seed)
    fleets = _fleets(clients) if fleet is None else [fleet]
    views = _views(fleets, rounds, seed)
    faults: dict[str, str] = {}  # rule -> the first case that breaks it
    try:
        for fault in _faults(made, twin, views, fleets[0], rounds, seed):
            faults.setdefault(fault.rule, fault.fault)
    except SchedulerError as error:  # it failed or changed its input, so later results are meaningless
        faults.setdefault(error.rule, error.fault)
    if faults:
        raise BrokenRules(type(made).__name__, list(faults.values()))


def _faults(
    scheduler: Scheduler, twin: Scheduler, views: Iterator[View], fleet: Fleet, rounds: int, seed: int
) -> Iterator[SchedulerError]:
    for view in views:
        first, again, other = (_asked(one, "select", view) for one in (scheduler, scheduler, twin))
        if not np.array_equal(first, again):
            detail = f"round {view.round}, the same view gave {first.tolist()} and then {again.tolist()}"
            yield SchedulerError(
                "same view",
                f"is not reproducible: {detail} (chance comes from view.generator(), memory from view.turns, "
                "view.last_turn, view.recent and view.losses)",
            )
        elif not np.array_equal(first, other):
            yield SchedulerError("twin", "selects differently when it is constructed again from the same parameters")
        try:
            yield from _unpaid_picks(scheduler, admitted(first, view.energy.size, view.round), view, fleet)
        except SchedulerError as error:
            yield error
        yield from _faults_of_turns(scheduler, view)
    one, two = (simulate(fleet, scheduler, rounds, seed) for _ in range(2))
    if not np.array_equal(one.counts, two.counts) or not np.array_equal(one.indices, two.indices):
        detail = "the same simulation, run again, had other participants"
        yield SchedulerError("same run", f"is not reproducible: {detail} (does the scheduler keep state between runs?)")


def _asked(scheduler: Scheduler, method: str, view: View, *clients: Clients) -> NDArray[Any]:
    """Return a scheduler's result for a copy of the view; raise an error if it changes the copy."""
    copies: dict[str, Any] = {name: array.copy() for name, array in _arrays(view).items()}
    shown = view._replace(**copies)
    with blamed_on(scheduler, view.round):
        said = np.asarray(getattr(scheduler, method)(shown, *clients)).copy()  # it may return one array every time
    for name, before in _arrays(view).items():
        changed = np.flatnonzero(~np.isclose(before, copies[name], rtol=0, atol=0, equal_nan=True))
        if changed.size:
            client = int(changed[0])
            what = f"the {name} of client {client} was {before[client]} and is {copies[name][client]}"
            raise SchedulerError("input", f"changes its input: round {view.round}, {what}")
    return said


def _arrays(view: View) -> dict[str, NDArray[Any]]:
    return {name: value for name, value in view._asdict().items() if isinstance(value, np.ndarray)}


def _unpaid_picks(scheduler: Scheduler, clients: Clients, view: View, fleet: Fleet) -> Iterator[SchedulerError]:
    """Yield an error for each selected client that cannot pay for the scheduler's number of steps."""
    if is_mains_powered(scheduler):
        return
    costs, step = (np.broadcast_to(one, view.energy.shape)[clients] for one in (view.cost, view.step_cost))
    if brings_steps(scheduler) and view.local_steps is not None:
        costs = costs - (view.local_steps - _turns_of(scheduler, "steps", view, clients)) * step
    for client, cost in zip(clients.tolist(), costs.tolist(), strict=True):
        if view.energy[client] < cost:
            yield unpaid(fleet, client, int(view.energy[client]), cost, view.round)


def _faults_of_turns(scheduler: Scheduler, view: View) -> Iterator[SchedulerError]:
    """Yield an error if its weights or steps break the rules or differ in a second call."""
    brought: dict[Brought, bool] = {
        "weights": brings_weights(scheduler),
        "steps": brings_steps(scheduler) and view.local_steps is not None,
    }
    for what in (one for one, there in brought.items() if there):
        for clients in (np.arange(view.energy.size, dtype=np.int32), np.array([view.energy.size - 1], np.int32)):
            try:
                first, again = (_turns_of(scheduler, what, view, clients) for _ in range(2))
            except SchedulerError as error:
                yield error
                break
            if not np.array_equal(first, again):
                fault = f"round {view.round}, the same view gave other {what} when it was shown again"
                yield SchedulerError(f"same {what}", f"is not reproducible: {fault}")


def _turns_of(scheduler: Scheduler, what: Brought, view: View, clients: Clients) -> NDArray[Any]:
    """Return a scheduler's weights or steps for clients; raise SchedulerError if they break the rules."""
    said = _asked(scheduler, what, view, clients.copy())
    with blamed_on(scheduler, view.round):
        found: NDArray[Any] = admitted_turns(what, said, clients.size, view.round, view.local_steps or 1)
    return found


def _fleets(n_clients: int) -> list[Fleet]:
    """Return fleets with one cost for all or one per client, with and without a cost per step, one a little larger."""
    each = 1 + np.arange(n_clients) % 3
    return [
        Fleet(n_clients, Bernoulli(rate=0.9), capacity=6, cost=each, steps=2, step_cost=each - 1),
        Fleet(n_clients, Bernoulli(rate=0.5)),
        Fleet(n_clients, Bernoulli(rate=0.5), cost=4, steps=3, step_cost=1),
        Fleet(n_clients + 7, Bernoulli(rate=0.5), capacity=12, cost=3),
    ]


def _views(fleets: Sequence[Fleet], rounds: int, seed: int) -> Iterator[View]:
    """Yield views of the fleets in turn, their batteries empty, nearly so, mixed and rich.

    Every second client has had a turn, and every second view has losses.
    """
    chance = generator(seed, Purpose.SCHEDULE, client=1)
    expectations = [Expectation(fleet) for fleet in fleets]
    for t in range(rounds):
        place = (t + 1) % len(fleets)  # the plainest first
        fleet, size = fleets[place], fleets[place].clients
        most = (0, 1, 3, 11)[(t // len(fleets)) % 4] * int(fleet.costs.max())
        losses = np.where(np.arange(size) % 3 == 0, np.nan, np.arange(size) % 4 + 0.5)
        past = Past(size)
        past.note(max(0, t - 3), np.arange(0, size, 2, dtype=np.int32))
        yield View(
            round=t,
            energy=np.minimum(chance.integers(0, most + 1, size), fleet.ceilings).astype(np.int32),
            cost=fleet.costs if fleet.costs.size > 1 else int(fleet.costs[0]),
            seed=seed,
            target=fleet.sustainable,
            capacity=fleet.capacity,  # type: ignore[arg-type]  # a number or an array, see Fleet
            rates=fleet.rates,
            losses=losses if t % 2 else None,
            past=past,
            expectation=expectations[place],
            round_length=fleet.round_length,
            **facts_of_steps(fleet),
        )
