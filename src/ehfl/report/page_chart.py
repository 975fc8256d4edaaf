"""What the page's chart draws, as JSON: each arm's mean curve with its interval."""

from __future__ import annotations

import math
from typing import Any

from ehfl.analysis import Arm, Comparison, estimate
from ehfl.analysis.intervals import write_metric
from ehfl.analysis.numbers import value
from ehfl.arrays import FloatArray
from ehfl.history import Metric
from ehfl.report.looks import STRETCH

_LOSS = Metric("loss", lower_is_better=True)


def chart_data(comparison: Comparison) -> dict[str, Any]:
    """Return what page.js needs; every number is also there as the text that a reader sees."""
    metric = comparison.metric
    return {
        "metric": {
            "label": f"test {metric.name}" + (" [%]" if metric.is_share else ""),
            "factor": 100 if metric.is_share else 1,
            "limits": list(metric.bounds),
            "goal": _finite(comparison.goal),
            "goalText": f"goal: {value(metric, comparison.goal)}",
        },
        "loss": {"label": "test loss", "factor": 1, "limits": [None, None], "goal": None, "goalText": ""},
        "unit": comparison.unit,
        "stretch": STRETCH,
        "arms": [_arm(arm, metric) for arm in comparison.arms],
    }


def _arm(arm: Arm, metric: Metric) -> dict[str, Any]:
    return {
        "name": arm.name,
        "rounds": arm.evaluated.tolist(),
        "energy": [round(float(mean), 3) for mean in arm.mean_energy],
        "metric": _curve(arm.metric, metric),
        "loss": _curve(arm.loss, _LOSS),
    }


def _curve(values: FloatArray, metric: Metric) -> dict[str, list[Any]]:
    """Return mean, interval and text at each evaluation of (n_seeds, n_evaluations) values."""
    found = [estimate(column) for column in values.T]
    return {
        "mean": [_finite(point.mean) for point in found],
        "low": [_finite(point.low) for point in found],
        "high": [_finite(point.high) for point in found],
        "text": [write_metric(metric, point).text for point in found],
    }


def _finite(x: float | None) -> float | None:
    """Return a number that JSON can hold: six digits are more than a screen shows."""
    return float(f"{x:.6g}") if x is not None and math.isfinite(x) else None
