"""How far an arm is from another over the rounds, pair by pair.

The chance that both runs of a pair met drops out of their difference, so its interval is often far narrower than those
of the two curves: arms whose bands overlap may differ clearly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ehfl.analysis.pairing import moments, pairs
from ehfl.analysis.trials import Arm
from ehfl.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from ehfl.analysis.comparison import Comparison


@dataclass(frozen=True, eq=False, slots=True)
class DifferenceCurve:
    """An arm's test metric less another's, whenever both were evaluated: after as many rounds, or as long a time."""

    arm: str
    rounds: IntArray  # of the arm, played before, (n_points,)
    gaps: FloatArray  # (n_pairs, n_points)


def difference_curves(comparison: Comparison) -> list[DifferenceCurve]:
    """Return the curve of each arm against the first of its world, those left out that have no rounds in common."""
    found = (difference_curve(arm, world.arms[0]) for world in comparison.worlds for arm in world.arms[1:])
    return [curve for curve in found if curve is not None]


def difference_curve(arm: Arm, other: Arm) -> DifferenceCurve | None:
    """Return an arm's metric less the other's over the rounds; None without pairs or common rounds."""
    common = pairs(arm, other)
    _, here, there = np.intersect1d(*moments(arm, other), return_indices=True)
    if not common or not here.size:
        return None
    mine, theirs = (list(places) for places in zip(*common, strict=True))
    gaps = arm.metric[np.ix_(mine, here)] - other.metric[np.ix_(theirs, there)]
    return DifferenceCurve(arm.name, arm.evaluated[here], gaps)
