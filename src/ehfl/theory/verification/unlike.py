"""Bounds against measurement for clients that are unlike: theorems C to H, each on the problems of `known_problems`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ehfl.arrays import BoolArray, FloatArray
from ehfl.randomness import Purpose, generator
from ehfl.theory.bounds.alike import Constants, largest_step
from ehfl.theory.bounds.descent import Bound
from ehfl.theory.bounds.memory import bound_memory, delays_of, largest_step_with_memory
from ehfl.theory.bounds.optimal import best_factor
from ehfl.theory.bounds.unlike import (
    bound_any,
    bound_independent,
    bound_inverse_probability,
    bound_uniform,
    largest_step_of,
)
from ehfl.theory.bounds.windows import bound_windows, windows_of
from ehfl.theory.participants import MOST_CLIENTS, independent_sets
from ehfl.theory.verification.alike import Verified, compared, known_problems, start_of
from ehfl.theory.verification.problems import (
    KnownProblem,
    gradient_squares,
    memory_squares,
    noise_samples,
    weighted_squares,
)
from ehfl.validation import InvalidValue

HETEROGENEITY = 1.0  # zeta^2
RATES: Mapping[str, FloatArray] = {"equal rates": np.full(10, 0.5), "unequal rates": np.linspace(0.1, 0.9, 10)}
SAME = "always the same half"
LOCAL_STEPS = (1, 5)
WINDOWS = (2, 3, 4, 8, 16)  # rounds, for theorem H


@dataclass(frozen=True, eq=False, slots=True)
class _Setting:
    """A problem with unlike clients, and how many runs it gets."""

    name: str
    problem: KnownProblem
    offsets: FloatArray  # (n_clients, dimension)
    seeds: int
    seed: int

    @property
    def start(self) -> FloatArray:
        return start_of(self.problem)

    @property
    def constants(self) -> Constants:
        gap = float(self.problem.loss(self.start)) - self.problem.minimum
        return Constants(self.problem.smoothness, self.problem.variance, gap, HETEROGENEITY)

    def generator(self, number: int) -> np.random.Generator:
        return generator(self.seed, Purpose.BATCHES, client=number)


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
        setting = partial(_Setting, name, problem, seeds=seeds, seed=seed)
        for label, sets in took_part.items():
            for experiment in _on_sets(setting(offsets=_offsets(problem, sets.shape[1], seed)), sets):
                yield experiment.verified(name, label)
        half = np.resize([1.0, -1.0], clients // 2 * 2)
        for K in LOCAL_STEPS:
            same = np.tile(half > 0, (rounds, 1))
            yield _mean_of_sets(setting(offsets=_along(problem, half)), same, K).verified(name, SAME)
        for label, rates in RATES.items():
            for experiment in _by_chance(setting(offsets=_worst_offsets(problem, rates)), rates, rounds):
                yield experiment.verified(name, label)


def check_clients(clients: int) -> None:
    """Raise an error for a single client, which has no heterogeneity, and for more than MOST_CLIENTS."""
    if not 2 <= clients <= MOST_CLIENTS:
        raise InvalidValue("clients", f"in [2, {MOST_CLIENTS}] where their data are unlike", clients)


def _offsets(problem: KnownProblem, clients: int, seed: int) -> FloatArray:
    return noise_samples(problem.dimension, HETEROGENEITY, clients, generator(seed, Purpose.BATCHES, client=1))


def how_many(schedulers: int) -> int:
    """Return how many experiments `verify_unlike` yields for this number of schedulers."""
    return len(known_problems()) * ((2 * len(LOCAL_STEPS) + 2) * schedulers + len(LOCAL_STEPS) + 3 * len(RATES))


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
        steps, rng = np.full(counts.size, eta), setting.generator(3)
        given = setting.problem, setting.start, counts, steps, K, setting.seeds, rng
        return gradient_squares(*given, lambda t: setting.offsets[sets[t]][None])

    def bound(eta: float) -> Bound:
        return bound_any(counts, np.full(counts.size, eta), sets.shape[1], K, constants)

    return _Experiment("C", K, largest_step(K, constants.smoothness), bound, squares)


def _mean_of_uniform_sets(setting: _Setting, sets: BoolArray, K: int) -> _Experiment:
    counts, clients, constants = sets.sum(axis=1), sets.shape[1], setting.constants

    def squares(eta: float) -> FloatArray:
        steps, rng = np.full(counts.size, eta), setting.generator(4)
        given = setting.problem, setting.start, counts, steps, K, setting.seeds, rng
        order = np.tile(np.arange(clients), (setting.seeds, 1))
        return gradient_squares(*given, lambda t: setting.offsets[rng.permuted(order, axis=1)[:, : counts[t]]])

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

    def squares(eta: float) -> FloatArray:
        return _with_weights(setting, rates, rounds, eta, lambda here: here / np.maximum(here.sum(1)[:, None], 1))

    def bound(eta: float) -> Bound:
        return bound_independent(rates, np.full(rounds, eta), constants)

    return _Experiment("E", 1, largest_step(1, constants.smoothness), bound, squares)


def _inverse_probability(setting: _Setting, rates: FloatArray, rounds: int) -> _Experiment:
    constants = setting.constants

    def squares(eta: float) -> FloatArray:
        return _with_weights(setting, rates, rounds, eta, lambda here: here / rates / rates.size)

    def bound(eta: float) -> Bound:
        return bound_inverse_probability(rates, np.full(rounds, eta), constants)

    return _Experiment("F", 1, largest_step_of(rates, constants.smoothness), bound, squares)


def _with_weights(
    setting: _Setting, rates: FloatArray, rounds: int, eta: float, weigh: Callable[[BoolArray], FloatArray]
) -> FloatArray:
    rng, steps = setting.generator(5), np.full(rounds, eta)

    def drawn(_: int) -> FloatArray:
        return weigh(rng.random((setting.seeds, rates.size)) < rates)

    return weighted_squares(setting.problem, setting.start, setting.offsets, steps, drawn, setting.seeds, rng)


def _memory(setting: _Setting, sets: BoolArray) -> _Experiment:
    delays, constants = delays_of(sets), replace(setting.constants, variance=0.0)
    return _Experiment(
        "G",
        1,
        largest_step_with_memory(delays, constants.smoothness),
        lambda eta: bound_memory(delays, eta, constants),
        lambda eta: memory_squares(setting.problem, setting.start, setting.offsets, sets, eta),
    )
