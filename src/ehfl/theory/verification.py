"""Bounds against measurement: SGD on problems whose constants are known, many seeds at once.

Theorem A is for clients alike (`verify`), C to H are for clients that are not (`verify_unlike`). Both return a list of
experiments, functions without arguments, so that a caller knows how many there are before any is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import BoolArray, FloatArray, IntArray
from ehfl.machine import check_memory
from ehfl.randomness import Purpose, generator
from ehfl.theory.bounds.alike import Constants, bound_alike, largest_step
from ehfl.theory.bounds.descent import Bound
from ehfl.theory.bounds.optimal import RULES, best_along, best_factor
from ehfl.theory.bounds.unlike import (
    bound_any,
    bound_independent,
    bound_inverse_probability,
    bound_memory,
    bound_uniform,
    delays_of,
    largest_step_of,
    largest_step_with_memory,
)
from ehfl.theory.bounds.windows import Windows, bound_windows, windows_of
from ehfl.theory.participants import MOST_CLIENTS, checked_counts, independent_sets
from ehfl.theory.problems import (
    KnownProblem,
    OfRound,
    Quadratic,
    Wells,
    gradient_squares,
    memory_squares,
    noise_samples,
    weighted_squares,
)
from ehfl.validation import UserError, whole_number

MOST_SEEDS = 100_000  # all are run at once
HETEROGENEITY = 1.0  # zeta^2
_NORMAL_975 = 1.959963984540054  # quantile of the 95 % interval
_RATES = {"equal rates": np.full(10, 0.5), "unequal rates": np.linspace(0.1, 0.9, 10)}
_LOCAL_STEPS = (1, 5)
_WINDOWS = (2, 3, 4, 8, 16)  # rounds, for theorem H; with windows of one round it is theorem C


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of one experiment, and its bound."""

    theorem: str  # its letter in docs/theory.md
    problem: str
    participation: str  # whose it is: the label of a scheduler, or what rates clients have
    rule: str  # of the step sizes
    local_steps: int
    bound: float
    measured: float  # mean over seeds of sum_t w_t |grad f(x_t)|^2 / sum_t w_t
    margin: float  # half width of the 95 % interval of that mean

    @property
    def holds(self) -> bool:
        """Whether the measurement is compatible with the bound (within its interval)."""
        return self.measured - self.margin <= self.bound


Experiment = Callable[[], Verified]
BoundOf = Callable[[FloatArray], Bound]  # of the step sizes, (n_rounds,)
SquaresOf = Callable[[FloatArray], FloatArray]  # |grad f(x_t)|^2, (n_rounds, n_seeds), of the step sizes


def known_problems() -> dict[str, KnownProblem]:
    """Return the test problems: a quadratic, and wells that are not convex; 20 curvatures from 0.1 to 1."""
    curvature = np.geomspace(0.1, 1.0, 20)
    return {"quadratic": Quadratic(curvature, variance=4.0), "wells": Wells(curvature, variance=4.0)}


def verify(counts: Mapping[str, ArrayLike], *, seeds: int = 200, seed: int = 0) -> list[Experiment]:
    """Return an experiment per problem, K, rule and scheduler; `counts` holds n_t by scheduler.

    Step sizes are the best of each rule for the realised bound, x_0 is one unit from the minimiser in each coordinate,
    gradient noise is Gaussian with the stated variance.
    """
    whole_number("seeds", seeds, low=2, high=MOST_SEEDS)
    checked = {scheduler: checked_counts(n_t) for scheduler, n_t in counts.items()}
    for scheduler, n_t in checked.items():
        if not n_t.any():
            raise UserError(f"{scheduler} has no participants in any round: there is nothing to verify")
        check_memory("seeds", seeds, 8.0 * seeds * n_t.size)

    def experiment(problem: str, K: int, rule: str, number: int, scheduler: str) -> Verified:
        known, n_t = known_problems()[problem], checked[scheduler]
        constants = Constants(known.smoothness, known.variance, known.gap)
        etas = best_along(rule, n_t, K, constants)
        rng = generator(seed, Purpose.BATCHES, client=number, round_=K)
        squares = gradient_squares(known, known.start, n_t, etas, K, seeds, rng)
        return _compared("A", problem, scheduler, rule, K, bound_alike(n_t, etas, K, constants), squares)

    chosen = product(known_problems(), _LOCAL_STEPS, RULES, enumerate(checked))
    return [partial(experiment, problem, K, rule, *one) for problem, K, rule, one in chosen]


def _compared(
    theorem: str, problem: str, participation: str, rule: str, local_steps: int, bound: Bound, squares: FloatArray
) -> Verified:
    """Return an experiment beside its bound, given |grad f(x_t)|^2, shape (n_rounds, n_seeds)."""
    runs = bound.weights @ squares / bound.weights.sum()  # (n_seeds,)
    margin = _NORMAL_975 * float(runs.std(ddof=1)) / math.sqrt(runs.size) if runs.size > 1 else 0.0
    return Verified(theorem, problem, participation, rule, local_steps, bound.value, float(runs.mean()), margin)


def verify_unlike(took_part: Mapping[str, BoolArray], *, seeds: int = 200, seed: int = 0) -> list[Experiment]:
    """Return an experiment per theorem, problem and participation.

    `took_part` says by scheduler who takes part in which round, (n_rounds, n_clients): theorems C, G and H are on these
    sets, D is on uniform sets of as many, and C on half of the clients, always the same, for whom its floor is. E, F
    and G are on clients who come by chance, with equal and unequal rates.
    """
    for sets in took_part.values():
        whole_number("clients", sets.shape[1], low=2, high=MOST_CLIENTS)
    rounds, clients = next(iter(took_part.values())).shape
    found: list[Experiment] = []
    for name, problem in known_problems().items():
        clients_of = partial(_Clients, name, problem, rounds, seeds, seed)
        for label, sets in took_part.items():
            rng = generator(seed, Purpose.BATCHES, client=1)
            drawn = clients_of(label, noise_samples(problem.dimension, HETEROGENEITY, sets.shape[1], rng))
            for K in _LOCAL_STEPS:
                found += [partial(drawn.in_any_sets, sets, K), partial(drawn.in_uniform_sets, sets, K)]
            found += [partial(drawn.in_turns, sets), partial(drawn.with_memory, sets)]
        # Along one direction the floor of theorem C is attained, so that a bound without it would be broken.
        sides = np.resize([1.0, -1.0], clients // 2 * 2)
        half, same = clients_of("always the same half", _along(problem, sides)), np.tile(sides > 0, (rounds, 1))
        found += [partial(half.in_any_sets, same, K) for K in _LOCAL_STEPS]
        for label, rates in _RATES.items():
            mine = clients_of(label, _worst(problem, rates))
            sets = mine.generator(2).random((rounds, rates.size)) < rates
            found += [partial(mine.by_chance, rates), partial(mine.by_inverse_probability, rates)]
            found += [partial(mine.with_memory, sets)]
    return found


def _worst(problem: KnownProblem, rates: FloatArray) -> FloatArray:
    """Return offsets along q_i - 1/N, which attain the floor of theorem E; any others where rates are equal."""
    away = independent_sets(rates).weights - 1 / rates.size
    return _along(problem, away if (np.abs(away) > 1e-12).any() else np.resize([1.0, -1.0], rates.size))


def _along(problem: KnownProblem, sizes: FloatArray) -> FloatArray:
    """Return offsets in one direction, in proportion to these sizes, which add up to 0."""
    slopes = problem.gradient(problem.centre + 1e-3)  # so that the minimum moves as far in each coordinate
    scale = np.sqrt(HETEROGENEITY * sizes.size) / np.linalg.norm(sizes) / np.linalg.norm(slopes)
    offsets: FloatArray = np.outer(scale * sizes, slopes)
    return offsets


@dataclass(frozen=True, eq=False, slots=True)
class _Clients:
    """Unlike clients of a problem, and how many runs each experiment with them gets."""

    name: str  # of the problem
    problem: KnownProblem
    rounds: int
    seeds: int
    seed: int
    label: str  # of the participation
    offsets: FloatArray  # (n_clients, dimension)

    @property
    def constants(self) -> Constants:
        return Constants(self.problem.smoothness, self.problem.variance, self.problem.gap, HETEROGENEITY)

    def generator(self, number: int) -> np.random.Generator:
        return generator(self.seed, Purpose.BATCHES, client=number)

    def in_any_sets(self, sets: BoolArray, K: int) -> Verified:
        """Theorem C."""
        counts, constants = sets.sum(axis=1), self.constants

        def bound(etas: FloatArray) -> Bound:
            return bound_any(counts, etas, sets.shape[1], K, constants)

        return self._verified("C", K, largest_step(K, constants.smoothness), bound, self._sgd_in(sets, K))

    def in_uniform_sets(self, sets: BoolArray, K: int) -> Verified:
        """Theorem D, with as many participants as in these sets."""
        counts, clients, constants = sets.sum(axis=1), sets.shape[1], self.constants
        rng, order = self.generator(4), np.tile(np.arange(clients), (self.seeds, 1))

        def bound(etas: FloatArray) -> Bound:
            return bound_uniform(counts, etas, clients, K, constants)

        def drawn(t: int) -> FloatArray:
            members: IntArray = rng.permuted(order, axis=1)[:, : counts[t]]
            return self.offsets[members]

        sgd = self._sgd(counts, K, rng, drawn)
        return self._verified("D", K, largest_step(K, constants.smoothness), bound, sgd)

    def in_turns(self, sets: BoolArray) -> Verified:
        """Theorem H, in the windows that make its bound smallest."""
        constants = self.constants

        def least(windows: Windows) -> float:
            limit = windows.largest_step(constants.smoothness)
            eta = best_factor(lambda eta: bound_windows(windows, eta, constants).value, limit)
            return bound_windows(windows, eta, constants).value

        best = min((windows_of(sets, window) for window in _WINDOWS), key=least)

        def bound(etas: FloatArray) -> Bound:
            return bound_windows(best, float(etas[0]), constants)

        return self._verified("H", 1, best.largest_step(constants.smoothness), bound, self._sgd_in(sets, 1))

    def by_chance(self, rates: FloatArray) -> Verified:
        """Theorem E."""
        constants = self.constants
        sgd = self._sgd_by_chance(rates, lambda here: here / np.maximum(here.sum(1)[:, None], 1))
        largest = largest_step(1, constants.smoothness)
        return self._verified("E", 1, largest, lambda etas: bound_independent(rates, etas, constants), sgd)

    def by_inverse_probability(self, rates: FloatArray) -> Verified:
        """Theorem F."""
        constants = self.constants
        sgd = self._sgd_by_chance(rates, lambda here: here / rates / rates.size)
        largest = largest_step_of(rates, constants.smoothness)
        return self._verified("F", 1, largest, lambda etas: bound_inverse_probability(rates, etas, constants), sgd)

    def with_memory(self, sets: BoolArray) -> Verified:
        """Theorem G, which is on exact gradients."""
        delays, constants = delays_of(sets), replace(self.constants, variance=0.0)

        def bound(etas: FloatArray) -> Bound:
            return bound_memory(delays, float(etas[0]), constants)

        def sgd(etas: FloatArray) -> FloatArray:
            return memory_squares(self.problem, self.problem.start, self.offsets, sets, float(etas[0]))

        return self._verified("G", 1, largest_step_with_memory(delays, constants.smoothness), bound, sgd)

    def _verified(self, theorem: str, K: int, largest: float, bound: BoundOf, sgd: SquaresOf) -> Verified:
        """Return the test of a theorem with the constant step that makes its bound smallest, at most `largest`."""
        eta = best_factor(lambda eta: bound(np.full(self.rounds, eta)).value, largest)
        etas = np.full(self.rounds, eta)
        return _compared(theorem, self.name, self.label, "constant", K, bound(etas), sgd(etas))

    def _sgd_in(self, sets: BoolArray, K: int) -> SquaresOf:
        return self._sgd(sets.sum(axis=1), K, self.generator(3), lambda t: self.offsets[sets[t]][None])

    def _sgd(self, counts: IntArray, K: int, rng: np.random.Generator, offsets: OfRound) -> SquaresOf:
        problem = self.problem
        return lambda etas: gradient_squares(problem, problem.start, counts, etas, K, self.seeds, rng, offsets)

    def _sgd_by_chance(self, rates: FloatArray, weigh: Callable[[BoolArray], FloatArray]) -> SquaresOf:
        rng, problem = self.generator(5), self.problem

        def weights(_: int) -> FloatArray:
            return weigh(rng.random((self.seeds, rates.size)) < rates)

        return lambda etas: weighted_squares(problem, problem.start, self.offsets, etas, weights, self.seeds, rng)
