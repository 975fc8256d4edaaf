"""How many times the best arm's rounds each arm takes: as measured, and in theory's noise limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ehfl.analysis import Comparison, Row
from ehfl.report.figures import style
from ehfl.report.figures.looks import looks_of

_MARGIN = 1.06  # room around the points, as a factor
_REACH = 1.6  # how far intervals may widen the axis, as a factor
_LOG_FROM = 3.0  # the range, as a ratio, from which the axis is logarithmic
_GREY = "#666666"
_FINE = 100.0  # the range below which a logarithmic axis has numbers between powers of ten

Range = tuple[float, float]


def measured(comparison: Comparison) -> tuple[Row, ...]:
    """Return the rows that have a measured slowdown to draw."""
    return tuple(row for row in comparison.rows if row.measured_slowdown is not None and math.isfinite(row.noise_limit))


def slowdown_figure(comparison: Comparison) -> Figure | None:
    """Draw slowdowns with intervals, and noise limits, a line an arm; None where fewer than two are."""
    rows = measured(comparison)
    if len(rows) < 2:
        return None
    figure = style.new_figure(7.2, 1.1 + 0.34 * len(rows))
    axes = figure.subplots()
    axes.axvline(1, color="black", linewidth=0.8, zorder=1)
    look = looks_of(comparison)
    for place, row in enumerate(rows):
        colour, (mean, low, high) = look[row.arm].colour, _numbers(row)
        if low < high:
            axes.errorbar(mean, place, xerr=[[mean - low], [high - mean]], color=colour, linewidth=1.6, capsize=4)
        axes.plot(mean, place, marker="o", markersize=7, color=colour, markeredgecolor="white", zorder=4)
        axes.plot(row.noise_limit, place, marker="d", markersize=7, color=_GREY, markerfacecolor="none", zorder=3)
    _scale(axes, span(rows))
    axes.set_yticks(range(len(rows)), [style.shorten(row.arm, 36) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)  # in the table's order
    measure = "time" if comparison.clock.differs else "rounds"
    best = [style.shorten(world.best, 36) for world in comparison.contests]
    relative = best[0] if len(best) == 1 else "the arm that theory calls best"
    axes.set_xlabel(f"{measure} to the goal, relative to {relative}", fontsize=10)
    style.tidy(axes)
    axes.grid(visible=True, axis="both", color="#DDDDDD", linewidth=0.6)
    bar: dict[str, Any] = {"color": _GREY, "markeredgecolor": "white", "linewidth": 1.6}
    limit = Line2D([], [], color=_GREY, marker="d", markerfacecolor="none", linestyle="", label="noise limit")
    style.legend(figure, [Line2D([], [], **bar, marker="o", label="measured"), limit])
    return figure


def span(rows: Sequence[Row]) -> Range:
    """Return the axis' ends: all means and noise limits, and intervals as far as they are not absurdly wide."""
    found = [_numbers(row) for row in rows]
    points = [1.0, *(row.noise_limit for row in rows), *(mean for mean, _, _ in found)]
    low, high = min(points) / _REACH, max(points) * _REACH
    points += [min(max(end, low), high) for _, *ends in found for end in ends]
    return min(points) / _MARGIN, max(points) * _MARGIN


def _numbers(row: Row) -> tuple[float, float, float]:
    """Return a measured slowdown and its interval's ends, which are at the mean where there is none."""
    found = row.measured_slowdown
    assert found is not None
    low, high = (found.mean if end is None else end for end in (found.low, found.high))
    return found.mean, low, high


def _scale(axes: Axes, ends: Range) -> None:
    """Set the axis: logarithmic, with plain numbers, where it is long."""
    logarithmic = ends[1] / ends[0] > _LOG_FROM
    if logarithmic:
        axes.set_xscale("log")
    axis = axes.xaxis
    numbers = (1, 2, 3, 5) if ends[1] / ends[0] < _FINE else (1,)
    axis.set_major_locator(LogLocator(subs=numbers) if logarithmic else MaxNLocator(8, steps=[1, 2, 5, 10]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    axes.set_xlim(*ends)
