"""What the page's chart draws: each arm's mean curve with its interval, as JSON, and colours for day and night."""

from __future__ import annotations

import math
from typing import Any

from ehfl.energy.harvest import FloatArray
from ehfl.experiment import Arm, Comparison, Estimate, Metric, estimate
from ehfl.report import style
from ehfl.report.curves import energy_spent
from ehfl.report.numbers import in_percent, value
from ehfl.report.phrases import metric_range, with_range

_NIGHT = "#15181c"  # the page's background in dark mode, see page.css
_CONTRAST = 6.0  # of a line on it; WCAG asks for 3, and 4.5 for text
_LOSS = Metric("loss", lower_is_better=True)


def chart_data(comparison: Comparison) -> dict[str, Any]:
    """Return what page.js needs; every number is also there as the text that a reader sees."""
    metric = comparison.metric
    return {
        "metric": {
            "label": f"test {metric.name}" + (" [%]" if in_percent(metric) else ""),
            "factor": 100 if in_percent(metric) else 1,
            "limits": [0, 1] if in_percent(metric) else [None, None],
            "goal": _finite(comparison.goal),
            "goalText": f"goal: {value(metric, comparison.goal)}",
        },
        "loss": {"label": "test loss", "factor": 1, "limits": [None, None], "goal": None, "goalText": ""},
        "arms": [
            _arm(arm, metric) | {"dash": dash} for arm, dash in zip(comparison.arms, _dashes(comparison), strict=True)
        ],
    }


def colours(comparison: Comparison) -> list[tuple[str, str]]:
    """Return each arm's colour by day and by night."""
    chosen = style.colours_of([arm.name for arm in comparison.arms])
    return [(chosen[arm.name], by_night(chosen[arm.name])) for arm in comparison.arms]


def _dashes(comparison: Comparison) -> list[int]:
    """Return how many arms before each one have its colour: they must be told apart in another way."""
    by_day = [day for day, _ in colours(comparison)]
    return [by_day[:i].count(colour) for i, colour in enumerate(by_day)]


def by_night(colour: str) -> str:
    """Return the colour, mixed with as much white as a dark background asks for.

    >>> by_night("#E69F00"), by_night("#444444")
    ('#e69f00', '#989898')
    """
    rgb = _channels(colour)
    for white in range(0, 101, 5):
        mixed = [c + (1 - c) * white / 100 for c in rgb]
        if (_luminance(mixed) + 0.05) / (_luminance(_channels(_NIGHT)) + 0.05) >= _CONTRAST:
            break
    return "#" + "".join(f"{round(255 * c):02x}" for c in mixed)


def _arm(arm: Arm, metric: Metric) -> dict[str, Any]:
    return {
        "name": arm.name,
        "rounds": arm.evaluated.tolist(),
        "energy": [round(float(mean), 3) for mean in energy_spent(arm)],
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
        "text": [_text(point, metric) for point in found],
    }


def _text(point: Estimate, metric: Metric) -> str:
    return with_range(value(metric, point.mean), metric_range(metric, point))


def _finite(x: float | None) -> float | None:
    """Return a number that JSON can hold: six digits are more than a screen shows."""
    return float(f"{x:.6g}") if x is not None and math.isfinite(x) else None


def _channels(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def _luminance(rgb: list[float]) -> float:
    """Return the relative luminance (WCAG 2.1)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
