"""clairvoyant(): the best participation that any scheduler could reach on given harvests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import Fleet, Ledger
from ehfl.machine import check_memory
from ehfl.planning.turns import TurnBatteries, check_first, income_of, turn_batteries
from ehfl.randomness import MAX_ROUNDS, check_seed
from ehfl.scheduling import Participation
from ehfl.validation import InvalidValue, whole_number

_BYTES_A_CELL = 25  # of a client in a round, where turns are evened out
_BYTES_A_ROUND = 40  # where they are bounded
_EPSILON = 1e-9
MANY_CELLS = 2**21  # above it compute only a bound, since the exact result could take minutes


@dataclass(frozen=True, eq=False, slots=True)
class Optimum:
    """The most even n_t achievable with perfect foresight of all harvests: best in each of its figures at once."""

    counts: IntArray | FloatArray  # n_t, (n_rounds,); 0 before `first`; whole where it is exact
    first: int  # the round from which on figures count
    exact: bool  # whether a schedule reaches it; if not, it is an upper bound of each figure
    seed: int
    also: FloatArray | None = None  # a second bound, (n_rounds,); each figure is the lower of the two

    @property
    def least(self) -> int:
        """The largest min n_t over the rounds from `first` on that any scheduler could have reached."""
        return math.floor(
            min(float(one[self.first :].min(initial=one.max(initial=0))) for one in self._bounds) + _EPSILON
        )

    @property
    def mean_sqrt(self) -> float:
        """The largest mean of sqrt(n_t) over the rounds from `first` on."""
        return min(_mean_sqrt(one[self.first :]) for one in self._bounds)

    def turns(self, most: int | None = None) -> int:
        """Return the largest sum of min(n_t, most), or of n_t without `most`."""
        limit = np.inf if most is None else most
        return math.floor(min(float(np.minimum(one, limit).sum()) for one in self._bounds) + _EPSILON)

    @property
    def _bounds(self) -> tuple[IntArray | FloatArray, ...]:
        return (self.counts,) if self.also is None else (self.counts, self.also)

    def share_of(self, counts: IntArray) -> Share:
        """Return these n_t, (n_rounds,), as shares of the optimum."""
        if counts.shape != self.counts.shape:
            raise InvalidValue("counts", f"one a round of the optimum ({self.counts.size})", f"shape {counts.shape}")
        reached = counts[self.first :]
        least = _ratio(int(reached.min(initial=self.least)), self.least)
        return Share(_ratio(_mean_sqrt(reached), self.mean_sqrt), least, self.exact)

    def as_facts(self) -> dict[str, Any]:
        """Return the figures by name, ready for JSON."""
        return {"least": self.least, "mean_sqrt": self.mean_sqrt, "first": self.first, "exact": self.exact}


@dataclass(frozen=True, slots=True)
class Share:
    """A scheduler's results as shares of the optimum; at most 1."""

    mean_sqrt: float  # of the mean of sqrt(n_t): how fast averaging over participants makes progress
    least: float  # of min n_t
    exact: bool  # if not, it was at least this share


def clairvoyant(
    fleet: Fleet, rounds: int, seed: int = 0, *, first: int | None = None, quick: bool | None = None
) -> Optimum:
    """Return the most even numbers of participants that any scheduler could have reached on these harvests.

    Figures cover the rounds from `first` on; the default is the first round in which a client could take part, because
    batteries that begin empty are not the scheduler's fault. Of all schedules, the optimum has

    - the largest min n_t, and of those the fewest rounds with so few, and so on (it is lexicographically largest);
    - the largest mean of sqrt(n_t), and of any other concave function of n_t; the largest sum of n_t, too.

    One n_t has all these properties. The rounds in which a client with integer units takes part are the independent
    sets of a matroid (they are those that can be linked to units of energy, a gammoid), so the n_t that a fleet can pay
    for are the whole points of a polymatroid: of those with the largest sum, one is majorised by all others (Federgruen
    and Groenevelt, Operations Research 34(6), 1986; Frank and Murota, Mathematical Programming 195, 2022), and it is
    that from which no participant can be moved, by moves of turns, to a round with two fewer. `kernels` begins with a
    plan that spends all that can be spent and makes such moves until there are none (docs/planning.md has the proof).

    If turns cost more than a unit, `turn_batteries` states when the result is exact; else it is an upper bound, and
    `exact` is False. Charging losses are included; leaks and standby are not, which also makes it a bound. For a bound,
    `greedy_bound`, which includes them, is computed as well, and each figure is the lower one. `quick` computes only
    `greedy_bound`, in the time of a Greedy simulation; it is the default above two million clients times rounds.

    >>> from ehfl.energy import Replay
    >>> fleet = Fleet(clients=2, harvest=Replay([[1, 1], [0, 0], [1, 0], [0, 0]]))
    >>> best = clairvoyant(fleet, rounds=4)
    >>> best.first, best.least, best.counts.tolist()
    (1, 1, [0, 1, 1, 1])
    """
    bounded = check_size(fleet, rounds, quick=quick)
    seed, first = check_seed(seed), check_first(first, rounds)
    if bounded:
        return Optimum(*greedy_bound(fleet, rounds, seed, first), exact=False, seed=seed)
    income = income_of(fleet, rounds, seed, first)
    batteries = turn_batteries(fleet, income)
    counts = np.append(np.zeros(income.first, np.int32), most_even(batteries))
    also = None if batteries.exact else greedy_bound(fleet, rounds, seed, income.first)[0]
    return Optimum(counts, income.first, batteries.exact, seed, also)


def check_size(fleet: Fleet, rounds: int, *, quick: bool | None = None) -> bool:
    """Return whether to use `quick`; raise an error if the problem does not fit in memory."""
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    cells = rounds * fleet.clients
    bounded = cells >= MANY_CELLS if quick is None else quick
    check_memory("rounds", rounds, _BYTES_A_ROUND * rounds if bounded else _BYTES_A_CELL * cells)
    return bounded


def most_even(given: TurnBatteries) -> IntArray:
    """Return the n_t that is majorised by all others with the same sum, (n_rounds,)."""
    from ehfl.planning import kernels

    if not given.arrivals.size:
        return np.zeros(given.arrivals.shape[1], np.int32)
    batteries = given.start, given.arrivals, given.capacity
    takes_part = np.zeros(given.arrivals.shape, np.uint8)
    units = kernels.usable_units(*batteries)
    low, high = 0, len(given.start)  # participants a round with which all units can be used: enough are `high`
    while low < high:
        middle = (low + high) // 2
        if kernels.earliest_deadlines(*units, middle, takes_part).sum() == units[1].size:
            high = middle
        else:
            low = middle + 1
    counts: IntArray = kernels.earliest_deadlines(*units, high, takes_part)
    assert counts.sum() == units[1].size, "with room for everyone each client uses all that it can"
    del units
    kernels.even_out(takes_part, kernels.levels_of(*batteries, takes_part), counts, given.capacity)
    return counts


def share(played: Participation, optimum: Optimum) -> Share | None:
    """Return a scheduler's share of the optimum; None if turns were not paid as in the optimum.

    >>> from ehfl import Bernoulli, simulate
    >>> fleet = Fleet(clients=10, harvest=Bernoulli(0.5), capacity=3)
    >>> found = share(simulate(fleet, "greedy", rounds=200), clairvoyant(fleet, rounds=200))
    >>> round(found.mean_sqrt, 3), round(found.least, 3)
    (0.988, 0.333)
    """
    if played.rounds != optimum.counts.size:
        raise InvalidValue("played", f"of as many rounds as the optimum ({optimum.counts.size})", played.rounds)
    if played.seed != optimum.seed:
        raise InvalidValue("played", f"played on the optimum's seed ({optimum.seed})", played.seed)
    return None if has_other_means(played) else optimum.share_of(played.counts)


def has_other_means(played: Participation) -> bool:
    """Return whether turns were not paid as in an optimum: from the mains, or with fewer steps."""
    return played.mains_powered or played.steps is not None


def _mean_sqrt(counts: IntArray | FloatArray) -> float:
    return float(np.sqrt(counts).mean()) if counts.size else 0.0


def _ratio(reached: float, possible: float) -> float:
    """Return the share; 1 if nothing was possible."""
    return reached / possible if possible else 1.0


def greedy_bound(fleet: Fleet, rounds: int, seed: int, first: int | None = None) -> tuple[FloatArray, int]:
    """Return the most even n_t whose cumulative turns never exceed Greedy's, and its first round.

    A client that takes part whenever it can is never behind: with k turns more than by another schedule and level E'
    against its E, E' + cost k >= E holds in every round. It does at first; it still does after a turn of either; and
    harvests, full batteries, leaks and standing by keep the order of levels and bring them no further apart. So k >= 0,
    and

        n_first + ... + n_t <= turns of Greedy until t,   for any schedule, any costs and any losses.

    Of all n_t >= 0 for which that is so, the slopes of the largest convex function below Greedy's turns are majorised
    by all others with as large a sum, so that they bound min n_t and the mean of any concave function of n_t.

    >>> from ehfl.energy import Replay
    >>> greedy_bound(Fleet(clients=2, harvest=Replay([[1, 1], [0, 0], [1, 0], [0, 0]])), rounds=4, seed=0)
    (array([0., 1., 1., 1.]), 1)
    """
    ledger, no_clients = Ledger(fleet, rounds, seed), np.empty(0, np.int64)
    begin = rounds if first is None else first
    counts = np.zeros(rounds, np.int64)
    for t in range(rounds):
        able = np.flatnonzero(ledger.energy >= fleet.costs)
        if first is None and able.size:
            begin = min(begin, t)
        playing = able if t >= begin else no_clients
        counts[t] = playing.size
        ledger.settle(t, playing)
    return np.append(np.zeros(begin), _slopes(counts[begin:])), begin


def _slopes(steps: IntArray) -> FloatArray:
    """Return the steps of the largest convex function below the sums of these, and as large at both ends.

    >>> _slopes(np.array([3, 1, 0, 4, 6])).tolist()
    [1.3333333333333333, 1.3333333333333333, 1.3333333333333333, 4.0, 6.0]
    """
    means: list[float] = []  # of runs of steps that are averaged, rising
    lengths: list[int] = []
    for step in steps.tolist():
        mean, length = float(step), 1
        while means and means[-1] >= mean:
            mean = (mean * length + means[-1] * lengths[-1]) / (length + lengths[-1])
            length += lengths.pop()
            means.pop()
        means.append(mean)
        lengths.append(length)
    return np.repeat(means, lengths)
