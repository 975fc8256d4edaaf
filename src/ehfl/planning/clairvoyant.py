"""clairvoyant(): what any scheduler could have reached on given harvests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy import Fleet
from ehfl.machine import check_memory, check_time
from ehfl.planning.greedy_bound import greedy_bound
from ehfl.planning.turns import Turns, check_first, income_of, turns_of
from ehfl.randomness import MAX_ROUNDS, check_seed
from ehfl.scheduling import Participation
from ehfl.validation import InvalidValue, of_kind, whole_number

# What it takes at the least, so that only what is hopeless is refused.
_BYTES_A_CELL, _SECONDS_A_CELL = 25, 1e-8  # of a client in a round, where they are evened out
_BYTES_A_ROUND, _SECONDS_OF_A_BOUND = 40, 1e-11  # of a round, and of a client in it, where it is bounded
_EPSILON = 1e-9
MANY_CELLS = 2**21  # more are bounded, since it could take minutes to even them out
EXACT = "exact"
BOUND = "an upper bound: parts of turns, leaks or full batteries are not all counted"


@dataclass(frozen=True, eq=False, slots=True)
class Optimum:
    """The most even n_t that whoever had known all harvests could have reached: best in each of its figures at once."""

    counts: IntArray | FloatArray  # n_t, (n_rounds,); 0 before `first`; whole where it is exact
    first: int  # the round from which on figures count
    exact: bool  # whether a schedule reaches it; if not, it is an upper bound of each figure
    seed: int
    also: FloatArray | None = None  # another such bound, (n_rounds,); each figure is of the one that has it lower

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

    @property
    def how(self) -> str:
        """What the figures are, in words."""
        return EXACT if self.exact else BOUND

    def turns(self, most: int | None = None) -> int:
        """Return the largest sum of min(n_t, most), of n_t alone without `most`."""
        limit = np.inf if most is None else most
        return math.floor(min(float(np.minimum(one, limit).sum()) for one in self._bounds) + _EPSILON)

    @property
    def _bounds(self) -> tuple[IntArray | FloatArray, ...]:
        return (self.counts,) if self.also is None else (self.counts, self.also)

    def share_of(self, counts: IntArray) -> Share:
        """Return what these n_t, (n_rounds,), are of what was possible."""
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
    """What a scheduler reached, in parts of what was possible; at most 1."""

    mean_sqrt: float  # of the mean of sqrt(n_t): how fast averaging over participants makes progress
    least: float  # of min n_t
    exact: bool  # if not, it was at least this share


def clairvoyant(
    fleet: Fleet, rounds: int, seed: int = 0, *, first: int | None = None, quick: bool | None = None
) -> Optimum:
    """Return the most even number of participants a round that any scheduler could have reached on these harvests.

    Figures are over the rounds from `first` on, whatever happens before; by default that is the first round in which
    anybody could take part, since no scheduler can help it that batteries begin empty. Of all schedules, it has

    - the largest min n_t, and of those the fewest rounds with so few, and so on (it is lexicographically largest);
    - the largest mean of sqrt(n_t), and of any other concave function of n_t; the largest sum of n_t, too.

    One and the same n_t does all that. The rounds in which a client with whole units takes part are the independent
    sets of a matroid (they are those that can be linked to units of energy, a gammoid), so the n_t that a fleet can pay
    for are the whole points of a polymatroid: of those with the largest sum, one is majorised by all others (Federgruen
    and Groenevelt, Operations Research 34(6), 1986; Frank and Murota, Mathematical Programming 195, 2022), and it is
    that from which no participant can be moved, by moves of turns, to a round with two fewer. `kernels` begins with a
    plan that spends all that can be spent and makes such moves until there are none (docs/planning.md has the proof).

    Where turns cost more than a unit, see `turns_of` for when that is exact; else it is an upper bound, and `exact` is
    False. Charging losses are counted; leaks and standing by are not, which makes it a bound, too. Where it is one, so
    is `greedy_bound`, which knows of them, and each figure is the lower one. That alone is asked if it shall be
    `quick`, as it is by default from two million clients times rounds on: it takes as long as playing Greedy.

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
    turns = turns_of(fleet, income)
    counts = np.append(np.zeros(income.first, np.int32), most_even(turns))
    also = None if turns.exact else greedy_bound(fleet, rounds, seed, income.first)[0]
    return Optimum(counts, income.first, turns.exact, seed, also)


def check_size(fleet: Fleet, rounds: int, *, quick: bool | None = None) -> bool:
    """Return whether it will be `quick`, after refusing sizes that there is no memory or time for."""
    rounds = whole_number("rounds", rounds, low=1, high=MAX_ROUNDS)
    cells = rounds * of_kind("fleet", fleet, Fleet).clients
    bounded = cells >= MANY_CELLS if quick is None else quick
    check_time("rounds", rounds, (_SECONDS_OF_A_BOUND if bounded else _SECONDS_A_CELL) * cells)
    check_memory("rounds", rounds, _BYTES_A_ROUND * rounds if bounded else _BYTES_A_CELL * cells)
    return bounded


def most_even(turns: Turns) -> IntArray:
    """Return the n_t that is majorised by all others with as many turns, (n_rounds,)."""
    from ehfl.planning import kernels

    if not turns.arrivals.size:
        return np.zeros(turns.arrivals.shape[1], np.int32)
    batteries = turns.start, turns.arrivals, turns.capacity
    takes_part = np.zeros(turns.arrivals.shape, np.uint8)
    units = kernels.usable_units(*batteries)
    low, high = 0, len(turns.start)  # participants a round with which all units can be used: enough are `high`
    while low < high:
        middle = (low + high) // 2
        if kernels.earliest_deadlines(*units, middle, takes_part).sum() == units[1].size:
            high = middle
        else:
            low = middle + 1
    counts: IntArray = kernels.earliest_deadlines(*units, high, takes_part)
    assert counts.sum() == units[1].size, "with room for everyone each client uses all that it can"
    del units
    kernels.even_out(takes_part, kernels.levels_of(*batteries, takes_part), counts, turns.capacity)
    return counts


def share(played: Participation, optimum: Optimum) -> Share | None:
    """Return what a scheduler reached of what was possible; None if it was played with other means.

    >>> from ehfl import Bernoulli, simulate
    >>> fleet = Fleet(clients=10, harvest=Bernoulli(0.5), capacity=3)
    >>> found = share(simulate(fleet, "greedy", rounds=200), clairvoyant(fleet, rounds=200))
    >>> round(found.mean_sqrt, 3), round(found.least, 3)
    (0.988, 0.333)
    """
    of_kind("played", played, Participation)
    if played.rounds != of_kind("optimum", optimum, Optimum).counts.size:
        raise InvalidValue("played", f"of as many rounds as the optimum ({optimum.counts.size})", played.rounds)
    if played.seed != optimum.seed:
        raise InvalidValue("played", f"played on the optimum's seed ({optimum.seed})", played.seed)
    return None if has_other_means(played) else optimum.share_of(played.counts)


def has_other_means(played: Participation) -> bool:
    """Return whether turns were paid for otherwise than an optimum's: by the mains, or by fewer steps a turn."""
    return played.mains_powered or played.steps is not None


def _mean_sqrt(counts: IntArray | FloatArray) -> float:
    return float(np.sqrt(counts).mean()) if counts.size else 0.0


def _ratio(reached: float, possible: float) -> float:
    """Return the share; all of it where nothing was possible."""
    return reached / possible if possible else 1.0
