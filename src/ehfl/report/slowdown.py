"""How many times the best arm's rounds each arm takes: as measured, against theory's noise limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ehfl.analysis import Comparison, Row
from ehfl.report import style
from ehfl.report.looks import Look, looks_of

_MARGIN = 1.12  # room around the points, as a factor
_REACH = 1.6  # how far intervals may widen the axes, as a factor
_LOG_FROM = 3.0  # the range, as a ratio, from which the axes are logarithmic

Range = tuple[float, float]


def measured(comparison: Comparison) -> tuple[Row, ...]:
    """Return the rows that have a measured slowdown to draw."""
    return tuple(row for row in comparison.rows if row.measured_slowdown is not None and math.isfinite(row.noise_limit))


def slowdown_figure(comparison: Comparison) -> Figure | None:
    """Draw measured slowdown against the noise limit, a point an arm; None where fewer than two were measured."""
    rows = measured(comparison)
    if len(rows) < 2:
        return None
    figure = style.new_figure(7.2, 4.0)
    axes = figure.subplots()
    across, up = _span([row.noise_limit for row in rows]), heights(rows)
    _scale(axes, across, up)
    ends = min(across[0], up[0]), max(across[1], up[1])
    axes.plot(ends, ends, color="#999999", linewidth=0.9, zorder=0)
    look = looks_of(comparison)
    for row in rows:
        _draw_row(axes, row, look[row.arm], up)
    axes.set_xlabel(f"noise limit (rounds, relative to {style.shorten(comparison.best, 36)})", fontsize=10)
    axes.set_ylabel("measured slowdown", fontsize=10)
    style.tidy(axes)
    axes.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.6)
    _legends(figure, rows, look)
    return figure


def heights(rows: Sequence[Row]) -> Range:
    """Return the range of the measured axis: all means, and intervals as far as they are not absurdly wide."""
    means = [_mean(row) for row in rows]
    ends = [end for row in rows for end in _interval(row)]
    low, high = min(means) / _REACH, max(means) * _REACH
    return _span([*means, *(min(max(end, low), high) for end in ends)])


def _span(points: Sequence[float]) -> Range:
    return min(points) / _MARGIN, max(points) * _MARGIN


def _mean(row: Row) -> float:
    assert row.measured_slowdown is not None
    return row.measured_slowdown.mean


def _interval(row: Row) -> list[float]:
    found = row.measured_slowdown
    return [] if found is None or found.low is None or found.high is None else [found.low, found.high]


def _draw_row(axes: Axes, row: Row, look: Look, bounds: Range) -> None:
    """Draw one arm: its point and the interval."""
    _draw_interval(axes, row.noise_limit, _interval(row), look.colour, bounds)
    axes.plot(row.noise_limit, _mean(row), marker=look.marker, markersize=6.5, color=look.colour,
              markeredgecolor="white", zorder=4)  # fmt: skip


def _draw_interval(axes: Axes, at: float, ends: list[float], colour: str, bounds: Range) -> None:
    """Draw the interval as far as the axes go; a cap only where it really ends."""
    if not ends:
        return
    axes.vlines(at, max(ends[0], bounds[0]), min(ends[1], bounds[1]), color=colour, linewidth=1.3, zorder=2)
    for end in ends:
        if bounds[0] < end < bounds[1]:
            axes.plot(at, end, marker="_", markersize=7, color=colour, zorder=2)


def _scale(axes: Axes, across: Range, up: Range) -> None:
    """Set both axes: logarithmic, with plain numbers, where one of them is long."""
    logarithmic = max(across[1] / across[0], up[1] / up[0]) > _LOG_FROM
    if logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    for axis, (low, high) in ((axes.xaxis, across), (axes.yaxis, up)):
        axis.set_major_locator(FixedLocator(ticks(low, high)) if logarithmic else MaxNLocator(6, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    axes.set_xlim(*across)
    axes.set_ylim(*up)


def ticks(low: float, high: float) -> list[float]:
    """Return plain numbers for a logarithmic axis, the finer the shorter it is.

    >>> ticks(0.9, 6), ticks(0.9, 120)
    ([1, 1.5, 2, 3, 5], [1, 2, 5, 10, 20, 50, 100])
    """
    if high / low < 2:
        return [float(x) for x in MaxNLocator(6).tick_values(low, high) if low <= x <= high]
    steps = (
        (1, 1.5, 2, 3, 5, 7)
        if high / low < 8
        else (1, 2, 3, 5)
        if high / low < 30
        else (1, 2, 5)
        if high / low < 1000
        else (1,)
    )
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [float(f"{step * 10.0**power:.3g}") for power in powers for step in steps]
    return [int(x) if x == int(x) else x for x in found if low <= x <= high]


def _legends(figure: Figure, rows: Sequence[Row], look: Mapping[str, Look]) -> None:
    """Name the arms above the panel, and below it what the line is."""
    arms = [(style.shorten(row.arm, 36), look[row.arm]) for row in rows]
    style.legend(
        figure,
        [Line2D([], [], color=mine.colour, marker=mine.marker, linestyle="", label=name) for name, mine in arms],
    )
    equal = Line2D([], [], color="#999999", linewidth=0.9, label="measured = noise limit")
    figure.legend(handles=[equal], loc="outside lower center", frameon=False, fontsize=style.SMALL)
