"""Axes: which part of them values take, in figures and on the page alike; rounds, with hours or days below them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import MultipleLocator

from ehfl.analysis.units import Clock
from ehfl.arrays import FloatArray
from ehfl.report.figures import style
from ehfl.runs import Metric

# How far bands and the goal may widen an axis beyond the means, as a share of the means' range: bands of few seeds can
# be so wide that the means would look like one line.
STRETCH = 0.25
LOSS = Metric("loss", lower_is_better=True)
_BELOW = 33  # where the second axis lies: below the numbers and the name of the first [points]
# Between numbers of an axis, by its unit: parts of a minute, an hour, a day, and weeks.
_STEPS = {
    "h": (1, 2, 3, 6, 12, 24),
    "days": (1, 2, 7, 14, 28, 56, 91, 182, 364),
    "min": (5, 10, 15, 30),
    "s": (5, 15, 30),
}
_MOST = 8  # intervals between them


def is_logarithmic(curves: Sequence[FloatArray], metric: Metric) -> bool:
    """Return whether an axis must be logarithmic to show the curves' last rounds; curves are (n_seeds, n_points).

    So it is where means over seeds span more than a factor of ten and none is zero; a share's axis is linear.

    >>> falling = np.array([[1.0, 0.1, 0.01], [1.2, 0.2, 0.02]])
    >>> is_logarithmic([falling], LOSS), is_logarithmic([falling], Metric("error rate", bounds=(0, 1)))
    (True, False)
    """
    means = np.concatenate([curve.mean(axis=0) for curve in curves])
    return not metric.is_share and bool(0 < means.min() < means.max() / 10)


def added_height(clock: Clock) -> float:
    """Return how much taller a figure must be for its panels to keep their height [inch]."""
    return 0.5 if clock.is_known and not clock.differs else 0.0


def name_rounds(panels: Iterable[Axes], clock: Clock, *, name: str = "rounds", note: str = "") -> None:
    """Say on the lowest panels what their x axis is; a note stands behind its name."""
    for axes in panels:
        shown = f"time [{clock.scale.unit}]" if clock.differs else name
        axes.set_xlabel(f"{shown} ({note})" if note else shown, fontsize=10)
        if clock.differs:
            _number(axes.xaxis, axes, clock, 1.0)
            continue
        style.count(axes.xaxis)
        if clock.is_known:
            _add_time(axes, clock)


def _add_time(axes: Axes, clock: Clock) -> None:
    """Draw a second axis below the one of rounds."""
    (length,) = set(clock.lengths.values())
    each = clock.scale.of(length)
    functions = (lambda rounds: np.multiply(rounds, each), lambda time: np.divide(time, each))
    below = axes.secondary_xaxis("bottom", functions=functions)
    below.spines["bottom"].set_position(("outward", _BELOW))
    below.set_xlabel(clock.scale.unit, fontsize=10)
    below.tick_params(labelsize=9)
    _number(below.xaxis, axes, clock, each)


def _number(axis: Axis, axes: Axes, clock: Clock, each: float) -> None:
    """Let an axis of time show multiples of a natural step (12 h, 7 days), if any of them fits."""
    style.count(axis)
    low, high = axes.get_xlim()
    fits = (step for step in _STEPS[clock.scale.unit] if each * (high - low) / step <= _MOST)
    if step := next(fits, 0):
        axis.set_major_locator(MultipleLocator(step))
