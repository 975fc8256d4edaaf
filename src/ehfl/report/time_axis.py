"""The axis of rounds: hours or days on a second axis below it or, where rounds differ in length, in its place."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import MultipleLocator

from ehfl.analysis.clock import Clock
from ehfl.report import style

_BELOW = 33  # where the second axis lies: below the numbers and the name of the first [points]
# Between numbers of an axis, by its unit: parts of a minute, an hour, a day, and weeks.
_STEPS = {
    "h": (1, 2, 3, 6, 12, 24),
    "days": (1, 2, 7, 14, 28, 56, 91, 182, 364),
    "min": (5, 10, 15, 30),
    "s": (5, 15, 30),
}
_MOST = 8  # intervals between them


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
    """Let an axis of time show whole numbers that people count it by, if any of them has room."""
    style.count(axis)
    low, high = axes.get_xlim()
    fits = (step for step in _STEPS[clock.scale.unit] if each * (high - low) / step <= _MOST)
    if step := next(fits, 0):
        axis.set_major_locator(MultipleLocator(step))
