"""Which runs can be compared pair by pair: those of one seed that met the same weather, data and first model.

Randomness is a function of the seed alone, so such runs differ in nothing but their arms, and the chance that both met
drops out of their difference, whose interval is often far narrower than those of the two arms: arms whose bands overlap
may differ clearly. Nothing is assumed: every trial carries what it met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ehfl.analysis.statistics import Difference, difference
from ehfl.analysis.trials import Arm
from ehfl.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from ehfl.analysis.comparison import Comparison

CONDITIONS = ("weather", "data", "first model")


def pairs(arm: Arm, other: Arm) -> list[tuple[int, int]]:
    """Return the places in both arms of runs with a common seed that met the same."""
    places = {trial.seed: place for place, trial in enumerate(other.trials)}
    return [
        (place, places[trial.seed])
        for place, trial in enumerate(arm.trials)
        if trial.seed in places and trial.met == other.trials[places[trial.seed]].met
    ]


def final_difference(arm: Arm, other: Arm, value_of: Callable[[Arm], FloatArray]) -> Difference | None:
    """Return the difference of a value of each run's last model, pair by pair; None without pairs of equal length."""
    common = pairs(arm, other)
    mine_at, theirs_at = moments(arm, other)
    if not common or mine_at[-1] != theirs_at[-1]:
        return None
    mine, theirs = (list(places) for places in zip(*common, strict=True))
    return difference(value_of(arm)[mine], value_of(other)[theirs])


@dataclass(frozen=True, eq=False, slots=True)
class DifferenceCurve:
    """An arm's test metric minus another's, whenever both were evaluated: after as many rounds, or as long a time."""

    arm: str
    rounds: IntArray  # of the arm, played before, (n_points,)
    gaps: FloatArray  # (n_pairs, n_points)


def difference_curves(comparison: Comparison) -> list[DifferenceCurve]:
    """Return the curve of each arm against the first of its world, those left out that have no rounds in common."""
    found = (difference_curve(arm, world.arms[0]) for world in comparison.worlds for arm in world.arms[1:])
    return [curve for curve in found if curve is not None]


def difference_curve(arm: Arm, other: Arm) -> DifferenceCurve | None:
    """Return an arm's metric minus the other's over the rounds; None without pairs or common rounds."""
    common = pairs(arm, other)
    _, here, there = np.intersect1d(*moments(arm, other), return_indices=True)
    if not common or not here.size:
        return None
    mine, theirs = (list(places) for places in zip(*common, strict=True))
    gaps = arm.metric[np.ix_(mine, here)] - other.metric[np.ix_(theirs, there)]
    return DifferenceCurve(arm.name, arm.evaluated[here], gaps)


def moments(arm: Arm, other: Arm) -> tuple[FloatArray, FloatArray]:
    """Return when both arms were evaluated: after how many rounds or, where those of one are longer, seconds."""
    lengths = arm.round_length, other.round_length
    mine, theirs = lengths if None not in lengths and lengths[0] != lengths[1] else (1.0, 1.0)
    assert mine is not None and theirs is not None
    return np.round(arm.evaluated * mine, 6), np.round(other.evaluated * theirs, 6)


def final_metric(arm: Arm) -> FloatArray:
    """Return the metric after the last round, (n_seeds,)."""
    return arm.metric[:, -1]


def shared(arms: Sequence[Arm]) -> tuple[str, ...]:
    """Return which of weather, data and first model were the same for all arms, under every seed that two of them have.

    Empty where no two arms have a seed in common: there is nothing that they could share.
    """
    trials = sorted((trial for arm in arms for trial in arm.trials), key=lambda trial: trial.seed)
    met = [[trial.met for trial in of_seed] for _, of_seed in groupby(trials, key=lambda trial: trial.seed)]
    if len(arms) > 1 and max(map(len, met)) == 1:
        return ()
    return tuple(name for name in CONDITIONS if all(one[name] == mets[0][name] for mets in met for one in mets))
