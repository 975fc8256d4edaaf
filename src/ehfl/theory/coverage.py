"""The theorem that covers a way of training, and what it says of given step sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.theory.counts import checked_counts
from ehfl.theory.optimal import best_factor


@dataclass(frozen=True, slots=True)
class Covering:
    """A theorem that speaks of who takes part and of what is made of their updates, whatever the step sizes are."""

    letter: str  # in docs/theory.md
    why: str  # it is this theorem and not A; empty for A
    bound: Callable[[FloatArray], float]  # of the step sizes, shape (n_rounds,)
    largest_step: float  # that it allows
    condition: str  # the same in symbols


@dataclass(frozen=True, slots=True)
class Coverage:
    """What theory says of an arm as it is, its own step sizes included."""

    theorem: str | None  # the letter of the one that covers it; None where none does
    why: str  # theorem A does not, or none does; empty for theorem A
    largest_step: float | None = None  # of the arm's step sizes, over what the theorem allows
    own_steps: float | None = None  # the bound with the arm's step sizes
    best_constant: float | None = None  # and with the best step size that is the same in all rounds


def coverage(found: Covering | str, counts: ArrayLike, etas: FloatArray) -> Coverage:
    """Return what the theorem says of these step sizes; in its place may stand why there is none.

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
