"""The round loop: see, pick, pay, harvest. Everything that runs a fleet runs it through here.

A round has two halves. `Decider` is the server's: it shows the scheduler what it may see and remembers past rounds.
`energy.Ledger` is the devices': participants pay and everyone harvests. `play` puts them together; a server with real
devices uses the first half alone and leaves the second to them.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import Clients, FloatArray, IntArray, Levels, real_numbers
from ehfl.energy import Fleet, Ledger
from ehfl.energy.expectation import Expectation
from ehfl.machine import check_memory, check_time
from ehfl.randomness import MAX_ROUNDS, TILE, check_seed
from ehfl.scheduling.contract import (
    Scheduler,
    admitted,
    admitted_steps,
    admitted_weights,
    blamed_on,
    brings_steps,
    brings_weights,
    is_mains_powered,
    unpaid,
    wants_losses,
)
from ehfl.scheduling.past import Past, read_only
from ehfl.scheduling.schedulers import SCHEDULERS
from ehfl.scheduling.view import View
from ehfl.validation import InvalidValue, of_kind, whole_number

_BYTES_A_CLIENT = 6  # its level, what it harvests in a round, whether it is picked
# Less than any machine has been seen to take (docs/speed.md), so that only what is hopeless is refused.
_SECONDS_A_ROUND, _SECONDS_A_CLIENT = 1e-6, 1e-11


@dataclass(frozen=True, slots=True)
class Round:
    """One round as it was decided and paid for; learning comes next."""

    index: int
    clients: Clients  # N_t, sorted
    spent: int  # what taking part cost them together, from batteries or the mains
    energy_after: Levels  # E_i(t+1), (n_clients,), read-only; copy it to keep it beyond the round
    weights: FloatArray | None = None  # how much each turn counts, (n_t,), where the scheduler says so
    steps: IntArray | None = None  # how many local steps each turn has, (n_t,), where not all have K


class Decider:
    """The server's half of a round: who takes part, given the levels that it was told."""

    def __init__(self, fleet: Fleet, scheduler: Scheduler | str, seed: int = 0, target: int | None = None) -> None:
        scheduler = SCHEDULERS.make(scheduler)
        self.target = check_target(fleet, target)
        self.mains_powered = is_mains_powered(scheduler)
        self._wants_losses = wants_losses(scheduler)
        self._fleet, self._scheduler, self._seed = fleet, scheduler, check_seed(seed)
        self._cost = fleet.costs if fleet.costs.size > 1 else int(fleet.costs[0])
        self.brings_weights = brings_weights(scheduler)
        # Where nobody says what a step costs, turns are whole, whatever the scheduler would choose.
        self.brings_steps = brings_steps(scheduler) and fleet.step_costs is not None
        self._steps = facts_of_steps(fleet)
        self._past, self._expectation = Past(fleet.clients), Expectation(fleet)
        self._losses: FloatArray | None = None
        self._view: View | None = None  # of the last round

    def decide(self, t: int, energy: Levels) -> Clients:
        """Return the participants of round t, sorted."""
        if of_kind("energy", energy, np.ndarray).shape != (self._fleet.clients,):
            raise InvalidValue("energy", f"one level per client ({self._fleet.clients})", f"an array of {energy.shape}")
        view = View(
            round=t,
            energy=energy,
            cost=self._cost,
            seed=self._seed,
            target=self.target,
            capacity=self._fleet.capacity,  # type: ignore[arg-type]  # a number or an array, see Fleet
            rates=self._fleet.rates,
            losses=None if self._losses is None else read_only(self._losses),
            past=self._past,
            expectation=self._expectation,
            **self._steps,
        )
        self._view = view
        with blamed_on(self._scheduler, t):
            return admitted(self._scheduler.select(view), self._fleet.clients, t)

    def weights(self, clients: Clients) -> FloatArray | None:
        """Return how much turns of these clients count in the round that was last decided, None if nobody says so.

        It is asked before anybody pays: the view is of levels that may be settled in place.
        """
        if not self.brings_weights:
            return None
        if not clients.size:
            return np.empty(0)
        assert self._view is not None, "a round is decided first"
        t, scheduler = self._view.round, self._scheduler
        with blamed_on(scheduler, t):
            return admitted_weights(scheduler.weights(self._view, clients), clients.size, t)  # type: ignore[attr-defined]

    def steps(self, clients: Clients) -> IntArray | None:
        """Return how many local steps turns of these clients have in the round that was last decided, None for all K.

        It is asked before anybody pays, as are weights.
        """
        if not self.brings_steps:
            return None
        if not clients.size:
            return np.empty(0, np.int32)
        assert self._view is not None and self._view.local_steps is not None, "a round is decided first"
        t, scheduler, most = self._view.round, self._scheduler, self._view.local_steps
        with blamed_on(scheduler, t):
            return admitted_steps(scheduler.steps(self._view, clients), clients.size, most, t)  # type: ignore[attr-defined]

    def note(self, t: int, clients: Clients, losses: ArrayLike | None = None) -> None:
        """Take down who took part in round t, and the losses that they reported, one each, if they did."""
        self._past.note(t, of_kind("clients", clients, np.ndarray))
        if losses is None or not self._wants_losses:
            return
        allowed = f"one a participant ({clients.size})"
        reported = real_numbers("losses", losses, allowed)
        if reported.shape != clients.shape:
            raise InvalidValue("losses", allowed, f"an array of {reported.shape}")
        if self._losses is None:
            self._losses = np.full(self._fleet.clients, np.nan)
        self._losses[clients] = reported

    def blame(self, t: int, client: int, held: int, steps: int | None = None) -> None:
        """Raise the error for a pick that could not be paid for: a whole turn, or one of so many local steps."""
        cost = self._fleet.cost_of(client, steps)
        with blamed_on(self._scheduler, t):
            raise unpaid(self._fleet, client, held, cost, t)


def play(
    fleet: Fleet,
    scheduler: Scheduler | str,
    rounds: int,
    seed: int = 0,
    *,
    target: int | None = None,
    threads: int | None = None,
) -> Generator[Round, ArrayLike | None, Ledger]:
    """Yield each round once it was decided and paid for; what is sent back are the participants' losses.

    A scheduler that looks at energy alone is played with a plain `for`. In lockstep with a learner:

    >>> from ehfl import Bernoulli, PowerOfChoice
    >>> game = play(Fleet(clients=3, harvest=Bernoulli(1.0)), PowerOfChoice(target=1, candidates=3), rounds=5)
    >>> played = [next(game)]
    >>> for _ in range(4):
    ...     played.append(game.send([7.0 if client == 1 else 2.0 for client in played[-1].clients]))
    >>> played[4].clients.tolist()  # each has had a turn by then, and client 1's loss was the largest
    [1]
    """
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    seed, fleet = check_seed(seed), of_kind("fleet", fleet, Fleet)
    check_memory("clients", fleet.clients, _BYTES_A_CLIENT * fleet.clients)
    check_time("rounds", rounds, rounds * (_SECONDS_A_ROUND + _SECONDS_A_CLIENT * fleet.clients))
    decider = Decider(fleet, scheduler, seed, target)
    fleet.harvest.units(seed, range(rounds - 1, rounds), range(1))  # a harvest that ends sooner says so now
    ledger = Ledger(fleet, rounds, seed)
    limit = thread_limit(fleet.clients, threads)
    for t in range(rounds):
        with limit:
            clients = decider.decide(t, ledger.energy)
            weights, steps = decider.weights(clients), decider.steps(clients)
            settled = ledger.settle(t, clients, mains_powered=decider.mains_powered, steps=steps)
        if settled.unable >= 0:
            own = None if steps is None else int(steps[clients == settled.unable][0])
            decider.blame(t, settled.unable, settled.held, own)
        losses = yield Round(t, clients, ledger.paid, ledger.energy, weights, steps)
        decider.note(t, clients, losses)
    return ledger


def facts_of_steps(fleet: Fleet) -> dict[str, Any]:
    """Return what a view says of local steps."""
    known = fleet.step_costs
    if known is None:
        return {}
    return {"local_steps": known.steps, "step_cost": known.step if known.step.size > 1 else int(known.step[0])}


def check_target(fleet: Fleet, target: int | None) -> int:
    """Return how many clients are wanted a round: what the harvest sustains, unless another number is given."""
    fleet = of_kind("fleet", fleet, Fleet)
    return fleet.sustainable if target is None else whole_number("target", target, low=1, high=fleet.clients)


def thread_limit(n_clients: int, threads: int | None) -> AbstractContextManager[None]:
    """Return what bounds the threads of large fleets; a small one is played in this thread, without numba."""
    if threads is not None:
        whole_number("threads", threads, low=1, high=os.cpu_count())  # of which numba may have been given fewer
    if n_clients <= TILE:
        return nullcontext()
    from ehfl.compiled import ThreadLimit

    return ThreadLimit(threads)
