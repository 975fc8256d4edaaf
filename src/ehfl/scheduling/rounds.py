"""The round loop: see, pick, pay, harvest. Everything that runs a fleet runs it through here."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ehfl.energy import Fleet, battery
from ehfl.energy.battery import Levels
from ehfl.energy.weather import Weather
from ehfl.randomness import MAX_ROUNDS, TILE, check_seed
from ehfl.scheduling.policy import Policy, admitted, blamed_on, is_mains_powered, unpaid
from ehfl.scheduling.view import View
from ehfl.validation import InvalidValue, whole_number


@dataclass(frozen=True, slots=True)
class Round:
    """One round as it was decided and paid for; learning comes next."""

    index: int
    clients: NDArray[np.int32]  # N_t, sorted
    energy_after: Levels  # E_i(t+1), (n_clients,) [units], read-only; copy it to keep it beyond the round


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is left when the loop has ended."""

    final_energy: Levels  # E_i(T), (n_clients,) [units]
    harvested: int
    spent: int
    wasted: int
    mains: int  # drawn from the mains instead of a battery


def play(
    fleet: Fleet, policy: Policy, rounds: int, seed: int = 0, *, threads: int | None = None
) -> Generator[Round, object, Outcome]:
    """Yield each round once the policy has picked; what is sent back becomes the next view's `feedback`.

    A policy that looks at energy alone is played with a plain `for`. In lockstep with a learner:

    >>> from ehfl import Bernoulli, Greedy
    >>> game = play(Fleet(clients=3, harvest=Bernoulli(1.0)), Greedy(), rounds=2)
    >>> first = next(game)
    >>> second = game.send({"loss": 2.3})
    >>> first.clients.tolist(), second.clients.tolist()
    ([], [0, 1, 2])
    """
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    seed = check_seed(seed)
    weather = Weather(fleet.harvest, fleet.clients, rounds, seed)
    fleet.harvest.units(seed, range(rounds - 1, rounds), range(1))  # a process that ends sooner says so now
    if isinstance(policy, type) or not callable(getattr(policy, "select", None)):
        raise InvalidValue("policy", "a policy such as Myopic(target=5)", repr(policy))
    cost = 0 if is_mains_powered(policy) else fleet.cost
    sustainable = fleet.sustainable
    energy = fleet.start()
    seen = energy.view()
    seen.flags.writeable = False
    limit = thread_limit(fleet.clients, threads)
    harvested = wasted = participations = 0
    feedback: object = None
    for t in range(rounds):
        with limit:
            view = View(t, seen, fleet.cost, seed, sustainable, feedback)
            with blamed_on(policy, t):
                clients = admitted(policy.select(view), fleet.clients, t)
            units = weather.units(t)
            settled = battery.settle(energy, clients, cost, units, fleet.capacity)
        if (broke := settled.unable) >= 0:
            with blamed_on(policy, t):
                raise unpaid(broke, settled.held, cost, t)
        harvested += settled.harvested
        wasted += settled.wasted
        participations += clients.size
        feedback = yield Round(t, clients, seen)
    mains = participations * (fleet.cost - cost)
    return Outcome(energy, harvested, participations * cost, wasted, mains)


def thread_limit(n_clients: int, threads: int | None) -> AbstractContextManager[None]:
    """Return what bounds the threads of large fleets; a small one is played in this thread, without numba."""
    if threads is not None:
        whole_number("threads", threads, low=1)
    if n_clients <= TILE:
        return nullcontext()
    from ehfl.compiled import ThreadLimit

    return ThreadLimit(threads)
