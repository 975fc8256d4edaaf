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
_HOURS = (1, 2, 3, 6, 12, 24)  # between numbers of an axis
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
    """Let an axis of time show whole numbers; of hours, parts of a day."""
    style.count(axis)
    if clock.scale.unit == "h":
        low, high = axes.get_xlim()
        fits = (step for step in _HOURS if each * (high - low) / step <= _MOST)
        axis.set_major_locator(MultipleLocator(next(fits, _HOURS[-1])))
