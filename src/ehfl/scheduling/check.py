"""check_scheduler(): whether a scheduler of your own keeps the rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ehfl.energy import Bernoulli, Fleet
from ehfl.randomness import Purpose, check_seed, generator
from ehfl.scheduling.contract import Scheduler, SchedulerError, admitted, blamed_on, is_mains_powered, unpaid
from ehfl.scheduling.past import Past
from ehfl.scheduling.schedulers import SCHEDULERS
from ehfl.scheduling.simulation import simulate
from ehfl.scheduling.view import View
from ehfl.validation import whole_number


def check_scheduler(scheduler: Scheduler, *, clients: int = 10, rounds: int = 50, seed: int = 0) -> None:
    """Try a scheduler on many views and in whole simulations; raise SchedulerError that says plainly what is wrong.

    Checked: that it returns client numbers, each existing client at most once, spends no energy that is not there,
    leaves what it is shown unchanged, and does the same when shown the same again. Silence means that it passed.

    >>> class Everyone:
    ...     def select(self, view):
    ...         return np.arange(view.energy.size)
    >>> check_scheduler(Everyone())
    Traceback (most recent call last):
    ehfl.scheduling.contract.SchedulerError: Everyone breaks the rules:
      - spends energy that is not there: round 0, client 0 was picked with 0 units and a round costs 1
    """
    scheduler = SCHEDULERS.make(scheduler)
    whole_number("clients", clients, low=1, high=100_000)
    whole_number("rounds", rounds, low=1, high=100_000)
    check_seed(seed)
    faults: dict[str, str] = {}  # rule -> the first case that breaks it
    for fault in _faults(scheduler, clients, rounds, seed):
        faults.setdefault(fault.rule, fault.fault)
    if faults:
        lines = "".join(f"\n  - {line}" for line in faults.values())
        raise SchedulerError("several", f"breaks the rules:{lines}", type(scheduler).__name__)


def _faults(scheduler: Scheduler, n_clients: int, rounds: int, seed: int) -> Iterator[SchedulerError]:
    for view in _views(n_clients, rounds, seed):
        shown = view.energy.copy()
        picks = []
        for _ in range(2):
            try:
                with blamed_on(scheduler, view.round):
                    picks.append(np.array(scheduler.select(view._replace(energy=shown))))
            except SchedulerError as error:
                yield error
                return
            if not np.array_equal(shown, view.energy):
                client = int(np.flatnonzero(shown != view.energy)[0])
                given, left = view.energy[client], shown[client]
                detail = f"round {view.round}, the energy of client {client} was {given} and is {left}"
                yield SchedulerError("input", f"changes its input: {detail}")
                return
        if not np.array_equal(picks[0], picks[1]):
            detail = f"round {view.round}, the same view gave {picks[0].tolist()} and then {picks[1].tolist()}"
            yield SchedulerError(
                "same view",
                f"is not reproducible: {detail} (chance comes from view.generator(), memory from view.turns, "
                "view.last_turn and view.losses)",
            )
        try:
            clients = admitted(picks[0], view.energy.size, view.round)
        except SchedulerError as error:
            yield error
            continue
        if not is_mains_powered(scheduler):
            costs = np.broadcast_to(view.cost, view.energy.shape)
            for client in clients[view.energy[clients] < costs[clients]].tolist():
                yield unpaid(client, int(view.energy[client]), int(costs[client]), "units", view.round)
    yield from _simulation_faults(scheduler, n_clients, rounds, seed)


def _views(n_clients: int, rounds: int, seed: int) -> Iterator[View]:
    """Yield views of fleets that are empty, nearly so, mixed and rich, some a little larger.

    Costs are from 1 to 3, in every third view those of each client; some clients have had turns and reported losses.
    """
    chance = generator(seed, Purpose.SCHEDULE, client=1)
    for t in range(rounds):
        size = n_clients + (7 if t % 5 == 4 else 0)
        energy = chance.integers(0, (1, 2, 4, 12)[t % 4], size).astype(np.int32)
        cost = 1 + t % 3
        losses = np.where(np.arange(size) % 3 == 0, np.nan, np.arange(size) % 4 + 0.5)
        past = Past(size, asked=True)
        past.note(max(0, t - 3), np.arange(0, size, 2))
        yield View(
            round=t,
            energy=energy,
            cost=cost if t % 7 < 4 else 1 + (np.arange(size) + t) % 3,
            seed=seed,
            target=max(1, size // 2),
            rates=np.full(size, 0.5),
            losses=losses if t % 2 else None,
            past=past,
        )


def _simulation_faults(scheduler: Scheduler, n_clients: int, rounds: int, seed: int) -> Iterator[SchedulerError]:
    cost = 1 + np.arange(n_clients) % 2
    fleet = Fleet(clients=n_clients, harvest=Bernoulli(rate=0.9), capacity=6, cost=cost)
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
