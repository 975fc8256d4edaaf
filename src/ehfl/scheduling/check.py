"""check_policy(): whether a policy of your own keeps the rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ehfl.energy import Bernoulli, Fleet
from ehfl.randomness import Purpose, check_seed, generator
from ehfl.scheduling.policy import Policy, PolicyError, admitted, blamed_on, is_mains_powered, unpaid
from ehfl.scheduling.simulation import simulate
from ehfl.scheduling.view import View
from ehfl.validation import whole_number


def check_policy(policy: Policy, *, clients: int = 10, rounds: int = 50, seed: int = 0) -> None:
    """Try a policy on many views and in whole simulations; raise PolicyError that says in plain words what is wrong.

    Checked: that it returns client numbers, each existing client at most once, spends no energy that is not there,
    leaves what it is shown unchanged, and does the same when shown the same again. Silence means that it passed.

    >>> class Everyone:
    ...     def select(self, view):
    ...         return np.arange(view.energy.size)
    >>> check_policy(Everyone())
    Traceback (most recent call last):
    ehfl.scheduling.policy.PolicyError: Everyone breaks the rules:
      - spends energy that is not there: round 0, client 0 was picked with 0 units and a round costs 1
    """
    whole_number("clients", clients, low=1)
    whole_number("rounds", rounds, low=1)
    check_seed(seed)
    faults: dict[str, str] = {}  # rule -> the first case that breaks it
    for fault in _faults(policy, clients, rounds, seed):
        faults.setdefault(fault.rule, fault.fault)
    if faults:
        lines = "".join(f"\n  - {line}" for line in faults.values())
        raise PolicyError("several", f"breaks the rules:{lines}", type(policy).__name__)


def _faults(policy: Policy, n_clients: int, rounds: int, seed: int) -> Iterator[PolicyError]:
    for view in _views(n_clients, rounds, seed):
        shown = view.energy.copy()
        picks = []
        for _ in range(2):
            try:
                with blamed_on(policy, view.round):
                    picks.append(np.array(policy.select(replace(view, energy=shown))))
            except PolicyError as error:
                yield error
                return
            if not np.array_equal(shown, view.energy):
                client = int(np.flatnonzero(shown != view.energy)[0])
                given, left = view.energy[client], shown[client]
                detail = f"round {view.round}, the energy of client {client} was {given} and is {left}"
                yield PolicyError("input", f"changes its input: {detail}")
                return
        if not np.array_equal(picks[0], picks[1]):
            detail = f"round {view.round}, the same view gave {picks[0].tolist()} and then {picks[1].tolist()}"
            yield PolicyError(
                "same view",
                f"is not reproducible: {detail} (chance comes from view.generator(), memory from view.feedback)",
            )
        try:
            clients = admitted(picks[0], view.energy.size, view.round)
        except PolicyError as error:
            yield error
            continue
        held = view.energy[clients]
        cost = 0 if is_mains_powered(policy) else view.cost
        for client, level in zip(clients[held < cost], held[held < cost], strict=True):
            yield unpaid(int(client), int(level), cost, view.round)
    yield from _simulation_faults(policy, n_clients, rounds, seed)


def _views(n_clients: int, rounds: int, seed: int) -> Iterator[View]:
    """Yield views of fleets that are empty, nearly so, mixed and rich, with costs from 1 to 3, some a little larger."""
    chance = generator(seed, Purpose.SCHEDULE, client=1)
    for t in range(rounds):
        size = n_clients + (7 if t % 5 == 4 else 0)
        energy = chance.integers(0, (1, 2, 4, 12)[t % 4], size).astype(np.int32)
        yield View(t, energy, cost=1 + t % 3, seed=seed, sustainable=max(1, size // 2))


def _simulation_faults(policy: Policy, n_clients: int, rounds: int, seed: int) -> Iterator[PolicyError]:
    fleet = Fleet(clients=n_clients, harvest=Bernoulli(rate=0.9), capacity=6, cost=2)
    try:
        first, second = (simulate(fleet, policy, rounds, seed) for _ in range(2))
    except PolicyError as error:
        yield error
        return
    if not np.array_equal(first.counts, second.counts) or not np.array_equal(first.indices, second.indices):
        detail = "the same simulation, run again, had other participants"
        yield PolicyError("same run", f"is not reproducible: {detail} (does the policy keep state from run to run?)")
