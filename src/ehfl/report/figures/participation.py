"""The number of participants over time, and how it is distributed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ehfl.analysis.units import NO_CLOCK, Clock
from ehfl.arrays import FloatArray, IntArray
from ehfl.report.figures import style
from ehfl.report.figures.axes import added_height, name_rounds
from ehfl.report.figures.looks import Look
from ehfl.report.write import fixed, shown_decimals

_WINDOW = 25  # rounds of the moving mean
_BINS = 40
_FEW = 200  # rounds up to which the dots have room to be larger


def participation_figure(
    played: Mapping[str, IntArray],
    look: Mapping[str, Look],
    targets: Mapping[str, int],
    clock: Clock = NO_CLOCK,
) -> Figure:
    """Draw n_t over the rounds (left) and its histogram (right), one row an arm, on one scale.

    `played` gives n_t by arm, (n_seeds, n_rounds) each, `targets` how many were wanted where that is known. Dots are
    the first seed's; all else is of all seeds.
    """
    names = list(played)
    height = max(2.5, 0.7 + style.row_height(len(names)) * len(names))  # the label beside it needs 2.5
    figure = style.new_figure(7.2, height + added_height(clock))
    grid = figure.subplots(len(names), 2, sharey=True, sharex="col", width_ratios=(4, 1), squeeze=False)
    top = max(int(counts.max()) for counts in played.values())
    edges = _edges(top)
    for (time, bars), (name, counts) in zip(grid, played.items(), strict=True):
        places = clock.places(name, np.arange(counts.shape[1]))
        _draw_time(time, places, counts, look[name].colour, style.shorten(name))
        share = np.histogram(counts, edges)[0] / counts.size
        bars.barh((edges[:-1] + edges[1:]) / 2, share, np.diff(edges) * 0.85, color=look[name].colour)
        for axes in (time, bars):
            style.tidy(axes)
            if name in targets:  # broad and pale, so that dots on target are seen
                axes.axhline(targets[name], color="#CCCCCC", linewidth=4, zorder=0.5)
    grid[0, 0].set_ylim(-0.03 * top - 0.5, top * 1.05 + 0.5)
    grid[0, 0].yaxis.set_major_locator(MaxNLocator(5 if len(names) <= style.FEW_ROWS else 2, integer=True))
    grid[0, 0].yaxis.set_major_formatter("{x:,.0f}")
    name_rounds([grid[-1, 0]], clock, name="round", note="; ".join(_notes(played)))
    grid[-1, 1].set_xlabel("share of rounds")
    grid[-1, 1].set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    wanted = " or ".join(f"{target:,}" for target in dict.fromkeys(targets.values()))
    figure.supylabel("participants $n_t$" + (f" (grey: {wanted} wanted)" if wanted else ""), fontsize=10)
    return figure


def _notes(played: Mapping[str, IntArray]) -> list[str]:
    """Return what is drawn of how many seeds and rounds."""
    seeds = next(iter(played.values())).shape[0]
    has_line = any(counts.shape[1] >= 2 * _WINDOW for counts in played.values())
    dots = [f"dots: the first of {seeds:,} seeds"] if seeds > 1 else []
    return dots + ([f"line: mean of {_WINDOW}{' rounds, all seeds' if seeds > 1 else ''}"] if has_line else [])


def _draw_time(axes: Axes, places: FloatArray, counts: IntArray, colour: str, name: str) -> None:
    rounds = counts.shape[1]
    size, alpha = (5, 0.8) if rounds <= _FEW else (2.5, 0.35)
    axes.plot(places, counts[0], ".", markersize=size, color=colour, alpha=alpha, rasterized=rounds > 10_000)
    if rounds >= 2 * _WINDOW:
        smooth = np.convolve(counts.mean(axis=0), np.full(_WINDOW, 1 / _WINDOW), mode="valid")
        axes.plot(places[_WINDOW // 2 :][: smooth.size], smooth, color=colour, linewidth=1.4)
    # As the table has them: over all seeds, the standard deviation over the rounds of each.
    mean, deviation = float(counts.mean()), float(counts.std(axis=1).mean())
    decimals = shown_decimals(max(mean, deviation), digits=3)
    label = f"{name}   mean {fixed(mean, decimals)}, std {fixed(deviation, decimals)}"
    axes.set_title(label, fontsize=10, loc="left", color=style.ink(colour))
    axes.margins(x=0.01)


def _edges(top: int) -> NDArray[np.float64]:
    """Return bin edges around the integers 0..top, one number a bin while they are few."""
    width = max(1, -(-(top + 1) // _BINS))
    return np.arange(0, top + 1 + width, width, dtype=np.float64) - 0.5
