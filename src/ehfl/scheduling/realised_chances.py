"""How often each client took part in rounds that were played, and how much its update weighed in a plain mean."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.scheduling.mean_weights import chi_square_of, heard_shares
from ehfl.scheduling.participation import Participation
from ehfl.validation import InvalidValue, of_kind


@dataclass(frozen=True, eq=False, slots=True)
class Chances:
    """What a client can expect: S_t are the participants of round t, and N clients there are.

    The rounds are those in which anybody could have taken part: not round 0 where all batteries begin too low.
    Where nobody ever takes part all weights, and chi^2, are 0.
    """

    turns: FloatArray  # p_i = P(i in S), (n_clients,)
    weights: FloatArray  # q_i = E[1{i in S} / |S| given S not empty], (n_clients,); they add up to 1
    turns_error: FloatArray  # standard errors, (n_clients,): 0 where exact, infinite where a single seed was played
    weights_error: FloatArray  # likewise
    chi_square: float  # N sum_i (q_i - 1/N)^2: 0 where all weigh the same, N - 1 where one is all that is heard
    chi_square_error: float  # standard error, as above
    rounds: int  # that were looked at, in all seeds together
    seeds: int  # that were played; 0 where nothing had to be
    exact: bool  # computed, not estimated

    @property
    def anybody(self) -> bool:
        """Whether anybody ever takes part."""
        return bool(self.turns.any())

    @property
    def relative_error(self) -> float:
        """The largest standard error of a chance to take part, relative to it; 0 where they are exact."""
        return 0.0 if self.exact else float(np.max(self.turns_error / self.turns))


def realised(participations: Participation | Iterable[Participation]) -> Chances:
    """Return the same of participations that were played: shares of the rounds instead of probabilities.

    Errors are over the participations, which should be of one fleet and scheduler, with different seeds; one alone has
    none that anybody could know, and its chi^2 is that of its own rounds, chance included.

    >>> from ehfl import Fleet, Greedy, Replay, simulate
    >>> played = simulate(Fleet(clients=3, harvest=Replay([[1, 0, 1], [0, 1, 0], [0, 0, 0]])), Greedy(), rounds=3)
    >>> found = realised(played)  # {}, {0, 2}, {1}
    >>> found.turns.tolist(), found.weights.tolist(), found.chi_square
    ([0.5, 0.5, 0.5], [0.25, 0.5, 0.25], 0.125)
    """
    given = (participations,) if isinstance(participations, Participation) else participations
    several = list(of_kind("participations", given, Iterable))  # type: ignore[type-abstract]
    sizes = {of_kind("participations", one, Participation).n_clients for one in several}
    if len(sizes) != 1:
        raise InvalidValue("participations", "some of one number of clients", f"numbers {sorted(sizes)}")
    begins_empty = all(one.totals.initial == 0 and one.counts[0] == 0 and not one.mains_powered for one in several)
    return estimated(several, first=1 if begins_empty else 0)


def estimated(participations: Iterable[Participation], first: int) -> Chances:
    """Return the chances as participations show them; nobody can have taken part before round `first`."""
    counted: list[tuple[Any, ...]] = [
        (one.turns(), heard_shares(one), one.rounds - first, np.count_nonzero(one.counts)) for one in participations
    ]
    turns, heard, rounds, held = (np.array(part, dtype=np.float64) for part in zip(*counted, strict=True))
    # Nobody took part in round 0, so it is in none of the sums.
    p, p_residuals = _ratio(turns, np.maximum(rounds, 1))
    q, q_residuals = _ratio(heard, held)
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
    n, plain = weights.size, chi_square_of(weights)
    if not weights.any():
        return 0.0, 0.0
    if residuals.shape[0] < 2:
        return plain, math.inf
    squares = np.square(_error(residuals))
    linear = float(_error(residuals @ (2 * n * (weights - 1 / n))))
    return max(0.0, plain - n * float(squares.sum())), float(np.sqrt(linear**2 + 2 * n**2 * np.square(squares).sum()))
