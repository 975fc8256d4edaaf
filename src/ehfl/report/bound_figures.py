"""Bounds as figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ehfl.report import style
from ehfl.report.bound_tables import four_digits
from ehfl.report.looks import Look, looks
from ehfl.theory import RULES, Verified

_MARKERS = {"constant": "o", "sqrt": "s", "linear": "^"}


def draw_slowdown(
    slow: Mapping[str, Mapping[str, float]], path: Path, *, schedulers: Mapping[str, str], about: str = ""
) -> None:
    """Draw how many times as many rounds as on mains power (the last entry) each arm takes, by step size rule.

    `schedulers` gives the registered name of each arm's scheduler by label, empty for the user's own: see `looks`.
    `about` says below what was played.
    """
    names = list(slow)[:-1] or list(slow)
    look = looks({name: schedulers[name] for name in names})
    figure = style.new_figure(5.2, 3.2)
    axes = figure.subplots()
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        heights = np.array([value if math.isfinite(value) else 1.0 for value in slow[name].values()])
        places = np.arange(heights.size) + (place - (len(names) - 1) / 2) * width
        colour, label = look[name].colour, style.shorten(name)
        bars = axes.bar(places, heights - 1, width * 0.9, bottom=1, color=colour, label=label)
        axes.bar_label(bars, [four_digits(value) for value in slow[name].values()], fontsize=7, padding=1)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(range(len(RULES) + 1), ["constant", r"$c\sqrt{n_t}$", r"$c\,n_t$", "best"])
    axes.set_xlabel("step size rule")
    axes.set_ylabel("rounds, relative to mains power")
    axes.margins(y=0.15)
    axes.legend(frameon=False, fontsize=8)
    style.tidy(axes)
    _say(figure, about)
    style.save(figure, path)


def draw_verified(results: Sequence[Verified], path: Path, *, schedulers: Mapping[str, str], about: str = "") -> None:
    """Draw measured against bound, a point an experiment with its interval, one panel per problem and K.

    `schedulers` gives the registered name of each arm's scheduler by label, empty for the user's own: see `looks`.
    `about` says below what was played.
    """
    panels = list(dict.fromkeys((r.problem, r.local_steps) for r in results))
    look = looks({r.scheduler: schedulers[r.scheduler] for r in results})
    figure = style.new_figure(7.2, 1.0 + 2.6 * math.ceil(len(panels) / 2))
    grid = figure.subplots(math.ceil(len(panels) / 2), 2, squeeze=False)
    for axes, (problem, k) in zip(grid.flat, panels, strict=False):
        _draw_panel(axes, [r for r in results if (r.problem, r.local_steps) == (problem, k)], look)
    for axes in grid[-1]:
        axes.set_xlabel("realised bound")
    for axes in grid[:, 0]:
        axes.set_ylabel("measured, weighted mean of $|\\nabla f|^2$", fontsize=8)
    _legend(figure, look)
    _say(figure, about)
    style.save(figure, path)


def _say(figure: Figure, about: str) -> None:
    if about:
        figure.supxlabel(about, fontsize=7, color="#666666", parse_math=False)


def _draw_panel(axes: Axes, results: Sequence[Verified], look: Mapping[str, Look]) -> None:
    """Draw the experiments of one problem and K, and the line on which measured is the same share of the bound."""
    for r in results:
        colour = look[r.scheduler].colour
        axes.errorbar(r.bound, r.measured, r.margin, marker=_MARKERS[r.rule], color=colour, markersize=5)
    share = float(np.mean([r.measured / r.bound for r in results]))
    ends = np.array([min(r.bound for r in results) * 0.99, max(r.bound for r in results) * 1.01])
    axes.plot(ends, share * ends, color="#999999", linewidth=0.8, zorder=0)
    title = f"{results[0].problem}, K = {results[0].local_steps}: measured = {share:.2f} x bound"
    axes.set_title(title, fontsize=9, loc="left")
    style.tidy(axes)


def _legend(figure: Figure, look: Mapping[str, Look]) -> None:
    arms = [
        Line2D([], [], color=mine.colour, linewidth=3, label=style.shorten(name, 30)) for name, mine in look.items()
    ]
    rules = [
        Line2D([], [], color="#666666", marker=marker, linestyle="", label=f"{rule} steps")
        for rule, marker in _MARKERS.items()
    ]
    figure.legend(handles=arms + rules, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
