"""What the page's chart draws, as JSON: each arm's mean curve with its interval."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from markupsafe import Markup

from ehfl.analysis import Arm, Comparison, Difference, Estimate, difference, estimate
from ehfl.analysis.pairing import DifferenceCurve, difference_curves
from ehfl.analysis.served import worst_class_curve
from ehfl.analysis.units import Scale
from ehfl.arrays import FloatArray
from ehfl.report.figures.axes import LOSS, STRETCH, is_logarithmic
from ehfl.report.tables import cells
from ehfl.report.tables.comparison import ACCURACY
from ehfl.report.tables.render import Cell
from ehfl.report.write import DASH, value
from ehfl.runs import Metric


@dataclass(frozen=True, slots=True)
class Chart:
    """What the page needs around the chart, and the chart's data."""

    heights: tuple[tuple[str, str], ...]  # values of the vertical axis, each with its label
    along: tuple[tuple[str, str], ...]  # and of the horizontal one
    note: str
    data: dict[str, Any]

    @classmethod
    def of(cls, comparison: Comparison) -> Chart:
        """Return the chart of a comparison."""
        data = chart_data(comparison)
        heights = [("metric", comparison.metric.name), ("loss", "loss")]
        heights += [("worst", "worst class")] if any(arm["worst"] for arm in data["arms"]) else []
        paired = any(arm["difference"] for arm in data["arms"])
        heights += [("difference", f"difference to {data['difference']['goalText']}")] if paired else []
        time = [("time", "time")] if comparison.clock.is_known else []
        one_seed = all(len(arm.seeds) == 1 for arm in comparison.arms)
        lines = "Lines are single runs" if one_seed else "Lines are means over seeds, bands 95 % intervals"
        pairs = " Differences are between runs with the same weather, data and first model." if paired else ""
        note = f"{lines}.{pairs} Energy is what training has used [{data['unit']}]."
        point = "Point at the chart for values, or use the arrow keys."
        return cls(tuple(heights), (("rounds", "rounds"), *time, ("energy", "energy spent")), f"{note} {point}", data)

    @property
    def json(self) -> Markup:
        """The data as JSON in which no character can end the script element around it."""
        text = json.dumps(self.data, allow_nan=False, separators=(",", ":"))
        return Markup(text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026"))


def chart_data(comparison: Comparison) -> dict[str, Any]:
    """Return what page.js needs; every number is also there as the text that a reader sees."""
    metric, arms = comparison.metric, comparison.arms
    energy = comparison.energy_scale(max(float(arm.mean_energy[-1]) for arm in arms))
    gaps = {curve.arm: curve for curve in difference_curves(comparison)}
    factor, unit = (100, "points") if metric.is_share else (1, metric.name)
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
        "difference": _axis(f"difference to {_baseline(comparison)} [{unit}]", factor=factor)
        | {"goal": 0, "goalText": _baseline(comparison)},
        "worst": _axis("test accuracy of the worst class [%]", factor=100) | {"limits": [0, 1]},
        "stretch": STRETCH,
        "unit": energy.unit,
        "x": "time" if comparison.clock.differs else "rounds",  # first, if rounds differ in length
        **({"time": {"unit": comparison.clock.scale.unit}} if comparison.clock.is_known else {}),
        "arms": [_arm(comparison, arm, energy, gaps.get(arm.name)) for arm in arms],
    }


def _axis(label: str, *, factor: int = 1, log: bool = False) -> dict[str, Any]:
    return {"label": label, "factor": factor, "limits": [None, None], "log": log, "goal": None, "goalText": ""}


def _baseline(comparison: Comparison) -> str:
    """Return what differences are to, in few words."""
    return comparison.contests[0].baseline if len(comparison.contests) == 1 else "its baseline"


def _arm(comparison: Comparison, arm: Arm, energy: Scale, gaps: DifferenceCurve | None) -> dict[str, Any]:
    metric, clock = comparison.metric, comparison.clock
    worst = worst_class_curve(arm)  # None where there are no classes
    times = {"time": clock.times(arm.name, arm.evaluated).round(6).tolist()} if clock.is_known else {}
    return {
        "name": arm.name,
        "rounds": arm.evaluated.tolist(),
        "energy": [round(float(mean), 3) for mean in energy.of(arm.mean_energy)],
        **times,
        "metric": _seeds(metric, arm.metric),
        "loss": _seeds(LOSS, arm.loss),
        "difference": None if gaps is None else _curve(_gaps_at(arm, gaps), partial(cells.gap, metric)),
        "worst": None if worst is None else _seeds(ACCURACY, worst),
    }


def _seeds(metric: Metric, values: FloatArray) -> dict[str, list[Any]]:
    """Return the mean curve of values, (n_seeds, n_points)."""
    return _curve([estimate(column) for column in values.T], partial(cells.metric, metric))


def _gaps_at(arm: Arm, gaps: DifferenceCurve) -> list[Difference | None]:
    """Return the difference at each evaluation of the arm, None where the other arm was not evaluated."""
    known = {
        after: difference(column, [0.0] * len(column))
        for after, column in zip(gaps.rounds.tolist(), gaps.gaps.T, strict=True)
    }
    return [known.get(after) for after in arm.evaluated.tolist()]


Point = TypeVar("Point", Estimate, Difference)


def _curve(found: Sequence[Point | None], write: Callable[[Point], Cell]) -> dict[str, list[Any]]:
    """Return mean, interval and text at each evaluation."""
    return {
        "mean": [None if point is None else _finite(point.mean) for point in found],
        "low": [None if point is None else _finite(point.low) for point in found],
        "high": [None if point is None else _finite(point.high) for point in found],
        "text": [DASH if point is None else write(point).sentence for point in found],
    }


def _finite(x: float | None) -> float | None:
    """Return a number that JSON can hold: six digits are more than a screen shows."""
    return float(f"{x:.6g}") if x is not None and math.isfinite(x) else None
