"""Each client's probability to take part, and its weight in a plain mean: exact, estimated or observed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy import Bernoulli, Fleet
from ehfl.machine import check_memory
from ehfl.randomness import MAX_ROUNDS, TILE, Purpose, check_seed, generator
from ehfl.scheduling.contract import Scheduler, is_mains_powered
from ehfl.scheduling.participation import Participation
from ehfl.scheduling.rounds import check_target
from ehfl.scheduling.schedulers import SCHEDULERS
from ehfl.scheduling.schedulers.paper import AlwaysOn, Greedy
from ehfl.scheduling.simulation import simulate
from ehfl.scheduling.view import clients_wanted
from ehfl.theory.participants import chi_square_of, independent_weights
from ehfl.validation import InvalidValue, whole_number

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
    """Return each client's probability to take part in a round, and the weight of its update in a plain mean.

    Exact where `exact_chances` knows them. Otherwise both are estimated from `seeds` simulations, whose seeds are drawn
    from a stream of their own, so that no run meets the same weather. A scheduler that chooses by losses is played as
    `simulate` plays it: without any.

    >>> import numpy as np
    >>> found = chances(Fleet(clients=10, harvest=Bernoulli(np.linspace(0.1, 0.9, 10))), "greedy", rounds=100)
    >>> found.weights[[0, -1]].round(3).tolist(), round(found.chi_square, 3), found.exact
    ([0.018, 0.192], 0.305, True)
    """
    scheduler = SCHEDULERS.make(scheduler)
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
    """Return the exact chances if participation is independent of earlier rounds, otherwise None.

    Under Greedy on Bernoulli with a cost of one unit, nothing at the start and no losses in storage, up to 4,096
    clients, client i takes part with probability lambda_i, independently (`theory.participants.independent_weights`).
    AlwaysOn draws n of all clients, so that p_i = n/N and q_i = 1/N.

    >>> exact_chances(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(3), rounds=9).probabilities.tolist()
    [0.75, 0.75, 0.75, 0.75]
    """
    n, first = fleet.clients, _first_round(fleet, scheduler)
    if type(scheduler) is AlwaysOn and (width := clients_wanted(scheduler.target, check_target(fleet, target))) <= n:
        return _exact(np.full(n, width / n), np.full(n, 1 / n), rounds)
    if type(scheduler) is Greedy and _is_independent(fleet) and rounds > first:
        rates = np.where(fleet.ceilings >= fleet.costs, fleet.rates, 0.0)
        return _exact(rates, independent_weights(rates), rounds - first)
    return None


def _first_round(fleet: Fleet, scheduler: Scheduler) -> int:
    """Return the first round in which a client could take part: 0 or 1, by the initial levels."""
    return 0 if is_mains_powered(scheduler) or (fleet.start() >= fleet.costs).any() else 1


def _is_independent(fleet: Fleet) -> bool:
    """Return whether under Greedy the participants are those who harvested in the round before, independently.

    Losses are rounded to whole units by a sequence that depends on the round, so with them no two rounds are alike.
    """
    alike = type(fleet.harvest) is Bernoulli and bool((fleet.costs == 1).all()) and fleet.storage is None
    return alike and not np.any(fleet.initial) and fleet.clients <= TILE


def _exact(probabilities: FloatArray, weights: FloatArray, rounds: int) -> Chances:
    nothing = np.zeros(probabilities.size)
    return Chances(
        probabilities, weights, nothing, nothing, float(chi_square_of(weights)), 0.0, rounds, seeds=0, exact=True
    )


@dataclass(frozen=True, eq=False, slots=True)
class Chances:
    """The participation of clients: S_t are the participants of round t, N is the number of clients.

    Rounds count from the first in which a client could take part, which is not round 0 if all batteries begin too low.
    If no client ever takes part, all weights and chi^2 are 0.
    """

    probabilities: FloatArray  # p_i = P(i in S), (n_clients,)
    weights: FloatArray  # q_i = E[1{i in S} / |S| given S not empty], (n_clients,); they add up to 1
    # Standard errors, (n_clients,): 0 where exact, infinite where a single seed was played.
    probabilities_error: FloatArray
    weights_error: FloatArray
    chi_square: float  # N sum_i (q_i - 1/N)^2: 0 for equal weights, N - 1 if only one client takes part
    chi_square_error: float  # standard error, as above
    rounds: int  # evaluated, over all seeds
    seeds: int  # simulated; 0 for an exact result
    exact: bool  # computed, not estimated

    @property
    def has_turns(self) -> bool:
        """Whether any client ever takes part."""
        return bool(self.probabilities.any())

    @property
    def relative_error(self) -> float:
        """The largest standard error of a chance to take part, relative to it; 0 where they are exact."""
        return 0.0 if self.exact else float(np.max(self.probabilities_error / self.probabilities))


def observed_chances(participations: Participation | Iterable[Participation]) -> Chances:
    """Return the chances of played rounds: shares of the rounds instead of probabilities.

    Errors are over the participations, which should be of one fleet and scheduler, with different seeds. For a single
    one they are infinite, and its chi^2 is that of its own rounds, chance included.

    >>> from ehfl import Fleet, Greedy, Replay, simulate
    >>> played = simulate(Fleet(clients=3, harvest=Replay([[1, 0, 1], [0, 1, 0], [0, 0, 0]])), Greedy(), rounds=3)
    >>> found = observed_chances(played)  # {}, {0, 2}, {1}
    >>> found.probabilities.tolist(), found.weights.tolist(), found.chi_square
    ([0.5, 0.5, 0.5], [0.25, 0.5, 0.25], 0.125)
    """
    given = (participations,) if isinstance(participations, Participation) else participations
    several = list(given)
    sizes = {one.n_clients for one in several}
    if len(sizes) != 1:
        raise InvalidValue("participations", "some of one number of clients", f"numbers {sorted(sizes)}")
    begins_empty = all(one.totals.initial == 0 and one.counts[0] == 0 and not one.mains_powered for one in several)
    return estimated(several, first=1 if begins_empty else 0)


def estimated(participations: Iterable[Participation], first: int) -> Chances:
    """Return the chances estimated from participations; no client can have taken part before round `first`."""
    counted: list[tuple[Any, ...]] = [
        (one.turns(), one.weight_sums(), one.rounds - first, np.count_nonzero(one.counts)) for one in participations
    ]
    turns, weighed, rounds, held = (np.array(part, dtype=np.float64) for part in zip(*counted, strict=True))
    # If `first` is 1, round 0 is empty and adds nothing to the sums.
    p, p_residuals = _ratio(turns, np.maximum(rounds, 1))
    q, q_residuals = _ratio(weighed, held)
    chi_square, error = _chi_square(q, q_residuals)
    return Chances(
        p, q, _error(p_residuals), _error(q_residuals), chi_square, error, int(rounds.sum()), len(rounds), exact=False
    )


def _ratio(totals: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sum of totals / sum of sizes over the seeds, (n_clients,), and what each seed adds to its error.

    By the delta method: a ratio of means has the variance of the mean of (total - ratio * size) / mean size.
    """
    # Where there are no rounds there is nothing in the totals either.
    ratio = totals.sum(axis=0) / max(sizes.sum(), 1.0)
    return ratio, (totals - np.multiply.outer(sizes, ratio)) / max(sizes.mean(), 1 / sizes.size)


def _error(residuals: FloatArray) -> Any:
    """Return the standard error of a mean over the first axis, the residuals being what is left of it."""
    seeds = residuals.shape[0]
    if seeds == 1:
        return np.full(residuals.shape[1:], np.inf)
    return np.sqrt(np.square(residuals).sum(axis=0) / (seeds * (seeds - 1)))


def _chi_square(weights: FloatArray, residuals: FloatArray) -> tuple[float, float]:
    """Return chi^2 and its standard error.

    The error of each weight adds its square to the sum, N sum_i se_i^2 in the mean, which is taken off again where it
    is known. The variance is that of the linear part, sum_i 2 N (q_i - 1/N) times the error of q_i, and of the square
    of errors that are taken for normal and independent, 2 N^2 sum_i se_i^4, which alone is left where all weigh alike.
    """
    n, plain = weights.size, float(chi_square_of(weights))
    if not weights.any():
        return 0.0, 0.0
    if residuals.shape[0] < 2:
        return plain, math.inf
    squares = np.square(_error(residuals))
    linear = float(_error(residuals @ (2 * n * (weights - 1 / n))))
    return max(0.0, plain - n * float(squares.sum())), float(np.sqrt(linear**2 + 2 * n**2 * np.square(squares).sum()))
