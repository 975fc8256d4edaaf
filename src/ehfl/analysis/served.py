"""Whom the models of an arm serve: every class and every client, and the worst of them.

A run's worst class is the one of which its last model gets the least right, whichever it is: an arm's figure is the
mean of that over seeds. The class that is lowest on average over seeds is named beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ehfl.analysis.pairing import final_difference
from ehfl.analysis.statistics import Difference, estimate, holm
from ehfl.analysis.trials import Arm
from ehfl.arrays import FloatArray
from ehfl.validation import UserError

if TYPE_CHECKING:
    from ehfl.analysis.comparison import Comparison


def served_figures(arm: Arm, first: Arm) -> dict[str, Any]:
    """Return the figures of a row that say whom its arm serves, by name; none where the task has no classes."""
    by_class, by_client = final_by_class(arm), final_by_client(arm)
    found: dict[str, Any] = {}
    if by_class is not None:
        found["worst_class"] = estimate(_worst_class(arm))
        found["worst_class_name"] = arm.trials[0].classes[int(np.nanargmin(by_class.mean(axis=0)))]
        found["worst_class_difference"] = None if arm is first else _paired(arm, first, _worst_class)
    if by_client is not None:
        found["worst_tenth"] = estimate(worst_tenth(by_client))
        found["client_spread"] = estimate(np.nanstd(by_client, axis=1))
    return found


def worst_tenth_differences(comparison: Comparison) -> dict[str, Difference]:
    """Return how far the worst tenth of an arm's clients is from its baseline's, by arm, with Holm's correction."""
    found: dict[str, Difference] = {}
    for world in comparison.contests:
        first, *others = world.arms
        for arm in others:
            if final_by_client(arm) is not None and final_by_client(first) is not None:
                gap = final_difference(arm, first, _worst_tenth)
                found |= {} if gap is None or gap.p_value is None else {arm.name: gap}
    corrected = holm([gap.p_value for gap in found.values() if gap.p_value is not None])
    return {arm: replace(gap, holm_p_value=p) for (arm, gap), p in zip(found.items(), corrected, strict=True)}


def worst_tenth(by_client: FloatArray) -> FloatArray:
    """Return the mean accuracy of the tenth of the clients that each run serves worst, at least of one, (n_seeds,).

    >>> worst_tenth(np.array([[0.9, 0.2, 0.8, 0.7, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.4]])).round(3).tolist()
    [0.3]
    """
    lowest = np.sort(by_client, axis=1)[:, : math.ceil(by_client.shape[1] / 10)]  # NaN comes last
    means: FloatArray = np.nanmean(lowest, axis=1)
    return means


def final_by_class(arm: Arm) -> FloatArray | None:
    """Return the accuracy of each class at the end, (n_seeds, n_classes), NaN for one without test examples.

    None where the task has no classes, or not every run says how they fared.
    """
    if len({trial.classes for trial in arm.trials}) > 1 or not arm.trials[0].classes:
        return None
    return _shares([trial.evaluations[-1].by_class for trial in arm.trials])


def final_by_client(arm: Arm) -> FloatArray | None:
    """Return the accuracy under each client's own mixture of labels at the end, (n_seeds, n_clients).

    NaN for a client of whose classes there are no test examples; None where a run does not know what clients hold.
    """
    found = _shares([trial.evaluations[-1].by_client for trial in arm.trials])
    return None if found is None or np.isnan(found).all(axis=1).any() else found


def worst_class_curve(arm: Arm) -> FloatArray | None:
    """Return the accuracy of the worst class at each evaluation, (n_seeds, n_evaluations); None where unknown."""
    found = [_shares([one.by_class for one in trial.evaluations]) for trial in arm.trials]
    known = [shares for shares in found if shares is not None]
    return np.array([np.nanmin(shares, axis=1) for shares in known]) if len(known) == len(found) else None


def common_classes(arms: Sequence[Arm]) -> tuple[str, ...]:
    """Return the classes that all arms have that have any, none where they are not the same."""
    found = {arm.trials[0].classes for arm in arms if final_by_class(arm) is not None}
    return found.pop() if len(found) == 1 else ()


def known_classes(arms: Sequence[Arm]) -> tuple[str, ...]:
    """Return the same, or refuse arms without: where figures by class are asked for."""
    if found := common_classes(arms):
        return found
    why = "arms have different classes" if any(arm.trials[0].classes for arm in arms) else "no run has classes"
    raise UserError(f"figures by class cannot be given: {why}")


def _worst_class(arm: Arm) -> FloatArray:
    by_class = final_by_class(arm)
    assert by_class is not None
    worst: FloatArray = np.nanmin(by_class, axis=1)
    return worst


def _worst_tenth(arm: Arm) -> FloatArray:
    by_client = final_by_client(arm)
    assert by_client is not None
    return worst_tenth(by_client)


def _paired(arm: Arm, first: Arm, value_of: Callable[[Arm], FloatArray]) -> Difference | None:
    """Return the paired difference of a value that arms with classes have."""
    known = all(final_by_class(one) is not None for one in (arm, first))
    return final_difference(arm, first, value_of) if known else None


def _shares(found: Sequence[tuple[float | None, ...] | None]) -> FloatArray | None:
    known = [shares for shares in found if shares is not None]
    return np.array(known, dtype=np.float64) if known and len(known) == len(found) else None
