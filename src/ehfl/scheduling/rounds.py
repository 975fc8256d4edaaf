"""The round loop: view, select, pay, harvest. Every simulation of a fleet uses it.

A round has two halves. `Decider` is the server's half: it gives the scheduler a view and records past rounds.
`energy.Ledger` is the devices' half: participants pay and all clients harvest. `Play` combines them; a server with real
devices uses only the first half.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import Clients, FloatArray, IntArray, Levels, real_numbers
from ehfl.energy import Fleet, Ledger
from ehfl.energy.feed import Expectation
from ehfl.machine import check_memory
from ehfl.randomness import MAX_ROUNDS, TILE, check_seed
from ehfl.scheduling.contract import (
    Brought,
    Scheduler,
    admitted,
    admitted_turns,
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
from ehfl.validation import InvalidValue, UserError, whole_number

_BYTES_A_CLIENT = 6  # its level, its harvest in a round, and whether it is selected


@dataclass(frozen=True, slots=True)
class Round:
    """One round after selection and payment; training comes next."""

    index: int
    clients: Clients  # N_t, sorted
    spent: int  # total payments, from batteries or the mains
    energy_after: Levels  # E_i(t+1), (n_clients,), read-only; copy it to keep it beyond the round
    weights: FloatArray | None = None  # of each turn, (n_t,), if the scheduler sets them
    steps: IntArray | None = None  # local steps of each turn, (n_t,), if not all are K


class Decider:
    """The server's half of a round: the selection of participants from the levels that devices report."""

    def __init__(self, fleet: Fleet, scheduler: Scheduler | str, seed: int = 0, target: int | None = None) -> None:
        scheduler = SCHEDULERS.make(scheduler)
        self.target = check_target(fleet, target)
        self.mains_powered = is_mains_powered(scheduler)
        self._wants_losses = wants_losses(scheduler)
        self._fleet, self._scheduler, self._seed = fleet, scheduler, check_seed(seed)
        self._cost = fleet.costs if fleet.costs.size > 1 else int(fleet.costs[0])
        self.brings_weights = brings_weights(scheduler)
        # Without a cost per step all turns have K steps, so `steps` of the scheduler is ignored.
        self.brings_steps = brings_steps(scheduler) and fleet.step_costs is not None
        self._steps = facts_of_steps(fleet)
        self.past, self._expectation = Past(fleet.clients), Expectation(fleet)
        self._losses: FloatArray | None = None
        self._view: View | None = None  # of the last round

    def decide(self, t: int, energy: Levels) -> Clients:
        """Return the participants of round t, sorted."""
        if energy.shape != (self._fleet.clients,):
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
            past=self.past,
            expectation=self._expectation,
            round_length=self._fleet.round_length,
            **self._steps,
        )
        self._view = view
        with blamed_on(self._scheduler, t):
            return admitted(self._scheduler.select(view), self._fleet.clients, t)

    def weights(self, clients: Clients) -> FloatArray | None:
        """Return the weights of these clients in the last decided round; None if all are equal.

        Call it before participants pay, because the levels in the view may be settled in place.
        """
        return self._brought("weights", clients) if self.brings_weights else None

    def steps(self, clients: Clients) -> IntArray | None:
        """Return the numbers of local steps of these clients in the last decided round, None for all K.

        Call it before participants pay, as for weights.
        """
        return self._brought("steps", clients) if self.brings_steps else None

    def _brought(self, what: Brought, clients: Clients) -> NDArray[Any]:
        if not clients.size:
            return np.empty(0, np.int32 if what == "steps" else np.float64)
        view = self._view
        assert view is not None, "a round is decided first"
        with blamed_on(self._scheduler, view.round):
            given = getattr(self._scheduler, what)(view, clients)
            return admitted_turns(what, given, clients.size, view.round, view.local_steps or 1)

    def note(self, t: int, clients: Clients, losses: ArrayLike | None = None) -> None:
        """Record the participants of round t and, if given, their losses, one each."""
        self.past.note(t, clients)
        self.note_losses(clients, losses)

    def note_losses(self, clients: Clients, losses: ArrayLike | None) -> None:
        """Record the losses of the last round's participants, if they are known."""
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
        """Raise the error for a selected client that could not pay for all or `steps` local steps."""
        cost = self._fleet.cost_of(client, steps)
        with blamed_on(self._scheduler, t):
            raise unpaid(self._fleet, client, held, cost, t)


class Play:
    """An iterator over the rounds of a fleet with a scheduler, each selected and paid.

    Use a plain `for` with a scheduler that depends only on energy. In lockstep with training, `step` takes the losses
    of the previous round's participants:

    >>> from ehfl import Bernoulli, PowerOfChoice
    >>> play = Play(Fleet(clients=3, harvest=Bernoulli(1.0)), PowerOfChoice(target=1, candidates=3), rounds=5)
    >>> played = play.step()
    >>> for _ in range(4):
    ...     played = play.step(losses=[7.0 if client == 1 else 2.0 for client in played.clients])
    >>> played.clients.tolist()  # each has had a turn by then, and client 1's loss was the largest
    [1]
    """

    def __init__(
        self,
        fleet: Fleet,
        scheduler: Scheduler | str,
        rounds: int,
        seed: int = 0,
        *,
        target: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
        seed = check_seed(seed)
        check_memory("clients", fleet.clients, _BYTES_A_CLIENT * fleet.clients)
        self._decider = Decider(fleet, scheduler, seed, target)
        # Fail now if the harvest ends before the last round.
        fleet.harvest.units(seed, range(self.rounds - 1, self.rounds), range(1))
        self.ledger = Ledger(fleet, self.rounds, seed)
        self.limit = thread_limit(fleet.clients, threads)  # of what is done with large fleets
        self._last: Round | None = None

    @property
    def past(self) -> Past:
        """The participants of all rounds that were played."""
        return self._decider.past

    @property
    def over(self) -> bool:
        """Whether all rounds have been played."""
        return self._last is not None and self._last.index == self.rounds - 1

    def __iter__(self) -> Iterator[Round]:
        return self

    def __next__(self) -> Round:
        if self.over:
            raise StopIteration
        return self.step()

    def step(self, losses: ArrayLike | None = None) -> Round:
        """Play a round; `losses` are those of the previous round's participants, if reported."""
        if self.over:
            raise UserError(f"all {self.rounds} rounds have been played")
        decider, ledger, t = self._decider, self.ledger, 0
        if self._last is not None:
            decider.note_losses(self._last.clients, losses)
            t = self._last.index + 1
        with self.limit:
            clients = decider.decide(t, ledger.energy)
            # Before any payment, because the levels in the view are settled in place.
            weights, steps = decider.weights(clients), decider.steps(clients)
            settled = ledger.settle(t, clients, mains_powered=decider.mains_powered, steps=steps)
            if settled.unable >= 0:
                own = None if steps is None else int(steps[clients == settled.unable][0])
                decider.blame(t, settled.unable, settled.held, own)
            decider.note(t, clients)
        self._last = Round(t, clients, ledger.paid, ledger.energy, weights, steps)
        return self._last


def facts_of_steps(fleet: Fleet) -> dict[str, Any]:
    """Return the view's fields about local steps."""
    known = fleet.step_costs
    if known is None:
        return {}
    return {"local_steps": known.steps, "step_cost": known.step if known.step.size > 1 else int(known.step[0])}


def check_target(fleet: Fleet, target: int | None) -> int:
    """Return the target of clients per round: as given, or the number that the harvest sustains."""
    return fleet.sustainable if target is None else whole_number("target", target, low=1, high=fleet.clients)


def thread_limit(n_clients: int, threads: int | None) -> AbstractContextManager[None]:
    """Return a context that limits the threads for large fleets; small ones run in this thread, without numba."""
    if threads is not None:
        whole_number("threads", threads, low=1, high=os.cpu_count())  # of which numba may have been given fewer
    if n_clients <= TILE:
        return nullcontext()
    from ehfl.compiled import ThreadLimit

    return ThreadLimit(threads)
