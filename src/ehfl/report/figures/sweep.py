"""Any figure of a sweep's arms against the swept value, a line an arm; of two keys, a heat map an arm."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, PercentFormatter

from ehfl.analysis import Comparison, Row
from ehfl.analysis.frames import row_numbers
from ehfl.analysis.sweep import Sweep
from ehfl.arrays import FloatArray
from ehfl.report.figures import style
from ehfl.report.figures.axes import is_logarithmic
from ehfl.report.figures.learning import keep_within, scale_heights
from ehfl.report.figures.looks import looks
from ehfl.report.write import amount
from ehfl.runs import Metric
from ehfl.validation import InvalidValue, UserError

_MOST_LINES = 8  # that a reader can tell apart; the most telling ones are drawn
_MOST_MAPS = 6
_APART = 0.01  # of the axis, between two lines at one point, whose bars would hide each other
_MOST_NUMBERS = 24  # that stand beside each other in maps
_SHARES = ("worst_class", "worst_tenth", "share_of_possible", "share_of_lowest", "waste", "lost", "labels_moved")
_LOG_FROM = 20  # the range of a swept value, as a ratio, from which its axis is logarithmic


def sweep_figure(comparison: Comparison, of: str = "final") -> Figure | None:
    """Draw a column of `Comparison.frame()` against the swept value; None where the comparison is not a sweep."""
    sweep = Sweep.of(comparison)
    if sweep is None:
        return None
    numbers = row_numbers(comparison.rows[0]).items()
    known = [name for name, x in numbers if not isinstance(x, str) and not name.endswith(("_low", "_high"))]
    if of not in known:
        raise InvalidValue("of", f"one of {', '.join(known)}", of)
    return _maps(comparison, sweep, of) if sweep.is_grid else _lines(comparison, sweep, of)


def sweep_caption(comparison: Comparison) -> str:
    """Return the caption of the figure of a sweep."""
    sweep = Sweep.of(comparison)
    assert sweep is not None
    most, metric = _MOST_MAPS if sweep.is_grid else _MOST_LINES, comparison.metric.name
    bars = "; bars are 95 % t-intervals over seeds" if comparison.most_seeds > 1 and not sweep.is_grid else ""
    left_out = len(sweep.lines) - most
    note = f" {left_out} arms are left out: those that differ least from the first." if left_out > 0 else ""
    return f"{metric.capitalize()} after the last round against {' and '.join(sweep.keys)}{bars}.{note}"


def draw_sweep(comparison: Comparison, path: str | os.PathLike[str], of: str = "final") -> None:
    """Write the figure of a sweep; `of` is a column of `Comparison.frame()`, such as "participants"."""
    figure = sweep_figure(comparison, of)
    if figure is None:
        raise UserError(f"{comparison.name} is not a sweep: its arms have no points")
    style.save(figure, Path(path))


def _lines(comparison: Comparison, sweep: Sweep, of: str) -> Figure:
    figure = style.new_figure(7.2, 3.4)
    axes = figure.subplots()
    places = _place_points(axes, sweep)
    found, heights = looks(dict(list(sweep.lines.items())[:_MOST_LINES])), []
    for at, (line, look) in enumerate(found.items()):
        rows = [sweep.rows.get((line, point)) for point in sweep.points]
        xs = [place for place, row in zip(places, rows, strict=True) if row is not None]
        numbers = [row_numbers(row) for row in rows if row is not None]
        means, low, high = (np.array([one.get(name, math.nan) for one in numbers], dtype=float)
                            for name in (of, f"{of}_low", f"{of}_high"))  # fmt: skip
        heights.append(means[None])
        beside = _aside(axes, places, np.array(xs), at - (len(found) - 1) / 2)
        axes.errorbar(beside, means, (means - low, high - means), color=look.colour, linestyle=look.line, linewidth=1.6,
                      elinewidth=1.0, marker=look.marker, markersize=5)  # fmt: skip
    metric = _metric(comparison, of)
    axes.set_ylabel(_label(comparison, of), fontsize=10)
    keep_within(axes, metric)
    scale_heights(axes, heights, metric)
    if metric.is_share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None, symbol=" %"))
    style.tidy(axes)
    if len(found) > 1:
        handles = [Line2D([], [], color=look.colour, linestyle=look.line, marker=look.marker,
                          label=style.shorten(line, 36)) for line, look in found.items()]  # fmt: skip
        style.legend(figure, handles)
    return figure


def _place_points(axes: Axes, sweep: Sweep) -> Sequence[float]:
    """Return where points stand on the x axis: at their value if it is a finite number, else side by side in order."""
    values = [next(iter(point.values())) for point in sweep.points.values()]
    axes.set_xlabel(style.as_text(", ".join(sweep.keys)), fontsize=10)
    if len(sweep.keys) == 1 and all(isinstance(x, int | float) and math.isfinite(x) for x in values):
        if min(values) > 0 and max(values) / min(values) >= _LOG_FROM:
            axes.set_xscale("log")
        axes.set_xticks(values, [f"{x:g}" for x in values])
        axes.minorticks_off()
        return values
    names = [", ".join(map(_text, point.values())) for point in sweep.points.values()]
    axes.set_xticks(range(len(names)), [style.shorten(name, 20) for name in names], rotation=45 * (len(names) > 8))
    return range(len(names))


def _aside(axes: Axes, places: Sequence[float], xs: FloatArray, steps: float) -> FloatArray:
    """Return places on the x axis moved by some steps."""
    first, last = float(min(places)), float(max(places))
    if axes.get_xscale() == "log":
        factor: float = (last / first) ** (_APART * steps)
        return xs * factor
    return xs + (last - first) * _APART * steps


def _maps(comparison: Comparison, sweep: Sweep, of: str) -> Figure:
    """Draw a heat map for each line, with one scale of colours."""
    columns, rows = (list(dict.fromkeys(point[key] for point in sweep.points.values())) for key in sweep.keys)
    lines = list(sweep.lines)[:_MOST_MAPS]
    cells = {tuple(point.values()): name for name, point in sweep.points.items()}
    maps = [np.array([[_number(sweep.rows.get((line, cells[x, y])), of) for x in columns] for y in rows])
            for line in lines]  # fmt: skip
    metric = _metric(comparison, of)
    log = is_logarithmic([found.reshape(1, -1) for found in maps], metric)
    norm = (LogNorm if log else Normalize)(float(np.nanmin(maps)), float(np.nanmax(maps)))
    across = 2 if len(lines) == 4 else min(3, len(lines))
    down = -(-len(lines) // across)
    figure = style.new_figure(7.2, down * (0.9 + 0.34 * len(rows)))
    panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes, line, found in zip(panels.flat, lines, maps, strict=False):
        image = axes.imshow(found, cmap="cividis", norm=norm, aspect="auto", origin="lower")
        axes.set_title(style.shorten(line, 70 // across), fontsize=9)
        axes.set_xticks(range(len(columns)), map(_text, columns), fontsize=8)
        axes.set_yticks(range(len(rows)), map(_text, rows), fontsize=8)
        if len(columns) * across <= _MOST_NUMBERS:
            for (y, x), number in np.ndenumerate(found):
                shown = f"{100 * number:.1f}" if metric.is_share else amount(float(number))
                ink = "white" if norm(number) < 0.5 else "black"
                axes.text(x, y, shown, ha="center", va="center", fontsize=7, color=ink)
    for axes in panels.flat[len(lines) :]:
        axes.set_axis_off()
    figure.supxlabel(style.as_text(sweep.keys[0]), fontsize=10)
    figure.supylabel(style.as_text(sweep.keys[1]), fontsize=10)
    numbers: Any = PercentFormatter(1.0, symbol=" %") if metric.is_share else FuncFormatter(lambda x, _: f"{x:.3g}")
    figure.colorbar(image, ax=panels, format=numbers).set_label(_label(comparison, of), fontsize=9)
    return figure


def _metric(comparison: Comparison, of: str) -> Metric:
    """Return what values are: the comparison's metric, a share, or a number without bounds."""
    return (
        comparison.metric if of in ("final", "area") else Metric(of, bounds=(0, 1) if of in _SHARES else (None, None))
    )


def _number(row: Row | None, of: str) -> float:
    return math.nan if row is None else float(row_numbers(row)[of])


def _label(comparison: Comparison, of: str) -> str:
    return f"final {style.as_text(comparison.metric.name)}" if of == "final" else of.replace("_", " ")


def _text(x: object) -> str:
    return style.as_text(f"{x:g}" if isinstance(x, int | float) else str(x))
