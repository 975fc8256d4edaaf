"""Bounds against measurement: local SGD on problems whose constants are known, many seeds at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.machine import check_memory
from ehfl.randomness import Purpose, generator
from ehfl.theory.bounds.alike import Constants, bound_alike
from ehfl.theory.bounds.descent import Bound
from ehfl.theory.bounds.optimal import RULES, best_along
from ehfl.theory.participants import checked_counts
from ehfl.theory.verification.problems import KnownProblem, Quadratic, Wells, gradient_squares
from ehfl.validation import UserError, whole_number

MOST_SEEDS = 100_000  # all are run at once
_NORMAL_975 = 1.959963984540054  # quantile of the 95 % interval


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
    problems: Mapping[str, KnownProblem] | None = None,
    local_steps: tuple[int, ...] = (1, 5),
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
    for problem_name, problem in (known_problems() if problems is None else problems).items():
        check_memory("seeds", seeds, 8.0 * seeds * max(n_t.size for n_t in checked.values()))
        start = start_of(problem)
        gap = float(problem.loss(start)) - problem.minimum
        constants = Constants(problem.smoothness, problem.variance, gap)
        for K in local_steps:
            for rule in RULES:
                for number, (scheduler, n_t) in enumerate(checked.items()):
                    etas = best_along(rule, n_t, K, constants)
                    rng = generator(seed, Purpose.BATCHES, client=number, round_=K)
                    squares = gradient_squares(problem, start, n_t, etas, K, seeds, rng)
                    promised = bound_alike(n_t, etas, K, constants)
                    yield compared("A", problem_name, scheduler, rule, K, promised, squares)


def start_of(problem: KnownProblem) -> FloatArray:
    """Return the start of all experiments: one unit from the minimiser in each coordinate."""
    return problem.centre + 1.0


def compared(
    theorem: str, problem: str, participation: str, rule: str, local_steps: int, bound: Bound, squares: FloatArray
) -> Verified:
    """Return an experiment beside its bound, given |grad f(x_t)|^2, shape (n_rounds, n_seeds)."""
    runs = bound.weights @ squares / bound.weights.sum()  # (n_seeds,)
    margin = _NORMAL_975 * float(runs.std(ddof=1)) / math.sqrt(runs.size) if runs.size > 1 else 0.0
    return Verified(theorem, problem, participation, rule, local_steps, bound.value, float(runs.mean()), margin)
