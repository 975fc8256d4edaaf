"""How many times the best arm's rounds each arm takes: what theory predicts against what was measured."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ehfl.experiment.comparison import Comparison, Row
from ehfl.report import style

_MARGIN = 1.12  # room around the points, as a factor
_REACH = 1.6  # how far intervals may widen the axes, as a factor
_LOG_FROM = 3.0  # the range, as a ratio, from which the axes are logarithmic
_GREY = "#666666"


def measured(comparison: Comparison) -> tuple[Row, ...]:
    """Return the rows that have a measured slowdown to draw."""
    return tuple(row for row in comparison.rows if row.measured_slowdown is not None and math.isfinite(row.noise_limit))


def slowdown_figure(comparison: Comparison) -> Figure | None:
    """Draw measured against predicted slowdown, one or two points an arm; None where nothing was measured."""
    rows = measured(comparison)
    if len(rows) < 2:
        return None
    figure = style.new_figure(7.2, 4.2)
    axes = figure.subplots()
    low, high = limits(rows)
    _scale(axes, low, high)
    axes.plot([low, high], [low, high], color="#999999", linewidth=0.9, zorder=0)
    names = [arm.name for arm in comparison.arms]
    colours, markers = style.colours_of(names), style.markers_of(names)
    for row in rows:
        _draw_row(axes, row, colours[row.arm], markers[row.arm], (low, high))
    axes.set_xlabel("predicted slowdown (rounds, relative to the best arm)", fontsize=10)
    axes.set_ylabel("measured slowdown", fontsize=10)
    style.tidy(axes)
    axes.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.6)
    _legends(figure, axes, rows, colours, markers)
    return figure


def limits(rows: tuple[Row, ...]) -> tuple[float, float]:
    """Return the range of both axes: all points, and intervals as far as they are not absurdly wide."""
    points = [value for row in rows for value in (*_predicted(row), _mean(row))]
    low, high = min(points), max(points)
    ends = [end for row in rows for end in _interval(row)]
    lowest = max(min([low, *ends]), low / _REACH)
    highest = min(max([high, *ends]), high * _REACH)
    return lowest / _MARGIN, highest * _MARGIN


def _predicted(row: Row) -> list[float]:
    """Return the forecast, if there is one, and the noise limit."""
    forecast = row.predicted_slowdown
    return [row.noise_limit] if forecast is None or not math.isfinite(forecast) else [forecast, row.noise_limit]


def _mean(row: Row) -> float:
    assert row.measured_slowdown is not None
    return row.measured_slowdown.mean


def _interval(row: Row) -> list[float]:
    found = row.measured_slowdown
    return [] if found is None or found.low is None or found.high is None else [found.low, found.high]


def _draw_row(axes: Axes, row: Row, colour: str, marker: str, bounds: tuple[float, float]) -> None:
    """Draw one arm: filled where theory knows the constants, hollow in the noise limit, and the interval."""
    places, height = _predicted(row), _mean(row)
    axes.plot(places, [height] * len(places), color=colour, linewidth=0.9, zorder=2)
    _draw_interval(axes, places[0], _interval(row), colour, bounds)
    axes.plot(places[-1], height, marker=marker, markersize=8, color=colour, markerfacecolor="white", zorder=3)
    if len(places) == 2:
        axes.plot(places[0], height, marker=marker, markersize=6.5, color=colour, markeredgecolor="white", zorder=4)


def _draw_interval(axes: Axes, at: float, ends: list[float], colour: str, bounds: tuple[float, float]) -> None:
    """Draw the interval as far as the axes go; a cap only where it really ends."""
    if not ends:
        return
    axes.vlines(at, max(ends[0], bounds[0]), min(ends[1], bounds[1]), color=colour, linewidth=1.3, zorder=2)
    for end in ends:
        if bounds[0] < end < bounds[1]:
            axes.plot(at, end, marker="_", markersize=7, color=colour, zorder=2)


def _scale(axes: Axes, low: float, high: float) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6))
    if high / low > _LOG_FROM:
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(FixedLocator(ticks(low, high)))
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)


def ticks(low: float, high: float) -> list[float]:
    """Return plain numbers for a logarithmic axis, the finer the shorter it is.

    >>> ticks(0.9, 6), ticks(0.9, 120)
    ([1, 1.5, 2, 3, 5], [1, 2, 5, 10, 20, 50, 100])
    """
    steps = (1, 1.5, 2, 3, 5, 7) if high / low < 20 else (1, 2, 5) if high / low < 1000 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [float(f"{step * 10.0**power:.3g}") for power in powers for step in steps]
    return [int(x) if x == int(x) else x for x in found if low <= x <= high]


def _legends(
    figure: Figure, axes: Axes, rows: tuple[Row, ...], colours: dict[str, str], markers: dict[str, str]
) -> None:
    """Name the arms above the panel, and what filled and hollow markers are within it."""
    style.legend(
        figure,
        [
            Line2D([], [], color=colours[row.arm], marker=markers[row.arm], linestyle="", label=style.shorten(row.arm))
            for row in rows
        ],
    )
    kinds = [
        Line2D([], [], color="#999999", linewidth=0.9, label="measured = predicted"),
        Line2D([], [], color=_GREY, marker="o", markersize=8, markerfacecolor="white", linestyle="", label="noise limit"),
    ]
    if any(len(_predicted(row)) == 2 for row in rows):
        kinds.insert(1, Line2D([], [], color=_GREY, marker="o", linestyle="", label="with the problem's constants"))
    axes.legend(handles=kinds, loc="best", frameon=False, fontsize=style.SMALL)
