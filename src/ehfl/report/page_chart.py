"""What the page's chart draws, as JSON: each arm's mean curve with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from ehfl.analysis import Arm, Comparison, Difference, Estimate, difference, estimate
from ehfl.analysis.difference_curves import DifferenceCurve, difference_curves
from ehfl.analysis.intervals import Written, write_gap, write_metric
from ehfl.analysis.numbers import DASH, value
from ehfl.analysis.scales import Scale
from ehfl.analysis.served import worst_class_curve
from ehfl.analysis.served_lines import ACCURACY
from ehfl.report.scales import LOSS, STRETCH, is_logarithmic, linear_within


def chart_data(comparison: Comparison) -> dict[str, Any]:
    """Return what page.js needs; every number is also there as the text that a reader sees."""
    metric, arms = comparison.metric, comparison.arms
    energy = comparison.energy_scale(max(float(arm.mean_energy[-1]) for arm in arms))
    gaps = {curve.arm: curve for curve in difference_curves(comparison)}
    linear = linear_within([curve.gaps for curve in gaps.values()])
    factor = 100 if metric.is_share else 1
    return {
        "metric": {
            "label": f"test {metric.name}" + (" [%]" if metric.is_share else ""),
            "factor": factor,
            "limits": list(metric.bounds),
            "log": is_logarithmic([arm.metric for arm in arms], metric),
            "goal": _finite(comparison.goal),
            "goalText": f"goal: {value(metric, comparison.goal)}",
        },
        "loss": _axis("test loss", log=is_logarithmic([arm.loss for arm in arms], LOSS)),
        "difference": _axis(_difference_label(comparison, linear), factor=factor)
        | {"goal": 0, "goalText": _baseline(comparison), "linear": linear},
        "worst": _axis("test accuracy of the worst class [%]", factor=100) | {"limits": [0, 1]},
        "stretch": STRETCH,
        **_along(comparison, energy),
        "arms": [_arm(comparison, arm, energy, gaps.get(arm.name)) for arm in arms],
    }


def _along(comparison: Comparison, energy: Scale) -> dict[str, Any]:
    """Return what the x axis shows: energy and, where rounds have a length, time, which is first if lengths differ."""
    clock = comparison.clock
    time = {"time": {"unit": clock.scale.unit}} if clock.is_known else {}
    return {"unit": energy.unit, "x": "time" if clock.differs else "rounds", **time}


def _axis(label: str, *, factor: int = 1, log: bool = False) -> dict[str, Any]:
    return {"label": label, "factor": factor, "limits": [None, None], "log": log, "goal": None, "goalText": ""}


def _difference_label(comparison: Comparison, linear: float | None) -> str:
    metric = comparison.metric
    unit = "points" if metric.is_share else metric.name
    bent = "" if linear is None else f", logarithmic beyond {100 * linear if metric.is_share else linear:g}"
    return f"difference to {_baseline(comparison)} [{unit}]{bent}"


def _baseline(comparison: Comparison) -> str:
    """Return what differences are to, in few words."""
    return comparison.contests[0].baseline if len(comparison.contests) == 1 else "its baseline"


def _arm(comparison: Comparison, arm: Arm, energy: Scale, gaps: DifferenceCurve | None) -> dict[str, Any]:
    metric, clock = comparison.metric, comparison.clock
    times = {"time": clock.times(arm.name, arm.evaluated).round(6).tolist()} if clock.is_known else {}
    return {
        "name": arm.name,
        "rounds": arm.evaluated.tolist(),
        "energy": [round(float(mean), 3) for mean in energy.of(arm.mean_energy)],
        **times,
        "metric": _curve([estimate(column) for column in arm.metric.T], partial(write_metric, metric)),
        "loss": _curve([estimate(column) for column in arm.loss.T], partial(write_metric, LOSS)),
        "difference": None if gaps is None else _curve(_gaps_at(arm, gaps), partial(write_gap, metric)),
        "worst": _worst_class(arm),
    }


def _worst_class(arm: Arm) -> dict[str, list[Any]] | None:
    """Return the accuracy of the worst class at each evaluation, whichever it is; None where there are no classes."""
    found = worst_class_curve(arm)
    return None if found is None else _curve([estimate(column) for column in found.T], partial(write_metric, ACCURACY))


def _gaps_at(arm: Arm, gaps: DifferenceCurve) -> list[Difference | None]:
    """Return the difference at each evaluation of the arm, None where the other arm was not evaluated."""
    known = {
        after: difference(column, [0.0] * len(column))
        for after, column in zip(gaps.rounds.tolist(), gaps.gaps.T, strict=True)
    }
    return [known.get(after) for after in arm.evaluated.tolist()]


Point = TypeVar("Point", Estimate, Difference)


def _curve(found: Sequence[Point | None], write: Callable[[Point], Written]) -> dict[str, list[Any]]:
    """Return mean, interval and text at each evaluation."""
    return {
        "mean": [None if point is None else _finite(point.mean) for point in found],
        "low": [None if point is None else _finite(point.low) for point in found],
        "high": [None if point is None else _finite(point.high) for point in found],
        "text": [DASH if point is None else write(point).text for point in found],
    }


def _finite(x: float | None) -> float | None:
    """Return a number that JSON can hold: six digits are more than a screen shows."""
    return float(f"{x:.6g}") if x is not None and math.isfinite(x) else None
