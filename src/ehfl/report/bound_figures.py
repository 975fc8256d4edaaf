"""Bounds as figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ehfl.analysis.numbers import fixed, shown_decimals
from ehfl.report import style
from ehfl.report.looks import Look, looks
from ehfl.theory import Verified

_TITLES = {"constant": "constant steps", "sqrt": r"$c\sqrt{n_t}$", "linear": r"$c\,n_t$", "best": "best steps"}
_MARKERS = {"constant": "o", "sqrt": "s", "linear": "^"}


def draw_slowdown(
    slow: Mapping[str, Mapping[str, float]], path: Path, *, schedulers: Mapping[str, str], about: str = ""
) -> None:
    """Draw how many more rounds than on mains power (the last entry) each arm takes, a panel for each step size rule.

    `schedulers` gives the registered name of each arm's scheduler by label, empty for the user's own: see `looks`.
    `about` says what was played.
    """
    names = list(slow)[:-1] or list(slow)
    look = looks({name: schedulers[name] for name in names})
    figure = style.new_figure(7.2, 1.3 + 0.3 * len(names))
    panels = figure.subplots(1, len(_TITLES), sharey=True, sharex=True)
    for axes, (rule, title) in zip(panels, _TITLES.items(), strict=True):
        extra = [100 * (slow[name][rule] - 1) for name in names]
        drawn = [value if math.isfinite(value) else 0.0 for value in extra]
        bars = axes.barh(range(len(names)), drawn, 0.7, color=[look[name].colour for name in names])
        axes.bar_label(bars, [_extra(value) for value in extra], fontsize=style.SMALL, padding=2)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_title(title, fontsize=10, loc="left")
        style.tidy(axes)
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.35)  # for the numbers beside the bars
    panels[0].set_yticks(range(len(names)), [style.shorten(name, 30) for name in names])
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel("extra rounds to the same bound as on mains power [%], one seed", fontsize=10)
    figure.suptitle(about, fontsize=style.SMALL, color="#444444", parse_math=False)
    style.save(figure, path)


def _extra(percent: float) -> str:
    """Return extra rounds to two digits.

    >>> _extra(0.837), _extra(13.14), _extra(326.4), _extra(float("inf"))
    ('+0.84', '+13', '+326', 'never')
    """
    return fixed(percent, shown_decimals(abs(percent)), "+") if math.isfinite(percent) else "never"


def draw_verified(results: Sequence[Verified], path: Path, *, schedulers: Mapping[str, str], about: str = "") -> None:
    """Draw measured against bound, a point an experiment with its interval, one panel per problem and K.

    `schedulers` gives the registered name of each arm's scheduler by label, empty for the user's own: see `looks`.
    `about` says what was played.
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
    figure.supxlabel(about, fontsize=style.SMALL, color="#444444", parse_math=False)  # legends have the top
    style.save(figure, path)


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
