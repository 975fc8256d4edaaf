"""How likely each client is to take part, and how much its update weighs in a plain mean, before anything is played."""

from __future__ import annotations

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy import Bernoulli, Fleet
from ehfl.machine import check_memory
from ehfl.randomness import MAX_ROUNDS, TILE, Purpose, check_seed, generator
from ehfl.scheduling.contract import Scheduler, is_mains_powered
from ehfl.scheduling.mean_weights import chi_square_of
from ehfl.scheduling.realised_chances import Chances, estimated
from ehfl.scheduling.rounds import check_target
from ehfl.scheduling.schedulers import SCHEDULERS, AlwaysOn, Greedy
from ehfl.scheduling.simulation import simulate
from ehfl.validation import of_kind, whole_number

_MOST_NODES = 512  # of the quadrature; enough for rounding to be all the error there is, up to a tile of clients
_MOST_SEEDS = 10**6
_BYTES_A_TURN = 24  # that a client has in a seed: how often it took part, how much it weighed, what is left of the mean


def chances(
    fleet: Fleet,
    scheduler: Scheduler | str,
    rounds: int,
    *,
    seed: int = 0,
    seeds: int = 20,
    target: int | None = None,
) -> Chances:
    """Return how likely each client is to take part in a round, and what its update weighs in a plain mean.

    Exact where `exact_chances` knows them. Otherwise both are estimated from so many simulated `seeds`; they are drawn
    from a stream that belongs to `seed`, so that the weather is none that a run with a seed of its own meets. A
    scheduler that chooses by losses is played as `simulate` plays it: without any.

    >>> import numpy as np
    >>> found = chances(Fleet(clients=10, harvest=Bernoulli(np.linspace(0.1, 0.9, 10))), "greedy", rounds=100)
    >>> found.weights[[0, -1]].round(3).tolist(), round(found.chi_square, 3), found.exact
    ([0.018, 0.192], 0.305, True)
    """
    fleet, scheduler = of_kind("fleet", fleet, Fleet), SCHEDULERS.make(scheduler)
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    seeds, target = whole_number("seeds", seeds, low=2, high=_MOST_SEEDS), check_target(fleet, target)
    drawn = generator(check_seed(seed), Purpose.CHANCES).integers(0, 2**64, seeds, dtype=np.uint64).tolist()
    known = exact_chances(fleet, scheduler, rounds, target=target)
    if known is not None:
        return known
    check_memory("clients", fleet.clients, _BYTES_A_TURN * seeds * fleet.clients)
    played = (simulate(fleet, scheduler, rounds, one, target=target) for one in drawn)
    return estimated(played, _first_round(fleet, scheduler))


def exact_chances(fleet: Fleet, scheduler: Scheduler, rounds: int, *, target: int | None = None) -> Chances | None:
    """Return the chances where they can be computed: where who takes part does not depend on the rounds before.

    Under Greedy on Bernoulli with a cost of one unit, nothing at the start and no losses in storage, up to 4,096
    clients, client i takes part with probability lambda_i, independently, and as 1/n = integral of s^(n-1) over [0, 1]

        P(S not empty) q_i = integral over [0, 1] of lambda_i prod_{j != i} (1 - lambda_j + lambda_j s) ds.

    AlwaysOn draws n of all clients, so that p_i = n/N and q_i = 1/N.

    >>> exact_chances(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(3), rounds=9).turns.tolist()
    [0.75, 0.75, 0.75, 0.75]
    """
    n, first = fleet.clients, _first_round(fleet, scheduler)
    if type(scheduler) is AlwaysOn and (width := _width(scheduler, check_target(fleet, target))) <= n:
        return _exact(np.full(n, width / n), np.full(n, 1 / n), rounds)
    if type(scheduler) is Greedy and _is_independent(fleet) and rounds > first:
        rates = np.where(fleet.ceilings >= fleet.costs, fleet.rates, 0.0)
        return _exact(rates, independent_weights(rates), rounds - first)
    return None


def independent_weights(rates: FloatArray) -> FloatArray:
    """Return q_i where everyone takes part with the probability that its rate is, independently; shape (n_clients,).

    The integrand is a polynomial of degree N - 1, for which Gauss's rule with N/2 nodes is exact. Products are sums
    of logarithms, so that none of them underflows. All integrals together are P(S not empty), which they are divided
    by.

    >>> independent_weights(np.array([1.0, 0.5])).tolist()  # alone in half of the rounds, one of two in the others
    [0.75, 0.25]
    """
    nodes, areas = np.polynomial.legendre.leggauss(min((rates.size + 1) // 2, _MOST_NODES))
    logs = np.log1p(np.multiply.outer((nodes - 1) / 2, rates))  # log(1 - rate + rate s), (n_nodes, n_clients)
    others = np.exp(logs.sum(axis=1, keepdims=True) - logs)
    heard: FloatArray = rates * (areas @ others)
    return heard / heard.sum() if heard.any() else heard


def _first_round(fleet: Fleet, scheduler: Scheduler) -> int:
    """Return the first round in which anybody could take part, as far as the start decides it: 0 or 1."""
    return 0 if is_mains_powered(scheduler) or (fleet.start() >= fleet.costs).any() else 1


def _width(scheduler: AlwaysOn, target: int) -> int:
    """Return how many clients a round it draws."""
    return scheduler.target if isinstance(scheduler.target, int) else target


def _is_independent(fleet: Fleet) -> bool:
    """Return whether under Greedy the participants are those who harvested in the round before, independently.

    Losses are rounded to whole units by a sequence that depends on the round, so with them no two rounds are alike.
    """
    alike = type(fleet.harvest) is Bernoulli and bool((fleet.costs == 1).all()) and fleet.storage is None
    return alike and not np.any(fleet.initial) and fleet.clients <= TILE


def _exact(turns: FloatArray, weights: FloatArray, rounds: int) -> Chances:
    nothing = np.zeros(turns.size)
    return Chances(turns, weights, nothing, nothing, chi_square_of(weights), 0.0, rounds, seeds=0, exact=True)
