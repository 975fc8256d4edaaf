"""Step sizes that minimise the realised bound: for a rule, or over all sequences.

A rule ties eta_t to n_t up to a factor c: constant (eta_t = c), sqrt (c sqrt(n_t)), linear (c n_t); empty rounds have
no step. To leading order in T the best bound of a rule eta_t = c g_t is sqrt(2 Delta L s2) sqrt(sum g^2 / n) / sum g
for K = 1, and by Cauchy-Schwarz no rule beats the linear one, for which only sum n_t matters (docs/theory.md, theorem
B).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.theory.bounds.alike import Constants, bound_alike, check_steps, largest_step, rounds_alike, step_for
from ehfl.theory.participants import checked_counts
from ehfl.validation import InvalidValue, is_number

RULES: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {
        "constant": lambda n_t: (n_t > 0).astype(np.float64),
        "sqrt": np.sqrt,
        "linear": lambda n_t: n_t.astype(np.float64),
    }
)


def best_along(rule: str, counts: ArrayLike, local_steps: int, constants: Constants) -> FloatArray:
    """Return the eta_t of a rule with the factor that minimises the realised bound within its condition.

    >>> etas = best_along("sqrt", [4, 4, 1], 1, Constants(smoothness=1.0, variance=1.0, gap=1.0))
    >>> bool(np.isclose(etas[0], 2 * etas[2]))
    True
    """
    if not isinstance(rule, str) or rule not in RULES:
        raise InvalidValue("rule", f"one of {', '.join(RULES)}", rule)
    n_t = checked_counts(counts)
    shape = RULES[rule](n_t)
    cap = largest_step(local_steps, constants.smoothness)
    if shape.max() == 0:
        return np.zeros_like(n_t)
    cap /= float(shape.max())
    _check_gap(constants)
    if constants.variance == 0:
        return cap * shape  # the weights grow up to the cap
    if local_steps == 1:
        return min(cap, _closed_form(shape, n_t, constants)) * shape
    return best_factor(lambda c: bound_alike(n_t, c * shape, local_steps, constants).value, cap) * shape


def best_factor(bound: Callable[[float], float], largest: float) -> float:
    """Return the minimiser in (0, largest] of a bound as a function of the common factor of all step sizes.

    Bounds fall and then rise: for small factors as Delta over them, for large ones with the noise. So the best one is
    passed on the way down from the largest.

    >>> round(best_factor(lambda c: 1 / c + 4 * c, largest=8.0), 6), best_factor(lambda c: 1 / c + 4 * c, largest=0.25)
    (0.5, 0.25)
    """
    factor, value = largest, bound(largest)
    while (
        below := bound(factor / 4)
    ) <= value and factor > 1e-200 * largest:  # stop for an infinite bound, which never rises
        factor, value = factor / 4, below
    from scipy.optimize import (
        minimize_scalar,
    )  # imported here, because it would dominate the import time of ehfl.theory

    found = minimize_scalar(
        lambda log_c: bound(math.exp(log_c)),
        bounds=(math.log(factor / 4), math.log(min(4 * factor, largest))),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return math.exp(found.x) if found.fun < value else factor  # the search excludes its end points


def best_of_all(counts: ArrayLike, local_steps: int, constants: Constants) -> FloatArray:
    """Return the eta_t that minimise the realised bound over all sequences within its condition.

    At the optimum with value b each round maximises b w_t - noise_t (`step_for`), and these add up to Delta: b is the
    root of `pace` = 1.
    """
    n_t = checked_counts(counts)
    cap = largest_step(local_steps, constants.smoothness)
    if n_t.max() == 0:
        return np.zeros_like(n_t)
    _check_gap(constants)
    if constants.variance == 0:
        return np.where(n_t > 0, cap, 0.0)
    from scipy.optimize import brentq

    top = math.log(bound_alike(n_t, best_along("linear", n_t, local_steps, constants), local_steps, constants).value)
    low = top
    while pace(math.exp(low), n_t, local_steps, constants) >= 1:
        low -= 1
    log_b = brentq(lambda x: pace(math.exp(x), n_t, local_steps, constants) - 1, low, top + 1e-9, xtol=1e-14)
    return step_for(math.exp(log_b), n_t, local_steps, constants)


def pace(value: float, counts: ArrayLike, local_steps: int, constants: Constants) -> float:
    """Return the number of repetitions of these rounds, with the best steps, for a realised bound of `value`.

    1 means exactly; 2 that half of them would do, if n_t is the same in each. Exact, with no appeal to large T.
    """
    n_t = checked_counts(counts)
    if not (is_number(value) and 1e-100 <= value <= 1e100):
        raise InvalidValue("value", "in [1e-100, 1e100]", value)
    check_steps(local_steps)
    _check_gap(constants)
    etas = step_for(value, n_t, local_steps, constants)
    rounds = rounds_alike(n_t, etas, local_steps, constants)
    gain, cost = rounds.gain_and_cost(rounds.theta(value))
    return float((value * gain - cost).sum()) / constants.gap


def _check_gap(constants: Constants) -> None:
    if constants.gap == 0:
        raise InvalidValue("gap", "a positive number (at 0 the best step is none)", 0)


def _closed_form(shape: FloatArray, n_t: FloatArray, constants: Constants) -> float:
    """Return the c that minimises (a + b c^2) / (S c - N c^2), the bound of a rule for K = 1.

    It solves b S c^2 + 2 a N c - a S = 0, here in the form that does not subtract nearly equal numbers.
    """
    L = constants.smoothness
    some = n_t > 0
    a, b = constants.gap, L * constants.variance / 2 * float((shape[some] ** 2 / n_t[some]).sum())
    S, N = float(shape.sum()), L / 2 * float((shape**2).sum())
    return S / (N + math.hypot(N, S * math.sqrt(b / a)))


@dataclass(frozen=True, slots=True)
class Covering:
    """A theorem that covers the participation and the aggregation of a run, for any step sizes."""

    letter: str  # in docs/theory.md
    why: str  # the reason that theorem A does not apply; empty for A
    bound: Callable[[FloatArray], float]  # of the step sizes, shape (n_rounds,)
    largest_step: float  # that it allows
    condition: str  # the same in symbols


@dataclass(frozen=True, slots=True)
class Coverage:
    """The theoretical bound for an arm, with its own step sizes."""

    theorem: str | None  # the letter of the covering theorem, or None
    why: str  # the reason that theorem A, or every theorem, does not apply; empty for theorem A
    largest_step: float | None = None  # the arm's largest step size relative to the theorem's limit
    own_steps: float | None = None  # the bound with the arm's step sizes
    best_constant: float | None = None  # and with the best step size that is the same in all rounds


def coverage(found: Covering | str, counts: ArrayLike, etas: FloatArray) -> Coverage:
    """Return the theorem's coverage of these step sizes; a string instead is the reason for having no theorem.

    >>> coverage("gradients are clipped", [1, 2], np.ones(2)).why
    'gradients are clipped'
    """
    if isinstance(found, str):
        return Coverage(None, found)
    held = np.where(checked_counts(counts) > 0, 1.0, 0.0)
    if not held.any():
        return Coverage(found.letter, found.why, 0.0, math.inf, math.inf)
    best = found.bound(best_factor(lambda step: found.bound(step * held), found.largest_step) * held)
    used = float(np.max(etas)) / found.largest_step
    if used > 1 + 1e-12:
        why = f"steps are beyond {found.condition}, up to which theorem {found.letter} is proven"
        return Coverage(None, why, used, best_constant=best)
    return Coverage(found.letter, found.why, used, found.bound(etas), best)
