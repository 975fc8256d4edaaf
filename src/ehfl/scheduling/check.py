"""check_scheduler(): whether a scheduler of your own keeps the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import Clients, Levels
from ehfl.energy import Bernoulli, Fleet
from ehfl.energy.expectation import Expectation
from ehfl.randomness import Purpose, check_seed, generator
from ehfl.scheduling.contract import (
    Scheduler,
    SchedulerError,
    admitted,
    admitted_steps,
    admitted_weights,
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
from ehfl.validation import of_kind, whole_number


def check_scheduler(
    scheduler: Scheduler | str | Mapping[str, Any],
    *,
    clients: int = 10,
    rounds: int = 50,
    seed: int = 0,
    fleet: Fleet | None = None,
) -> None:
    """Try a scheduler on many views and in whole simulations; raise SchedulerError that says plainly what is wrong.

    Checked: that it returns client numbers, each existing client at most once, spends no energy that is not there,
    leaves what it is shown unchanged, and does the same when shown the same again; that weights, if it brings any, are
    finite and > 0, one for each client, and steps whole numbers from 1 to K. Views are of fleets with so many clients
    and a few more, with costs of all kinds; or of a fleet that is given, alone. Silence means that it passed.

    >>> class Everyone:
    ...     def select(self, view):
    ...         return np.arange(view.energy.size)
    >>> check_scheduler(Everyone())
    Traceback (most recent call last):
    ehfl.scheduling.contract.SchedulerError: Everyone breaks the rules:
      - spends energy that is not there: round 0, client 0 was picked with 0 units and a round costs 1
    """
    made = SCHEDULERS.make(scheduler)
    # Made again where that can be, as every run of a comparison does.
    twin = made if made is scheduler else SCHEDULERS.make(scheduler)
    whole_number("clients", clients, low=1, high=100_000)
    whole_number("rounds", rounds, low=1, high=100_000)
    check_seed(seed)
    if fleet is None:
        views = _views(clients, rounds, seed)
        cost = 1 + np.arange(clients) % 2
        fleet = Fleet(clients, Bernoulli(rate=0.9), capacity=6, cost=cost, steps=2, step_cost=cost - 1)
    else:
        views = _views_of(of_kind("fleet", fleet, Fleet), rounds, seed)
    faults: dict[str, str] = {}  # rule -> the first case that breaks it
    for fault in _faults(made, twin, views, fleet, rounds, seed):
        faults.setdefault(fault.rule, fault.fault)
    if faults:
        lines = "".join(f"\n  - {line}" for line in faults.values())
        raise SchedulerError("several", f"breaks the rules:{lines}", type(made).__name__)


def _faults(
    scheduler: Scheduler, twin: Scheduler, views: Iterator[View], fleet: Fleet, rounds: int, seed: int
) -> Iterator[SchedulerError]:
    for view in views:
        try:
            first, again, other = (_picked(one, view) for one in (scheduler, scheduler, twin))
        except SchedulerError as error:
            yield error
            return
        if not np.array_equal(first, again):
            detail = f"round {view.round}, the same view gave {first.tolist()} and then {again.tolist()}"
            yield SchedulerError(
                "same view",
                f"is not reproducible: {detail} (chance comes from view.generator(), memory from view.turns, "
                "view.last_turn, view.recent and view.losses)",
            )
        elif not np.array_equal(first, other):
            yield SchedulerError("twin", "is another one whenever it is made from the same parameters")
        yield from _pick_faults(scheduler, first, view, fleet)
        yield from _said_faults(scheduler, view)
    yield from _simulation_faults(scheduler, fleet, rounds, seed)


def _picked(scheduler: Scheduler, view: View) -> NDArray[Any]:
    """Return what a scheduler picks from a copy of the view, which it must leave as it is."""
    shown = _shown(view)
    with blamed_on(scheduler, view.round):
        picked = np.asarray(scheduler.select(shown)).copy()  # it may return one array again and again
    if changed := _changed(view, shown):
        raise SchedulerError("input", f"changes its input: round {view.round}, {changed}")
    return picked


def _pick_faults(scheduler: Scheduler, picked: NDArray[Any], view: View, fleet: Fleet) -> Iterator[SchedulerError]:
    """Yield an error if these are no clients of the fleet, or for each that cannot pay."""
    try:
        clients = admitted(picked, view.energy.size, view.round)
        costs = _prices(scheduler, view, clients)
    except SchedulerError as error:
        yield error
        return
    if not is_mains_powered(scheduler):
        for client, cost in zip(clients.tolist(), costs.tolist(), strict=True):
            if view.energy[client] < cost:
                yield unpaid(fleet, client, int(view.energy[client]), cost, view.round)


def _prices(scheduler: Scheduler, view: View, clients: Clients) -> NDArray[Any]:
    """Return what turns of these clients cost, of as many steps as the scheduler says."""
    whole, step = (np.broadcast_to(one, view.energy.shape)[clients] for one in (view.cost, view.step_cost))
    if "steps" not in _said_by(scheduler, view) or view.local_steps is None:
        return whole
    prices: NDArray[Any] = whole - (view.local_steps - _said(scheduler, "steps", view, clients)) * step
    return prices


def _said_faults(scheduler: Scheduler, view: View) -> Iterator[SchedulerError]:
    """Yield an error if it brings weights or steps that are none, or others when asked again."""
    for what in _said_by(scheduler, view):
        for clients in (np.arange(view.energy.size, dtype=np.int32), np.array([view.energy.size - 1], np.int32)):
            try:
                first, again = (_said(scheduler, what, view, clients) for _ in range(2))
            except SchedulerError as error:
                yield error
                break
            if not np.array_equal(first, again):
                fault = f"round {view.round}, the same view gave other {what} when it was shown again"
                yield SchedulerError(f"same {what}", f"is not reproducible: {fault}")


def _said_by(scheduler: Scheduler, view: View) -> list[str]:
    """Return what a scheduler says of turns, beyond whose they are."""
    steps = brings_steps(scheduler) and view.local_steps is not None
    return ["weights"] * brings_weights(scheduler) + ["steps"] * steps


def _said(scheduler: Scheduler, what: str, view: View, clients: Clients) -> NDArray[Any]:
    """Return the weights or steps that a scheduler gives clients, from a copy of the view, which it must not change."""
    shown = _shown(view)
    with blamed_on(scheduler, view.round):
        said = getattr(scheduler, what)(shown, clients.copy())
        if what == "weights":
            found: NDArray[Any] = admitted_weights(said, clients.size, view.round)
        else:
            found = admitted_steps(said, clients.size, view.local_steps or 1, view.round)
    if changed := _changed(view, shown):
        raise SchedulerError("input", f"changes its input: round {view.round}, {changed}")
    return found


def _shown(view: View) -> View:
    copies: dict[str, Any] = {name: array.copy() for name, array in _arrays(view).items()}
    return view._replace(**copies)


def _arrays(view: View) -> dict[str, NDArray[Any]]:
    return {name: value for name, value in view._asdict().items() if isinstance(value, np.ndarray)}


def _changed(view: View, shown: View) -> str:
    """Return the first number that a scheduler has changed of what it was shown, in words."""
    for name, before in _arrays(view).items():
        after = _arrays(shown)[name]
        changed = np.flatnonzero(~np.isclose(before, after, rtol=0, atol=0, equal_nan=True))
        if changed.size:
            client = int(changed[0])
            return f"the {name} of client {client} was {before[client]} and is {after[client]}"
    return ""


def _views(n_clients: int, rounds: int, seed: int) -> Iterator[View]:
    """Yield views of fleets that are empty, nearly so, mixed and rich, some a little larger.

    Costs are from 1 to 3, in every third view those of each client; some clients have had turns and reported losses.
    """
    chance = generator(seed, Purpose.SCHEDULE, client=1)
    for t in range(rounds):
        size = n_clients + (7 if t % 5 == 4 else 0)
        cost = 1 + t % 3 if t % 7 < 4 else 1 + (np.arange(size) + t) % 3
        yield _view(
            t,
            energy=chance.integers(0, (1, 2, 4, 12)[t % 4], size).astype(np.int32),
            cost=cost,
            seed=seed,
            target=max(1, size // 2),
            rates=np.full(size, 0.5),
            local_steps=3 if t % 2 else None,
            step_cost=(cost - 1) // 2,
        )


def _views_of(fleet: Fleet, rounds: int, seed: int) -> Iterator[View]:
    """Yield views of one fleet, its batteries empty, nearly so, mixed and rich."""
    chance = generator(seed, Purpose.SCHEDULE, client=1)
    for t in range(rounds):
        most = (0, 1, 3, 11)[t % 4] * int(fleet.costs.max())
        yield _view(
            t,
            energy=np.minimum(chance.integers(0, most + 1, fleet.clients), fleet.ceilings).astype(np.int32),
            cost=fleet.costs if fleet.costs.size > 1 else int(fleet.costs[0]),
            seed=seed,
            target=fleet.sustainable,
            capacity=fleet.capacity,
            rates=fleet.rates,
            expectation=Expectation(fleet),
            **facts_of_steps(fleet),
        )


def _view(t: int, energy: Levels, **facts: Any) -> View:
    """Return a view in which every second client has had a turn, and every second view has losses."""
    size = energy.size
    losses = np.where(np.arange(size) % 3 == 0, np.nan, np.arange(size) % 4 + 0.5)
    past = Past(size, asked=True)
    past.note(max(0, t - 3), np.arange(0, size, 2))
    return View(round=t, energy=energy, losses=losses if t % 2 else None, past=past, **facts)


def _simulation_faults(scheduler: Scheduler, fleet: Fleet, rounds: int, seed: int) -> Iterator[SchedulerError]:
    try:
        first, second = (simulate(fleet, scheduler, rounds, seed) for _ in range(2))
    except SchedulerError as error:
        yield error
        return
    if not np.array_equal(first.counts, second.counts) or not np.array_equal(first.indices, second.indices):
        detail = "the same simulation, run again, had other participants"
        yield SchedulerError(
            "same run", f"is not reproducible: {detail} (does the scheduler keep state from run to run?)"
        )
