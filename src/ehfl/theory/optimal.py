"""Step sizes that make the realised bound smallest: along a rule, or over all sequences.

A rule ties eta_t to n_t up to a factor c: constant (eta_t = c), sqrt (c sqrt(n_t)), linear (c n_t); empty rounds have
no step. To leading order in T the best bound of a rule eta_t = c g_t is sqrt(2 Delta L s2) sqrt(sum g^2 / n) / sum g
for K = 1, and by Cauchy-Schwarz no rule beats the linear one, for which only sum n_t matters (docs/theory.md, theorem
B).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from ehfl.theory.bounds import Constants, FloatArray, bound_for, largest_step, noise, weights

RULES: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {
        "constant": lambda n_t: (n_t > 0).astype(np.float64),
        "sqrt": np.sqrt,
        "linear": lambda n_t: n_t.astype(np.float64),
    }
)


def best_along(rule: str, counts: ArrayLike, local_steps: int, constants: Constants) -> FloatArray:
    """Return the eta_t of a rule whose factor makes the realised bound smallest within its condition.

    >>> etas = best_along("sqrt", [4, 4, 1], 1, Constants(smoothness=1.0, variance=1.0, gap=1.0))
    >>> bool(np.isclose(etas[0], 2 * etas[2]))
    True
    """
    n_t = np.asarray(counts, dtype=np.float64)
    shape = RULES[rule](n_t)
    if shape.max() == 0:
        return np.zeros_like(n_t)
    cap = largest_step(local_steps, constants.smoothness) / float(shape.max())
    factor = cap
    if local_steps == 1 and constants.variance > 0:
        factor = min(cap, _closed_form(shape, n_t, constants))
    elif constants.variance > 0:
        found = minimize_scalar(
            lambda log_c: bound_for(n_t, math.exp(log_c) * shape, local_steps, constants),
            bounds=(math.log(cap) - 25, math.log(cap)),
            method="bounded",
            options={"xatol": 1e-10},
        )
        if found.fun < bound_for(n_t, cap * shape, local_steps, constants):  # the search stops short of its ends
            factor = math.exp(found.x)
    return factor * shape


def best_of_all(counts: ArrayLike, local_steps: int, constants: Constants) -> FloatArray:
    """Return the eta_t that make the realised bound smallest over all sequences within its condition.

    At the optimum with value b each round minimises noise_t(eta) - b w_t(eta), which is solved in closed form; b is the
    root of Delta + sum_t min(...) = 0. For K = 1: eta_t = b n_t / (L (s2 + b n_t)), linear in n_t while b n_t << s2.
    """
    n_t = np.asarray(counts, dtype=np.float64)
    if n_t.max(initial=0) == 0:
        return np.zeros_like(n_t)
    if constants.variance == 0 or constants.gap == 0:
        return best_along("constant", n_t, local_steps, constants)

    def excess(log_b: float) -> float:
        b = math.exp(log_b)
        eta_t = _step_for(b, n_t, local_steps, constants)
        lagrangian = noise(n_t, eta_t, local_steps, constants) - b * weights(
            n_t, eta_t, local_steps, constants.smoothness
        )
        return constants.gap + float(lagrangian.sum())

    top = bound_for(n_t, best_along("linear", n_t, local_steps, constants), local_steps, constants)
    log_b = brentq(excess, math.log(top) - 50, math.log(top) + 1e-9, xtol=1e-14)
    return _step_for(math.exp(log_b), n_t, local_steps, constants)


def _closed_form(shape: FloatArray, n_t: FloatArray, constants: Constants) -> float:
    """Return the c that minimises (a + b c^2) / (S c - N c^2), the bound of a rule for K = 1."""
    L = constants.smoothness
    some = n_t > 0
    a, b = constants.gap, L * constants.variance / 2 * float((shape[some] ** 2 / n_t[some]).sum())
    S, N = float(shape.sum()), L / 2 * float((shape**2).sum())
    # b S c^2 + 2 a N c - a S = 0, in the form that does not subtract nearly equal numbers
    return a * S / (a * N + math.sqrt((a * N) ** 2 + a * b * S**2)) if a > 0 else 0.0


def _step_for(b: float, n_t: FloatArray, local_steps: int, constants: Constants) -> FloatArray:
    """Return the eta_t where d(noise)/d(eta) = b d(weight)/d(eta), at most the largest step; 0 in empty rounds."""
    K, L, s2 = local_steps, constants.smoothness, constants.variance
    n = np.maximum(n_t, 1)
    if K == 1:
        eta_t = b * n / (L * (s2 + b * n))
    else:
        square = 15 * K**2 * L**2 * s2 / 2 + 12 / 7 * (K - 1) * K * L**2 * s2 / n + 45 * b * K**3 * L**2
        line = K * L * s2 / n
        eta_t = b * K / (line + np.sqrt(line**2 + 2 * b * K * square))
    return np.where(n_t > 0, np.minimum(eta_t, largest_step(K, L)), 0.0)
