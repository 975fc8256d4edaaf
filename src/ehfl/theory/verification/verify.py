"""Bounds against measurement: SGD on problems whose constants are known, many seeds at once.

Theorem A is for clients alike (`verify`), C to H are for clients that are not (`verify_unlike`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import BoolArray, FloatArray, IntArray
from ehfl.machine import check_memory
from ehfl.randomness import Purpose, generator
from ehfl.theory.bounds.alike import Constants, bound_alike, largest_step
from ehfl.theory.bounds.descent import Bound
from ehfl.theory.bounds.memory import bound_memory, delays_of, largest_step_with_memory
from ehfl.theory.bounds.optimal import RULES, best_along, best_factor
from ehfl.theory.bounds.unlike import (
    bound_any,
    bound_independent,
    bound_inverse_probability,
    bound_uniform,
    largest_step_of,
)
from ehfl.theory.bounds.windows import bound_windows, windows_of
from ehfl.theory.participants import MOST_CLIENTS, checked_counts, independent_sets
from ehfl.theory.verification.problems import (
    KnownProblem,
    OfRound,
    Quadratic,
    Wells,
    gradient_squares,
    memory_squares,
    noise_samples,
    weighted_squares,
)
from ehfl.validation import InvalidValue, UserError, whole_number

MOST_SEEDS = 100_000  # all are run at once
_NORMAL_975 = 1.959963984540054  # quantile of the 95 % interval
HETEROGENEITY = 1.0  # zeta^2
RATES: Mapping[str, FloatArray] = {"equal rates": np.full(10, 0.5), "unequal rates": np.linspace(0.1, 0.9, 10)}
SAME = "always the same half"
LOCAL_STEPS = (1, 5)
WINDOWS = (2, 3, 4, 8, 16)  # rounds, for theorem H


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


def known_problems(dimension: int = 20) -> dict[str, KnownProblem]:
    """Return the test problems: a quadratic, and wells that are not convex; curvatures 0.1 to 1."""
    curvature = np.geomspace(0.1, 1.0, whole_number("dimension", dimension, low=1, high=1_000_000))
    return {"quadratic": Quadratic(curvature, variance=4.0), "wells": Wells(curvature, variance=4.0)}


def verify(
    counts: Mapping[str, ArrayLike],
    *,
    seeds: int = 200,
    seed: int = 0,
) -> Iterator[Verified]:
    """Yield one experiment per problem, K, rule and scheduler; `counts` holds n_t by scheduler.

    Step sizes are the best of each rule for the realised bound, x_0 is one unit from the minimiser in each coordinate,
    gradient noise is Gaussian with the stated variance.
    """
    whole_number("seeds", seeds, low=2, high=MOST_SEEDS)
    checked = {scheduler: checked_counts(n_t) for scheduler, n_t in counts.items()}
    for scheduler, n_t in checked.items():
        if not n_t.any():
            raise UserError(f"{scheduler} has no participants in any round: there is nothing to verify")
    for problem_name, problem in known_problems().items():
        check_memory("seeds", seeds, 8.0 * seeds * max(n_t.size for n_t in checked.values()))
        constants = Constants(problem.smoothness, problem.variance, problem.gap)
        for K in LOCAL_STEPS:
            for rule in RULES:
                for number, (scheduler, n_t) in enumerate(checked.items()):
                    etas = best_along(rule, n_t, K, constants)
                    rng = generator(seed, Purpose.BATCHES, client=number, round_=K)
                    squares = gradient_squares(problem, problem.start, n_t, etas, K, seeds, rng)
                    promised = bound_alike(n_t, etas, K, constants)
                    yield compared("A", problem_name, scheduler, rule, K, promised, squares)


def compared(
    theorem: str, problem: str, participation: str, rule: str, local_steps: int, bound: Bound, squares: FloatArray
) -> Verified:
    """Return an experiment beside its bound, given |grad f(x_t)|^2, shape (n_rounds, n_seeds)."""
    runs = bound.weights @ squares / bound.weights.sum()  # (n_seeds,)
    margin = _NORMAL_975 * float(runs.std(ddof=1)) / math.sqrt(runs.size) if runs.size > 1 else 0.0
    return Verified(theorem, problem, participation, rule, local_steps, bound.value, float(runs.mean()), margin)


def verify_unlike(took_part: Mapping[str, BoolArray], *, seeds: int = 200, seed: int = 0) -> Iterator[Verified]:
    """Yield an experiment per theorem, problem and participation.

    `took_part` says by scheduler who takes part in which round, (n_rounds, n_clients): theorems C, G and H are on these
    sets, D is on uniform sets of as many, and C on half of the clients, always the same, for whom its floor is. E, F
    and G are on clients who come by chance, with equal and unequal rates.
    """
    for sets in took_part.values():
        check_clients(sets.shape[1])
    rounds, clients = next(iter(took_part.values())).shape
    for name, problem in known_problems().items():
        setting = partial(_Setting, problem, seeds=seeds, seed=seed)
        for label, sets in took_part.items():
            rng = generator(seed, Purpose.BATCHES, client=1)
            offsets = noise_samples(problem.dimension, HETEROGENEITY, sets.shape[1], rng)
            for experiment in _on_sets(setting(offsets), sets):
                yield experiment.verified(name, label)
        # Along one direction the floor of theorem C is attained, so that a bound without it would be broken.
        half = np.resize([1.0, -1.0], clients // 2 * 2)
        for K in LOCAL_STEPS:
            same = np.tile(half > 0, (rounds, 1))
            yield _mean_of_sets(setting(_along(problem, half)), same, K).verified(name, SAME)
        for label, rates in RATES.items():
            for experiment in _by_chance(setting(_worst_offsets(problem, rates)), rates, rounds):
                yield experiment.verified(name, label)


def check_clients(clients: int) -> None:
    """Raise an error for a single client, which has no heterogeneity, and for more than MOST_CLIENTS."""
    if not 2 <= clients <= MOST_CLIENTS:
        raise InvalidValue("clients", f"in [2, {MOST_CLIENTS}] where their data are unlike", clients)


def how_many(schedulers: int) -> int:
    """Return how many experiments `verify_unlike` yields for this number of schedulers."""
    return len(known_problems()) * ((2 * len(LOCAL_STEPS) + 2) * schedulers + len(LOCAL_STEPS) + 3 * len(RATES))


@dataclass(frozen=True, eq=False, slots=True)
class _Setting:
    """A problem with unlike clients, and how many runs it gets."""

    problem: KnownProblem
    offsets: FloatArray  # (n_clients, dimension)
    seeds: int
    seed: int

    @property
    def constants(self) -> Constants:
        return Constants(self.problem.smoothness, self.problem.variance, self.problem.gap, HETEROGENEITY)

    def generator(self, number: int) -> np.random.Generator:
        return generator(self.seed, Purpose.BATCHES, client=number)

    def squares(self, counts: IntArray, eta: float, K: int, rng: np.random.Generator, offsets: OfRound) -> FloatArray:
        steps = np.full(counts.size, eta)
        return gradient_squares(self.problem, self.problem.start, counts, steps, K, self.seeds, rng, offsets)


@dataclass(frozen=True, eq=False, slots=True)
class _Experiment:
    """A test of a theorem with the constant step that minimises its bound."""

    theorem: str
    local_steps: int
    largest: float  # step size that the theorem allows
    bound: Callable[[float], Bound]
    squares: Callable[[float], FloatArray]  # |grad f(x_t)|^2 by step size, (n_rounds, n_seeds)

    def best_step(self) -> float:
        return best_factor(lambda step: self.bound(step).value, self.largest)

    def least(self) -> float:
        return self.bound(self.best_step()).value

    def verified(self, problem: str, participation: str) -> Verified:
        eta = self.best_step()
        found = self.bound(eta), self.squares(eta)
        return compared(self.theorem, problem, participation, "constant", self.local_steps, *found)


def _on_sets(setting: _Setting, sets: BoolArray) -> Iterator[_Experiment]:
    for K in LOCAL_STEPS:
        yield _mean_of_sets(setting, sets, K)
        yield _mean_of_uniform_sets(setting, sets, K)
    yield _mean_over_windows(setting, sets)
    yield _memory(setting, sets)


def _by_chance(setting: _Setting, rates: FloatArray, rounds: int) -> Iterator[_Experiment]:
    yield _mean_by_chance(setting, rates, rounds)
    yield _inverse_probability(setting, rates, rounds)
    yield _memory(setting, setting.generator(2).random((rounds, rates.size)) < rates)


def _worst_offsets(problem: KnownProblem, rates: FloatArray) -> FloatArray:
    """Return offsets along q_i - 1/N, which attain the floor of theorem E; any others where rates are equal."""
    away = independent_sets(rates).weights - 1 / rates.size
    return _along(problem, away if (np.abs(away) > 1e-12).any() else np.resize([1.0, -1.0], rates.size))


def _along(problem: KnownProblem, sizes: FloatArray) -> FloatArray:
    """Return offsets in one direction, in proportion to these sizes, which add up to 0."""
    slopes = problem.gradient(problem.centre + 1e-3)  # so that the minimum moves as far in each coordinate
    scale = np.sqrt(HETEROGENEITY * sizes.size) / np.linalg.norm(sizes) / np.linalg.norm(slopes)
    offsets: FloatArray = np.outer(scale * sizes, slopes)
    return offsets


def _mean_of_sets(setting: _Setting, sets: BoolArray, K: int) -> _Experiment:
    counts, constants = sets.sum(axis=1), setting.constants

    def squares(eta: float) -> FloatArray:
        return setting.squares(counts, eta, K, setting.generator(3), lambda t: setting.offsets[sets[t]][None])

    def bound(eta: float) -> Bound:
        return bound_any(counts, np.full(counts.size, eta), sets.shape[1], K, constants)

    return _Experiment("C", K, largest_step(K, constants.smoothness), bound, squares)


def _mean_of_uniform_sets(setting: _Setting, sets: BoolArray, K: int) -> _Experiment:
    counts, clients, constants = sets.sum(axis=1), sets.shape[1], setting.constants

    def squares(eta: float) -> FloatArray:
        rng, order = setting.generator(4), np.tile(np.arange(clients), (setting.seeds, 1))
        return setting.squares(
            counts, eta, K, rng, lambda t: setting.offsets[rng.permuted(order, axis=1)[:, : counts[t]]]
        )

    def bound(eta: float) -> Bound:
        return bound_uniform(counts, np.full(counts.size, eta), clients, K, constants)

    return _Experiment("D", K, largest_step(K, constants.smoothness), bound, squares)


def _mean_over_windows(setting: _Setting, sets: BoolArray) -> _Experiment:
    """Return theorem H with the windows that make its bound smallest; of several rounds, or it would be theorem C."""
    constants, squares = setting.constants, _mean_of_sets(setting, sets, 1).squares

    def experiment(window: int) -> _Experiment:
        windows = windows_of(sets, window)
        largest = windows.largest_step(constants.smoothness)
        return _Experiment("H", 1, largest, lambda eta: bound_windows(windows, eta, constants), squares)

    return min(map(experiment, WINDOWS), key=_Experiment.least)


def _mean_by_chance(setting: _Setting, rates: FloatArray, rounds: int) -> _Experiment:
    constants = setting.constants
    squares = partial(_with_weights, setting, rates, rounds, lambda here: here / np.maximum(here.sum(1)[:, None], 1))

    def bound(eta: float) -> Bound:
        return bound_independent(rates, np.full(rounds, eta), constants)

    return _Experiment("E", 1, largest_step(1, constants.smoothness), bound, squares)


def _inverse_probability(setting: _Setting, rates: FloatArray, rounds: int) -> _Experiment:
    constants = setting.constants
    squares = partial(_with_weights, setting, rates, rounds, lambda here: here / rates / rates.size)

    def bound(eta: float) -> Bound:
        return bound_inverse_probability(rates, np.full(rounds, eta), constants)

    return _Experiment("F", 1, largest_step_of(rates, constants.smoothness), bound, squares)


def _with_weights(
    setting: _Setting, rates: FloatArray, rounds: int, weigh: Callable[[BoolArray], FloatArray], eta: float
) -> FloatArray:
    rng, steps = setting.generator(5), np.full(rounds, eta)

    def drawn(_: int) -> FloatArray:
        return weigh(rng.random((setting.seeds, rates.size)) < rates)

    return weighted_squares(setting.problem, setting.problem.start, setting.offsets, steps, drawn, setting.seeds, rng)


def _memory(setting: _Setting, sets: BoolArray) -> _Experiment:
    delays, constants = delays_of(sets), replace(setting.constants, variance=0.0)
    return _Experiment(
        "G",
        1,
        largest_step_with_memory(delays, constants.smoothness),
        lambda eta: bound_memory(delays, eta, constants),
        lambda eta: memory_squares(setting.problem, setting.problem.start, setting.offsets, sets, eta),
    )
