"""The paired difference to the first arm of each world over the rounds, a panel for each other arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ehfl.analysis import Comparison
from ehfl.analysis.pairing import DifferenceCurve, difference_curves
from ehfl.arrays import FloatArray
from ehfl.report.figures import style
from ehfl.report.figures.axes import added_height, name_rounds
from ehfl.report.figures.learning import band, draw_band, fit
from ehfl.report.figures.looks import Look, looks_of
from ehfl.report.write import amount

_ABREAST = 3  # panels in a row

Panels = np.ndarray[tuple[int, int], np.dtype[Any]]
Marks = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def differences_figure(comparison: Comparison) -> Figure | None:
    """Draw each arm's metric minus that of its world's first, with its interval; None where there are no pairs."""
    curves = difference_curves(comparison)
    if not curves:
        return None
    look, clock = looks_of(comparison), comparison.clock
    columns = 2 if len(curves) == 4 else min(_ABREAST, len(curves))
    rows = -(-len(curves) // columns)
    figure = style.new_figure(7.2, 0.8 + (2.4 if rows == 1 else 1.7 * rows) + added_height(clock))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    factor = 100 if comparison.metric.is_share else 1
    for axes, curve in zip(grid.flat, curves, strict=False):
        _draw_curve(axes, curve, clock.places(curve.arm, curve.rounds), look[curve.arm], factor)
        title = _title(comparison, curve.arm)
        axes.set_title(title, fontsize=10, loc="left", color=style.ink(look[curve.arm].colour))
    fit(grid[0, 0], np.concatenate([[0.0], *(factor * curve.gaps.mean(axis=0) for curve in curves)]))
    grid[0, 0].yaxis.set_major_formatter(lambda y, _: _with_sign(y))
    _label(figure, grid, comparison, len(curves))
    return figure


def clear_rounds(curve: DifferenceCurve) -> Marks:
    """Return after which rounds the interval leaves zero out, (n_points,)."""
    mean, low, high = band(curve.gaps)
    if low is None or high is None:
        return np.zeros(mean.size, dtype=bool)
    clear: Marks = (low > 0) | (high < 0)
    return clear & (high - low > 1e-9 * np.abs(mean))  # else the same with every seed, but for rounding


def _draw_curve(axes: Axes, curve: DifferenceCurve, places: FloatArray, look: Look, factor: int) -> None:
    mean, low, high = band(factor * curve.gaps)
    axes.axhline(0, color="black", linewidth=0.8, zorder=1)
    if low is not None and high is not None:
        draw_band(axes, places, low, high, look.colour, alpha=0.18)
    alone = "o" if curve.rounds.size == 1 else ""
    axes.plot(places, mean, color=look.colour, linestyle=look.line, linewidth=1.6, marker=alone, markersize=4)
    clear = clear_rounds(curve)
    axes.plot(places[clear], mean[clear], ".", color=look.colour, markersize=6, zorder=3)
    axes.margins(x=0.02)
    axes.set_xlim(left=0)
    style.tidy(axes)


def _title(comparison: Comparison, arm: str) -> str:
    """Return the arm's label; what it is compared with stands beside the axis unless there are several such arms."""
    if len(comparison.contests) == 1:
        return style.shorten(arm, 30)
    world = comparison.world(arm)
    if not world.name:
        return f"{style.shorten(arm, 30)}\nminus {style.shorten(world.baseline, 25)}"
    both = (style.shorten(world.short(label), 14) for label in (arm, world.baseline))
    return f"{style.shorten(world.name, 30)}\n{' minus '.join(both)}"


def _label(figure: Figure, grid: Panels, comparison: Comparison, used: int) -> None:
    metric = comparison.metric
    contests = comparison.contests
    to_what = f" to {style.shorten(contests[0].baseline, 30)}" if len(contests) == 1 else ""
    unit = "points" if metric.is_share else style.as_text(metric.name)
    figure.supylabel(f"difference{to_what} [{unit}]", fontsize=10)
    if comparison.clock.is_known:  # a second axis belongs to its panel
        lowest = [grid.flat[place] for place in range(max(0, used - grid.shape[1]), used)]
        name_rounds(lowest, comparison.clock)
    else:
        figure.supxlabel("rounds", fontsize=10)
    style.count(grid[0, 0].xaxis)  # which all share
    for place in range(used, grid.size):
        grid.flat[place].set_visible(False)
        grid.flat[place - grid.shape[1]].tick_params(labelbottom=True)  # the lowest of its column


def _with_sign(y: float) -> str:
    text = amount(abs(round(y, 9)))
    text = text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
    return text if not y else f"{'+' if y > 0 else '-'}{text}"
