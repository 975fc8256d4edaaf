"""What theory promises for a participation: every bound side by side, and the cost against mains power."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.theory.bounds import Constants, check_eta, realised
from ehfl.theory.counts import checked_counts
from ehfl.theory.optimal import RULES, best_along, best_of_all, pace
from ehfl.theory.theorems import Extremes, largest_eta, theorem1, theorem2
from ehfl.validation import InvalidValue, of_kind


@dataclass(frozen=True, slots=True)
class Promise:
    """The bounds for one participation."""

    n_min: int
    n_max: int
    eta: float  # the theorem's parameter: eta_t = eta sqrt(n_t / T)
    largest_eta: float  # the condition of the corrected theorem
    eta_printed: float  # what the printed theorem is given: the same as far as it allows, unless eta was asked for
    largest_eta_printed: float
    printed: float  # the paper's theorem as printed; inf where its conditions fail
    corrected: float
    realised: dict[str, float]  # by step size rule, each with its best factor
    best: float  # with the best step sizes of all


def slowdown(kept: Promise, mains: ArrayLike, local_steps: int, constants: Constants) -> dict[str, float]:
    """Return how many times as many rounds as on mains power it takes to come to the same bound, by step size rule.

    `mains` holds n_t on mains power, the same in every round. Infinite where there were no participants at all.
    """
    kept = of_kind("kept", kept, Promise)
    if np.ptp(checked_counts(mains, "mains")) > 0:
        raise InvalidValue("mains", "the same in every round", "counts that vary")
    values = kept.realised | {"best": kept.best}
    return {
        rule: math.inf if math.isinf(value) else pace(value, mains, local_steps, constants)
        for rule, value in values.items()
    }


def promise(counts: ArrayLike, local_steps: int, constants: Constants, eta: float | None = None) -> Promise:
    """Return all bounds for these n_t; eta defaults to what is best for the realised bound under the sqrt rule.

    >>> kept = promise([5] * 100, 1, Constants(smoothness=1.0, variance=1.0, gap=1.0))
    >>> math.isclose(kept.corrected, kept.realised["sqrt"])  # equal where n_t never varies
    True
    """
    n_t = checked_counts(counts)
    extremes = Extremes(int(n_t.min()), max(1, int(n_t.max())), n_t.size)
    etas = {rule: best_along(rule, n_t, local_steps, constants) for rule in RULES}
    limits = [largest_eta(extremes, local_steps, constants.smoothness, printed=p) for p in (False, True)]
    if eta is not None:
        check_eta(eta, limits[0])
        eta_printed = eta
    else:
        eta = min(float(etas["sqrt"].max()) * math.sqrt(n_t.size / extremes.n_max), limits[0])
        eta_printed = min(eta, limits[1])
    return Promise(
        n_min=extremes.n_min,
        n_max=int(n_t.max()),
        eta=eta,
        largest_eta=limits[0],
        eta_printed=eta_printed,
        largest_eta_printed=limits[1],
        printed=_theorem(extremes, eta_printed, local_steps, constants, printed=True),
        corrected=_theorem(extremes, eta, local_steps, constants, printed=False),
        realised={rule: realised(n_t, steps, local_steps, constants).value for rule, steps in etas.items()},
        best=realised(n_t, best_of_all(n_t, local_steps, constants), local_steps, constants).value,
    )


def _theorem(extremes: Extremes, eta: float, local_steps: int, constants: Constants, *, printed: bool) -> float:
    if eta == 0 or (printed and eta > largest_eta(extremes, local_steps, constants.smoothness, printed=True)):
        return math.inf
    if local_steps == 1:
        return theorem1(extremes, eta, constants, printed=printed)
    return theorem2(extremes, eta, local_steps, constants, printed=printed)
