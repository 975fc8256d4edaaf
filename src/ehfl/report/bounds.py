"""Bounds as tables and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.table import Table

from ehfl.report import style
from ehfl.report.tables import side_by_side
from ehfl.theory import RULES, Promise, Verified

_MARKERS = {"constant": "o", "sqrt": "s", "linear": "^"}
_STEPS = {"constant": "constant", "sqrt": "c sqrt(n_t)", "linear": "c n_t"}


def promise_table(promises: Mapping[str, Promise], slow: Mapping[str, Mapping[str, float]], local_steps: int) -> Table:
    """Return the bounds of schedulers side by side, and their slowdown against mains power."""
    number = 1 if local_steps == 1 else 2
    table = side_by_side(promises)
    rows: dict[str, list[str]] = {
        "participants": [f"{p.n_min} to {p.n_max}" for p in promises.values()],
        f"Theorem {number} as printed": [_number(p.printed) for p in promises.values()],
        "  corrected": [_number(p.corrected) for p in promises.values()],
        "  needs n_min >= 1": ["yes" if p.n_min >= 1 else f"no: {p.n_min}" for p in promises.values()],
        "  eta / largest allowed": [f"{p.eta / p.largest_eta:.2g}" for p in promises.values()],
        "  eta / largest as printed": [f"{p.eta / p.largest_eta_printed:.2g}" for p in promises.values()],
    }
    for rule in RULES:
        rows[f"realised, steps {_STEPS[rule]}"] = [_number(p.realised[rule]) for p in promises.values()]
    rows["realised, best steps"] = [_number(p.best) for p in promises.values()]
    for rule in (*RULES, "best"):
        label = f"rounds x mains, {_STEPS.get(rule, rule)}"
        rows[label] = [_number(slow[name][rule]) for name in promises]
    for label, cells in rows.items():
        table.add_row(label, *cells)
    return table


def verified_table(results: Sequence[Verified]) -> Table:
    """Return measured/bound of each experiment, schedulers side by side; a star where the bound is broken."""
    schedulers = list(dict.fromkeys(result.scheduler for result in results))
    widest = max(result.margin / result.measured for result in results)
    broken = sum(not result.holds for result in results)
    caption = f"95 % intervals within {widest:.1%} of the measurement; bounds broken: {broken} of {len(results)}"
    table = side_by_side(schedulers, caption)
    for problem, k, rule in dict.fromkeys((r.problem, r.local_steps, r.rule) for r in results):
        cells = [
            f"{r.measured:.3f}/{r.bound:.3f}{'' if r.holds else '*'}"
            for r in results
            if (r.problem, r.local_steps, r.rule) == (problem, k, rule)
        ]
        table.add_row(f"{problem} K={k} {rule}", *cells)
    return table


def draw_slowdown(slow: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """Draw how many times as many rounds as on mains power (the last entry) each scheduler takes, by rule."""
    names = list(slow)[:-1] or list(slow)
    colours = style.colours_of(names)
    figure = style.new_figure(5.2, 3.2)
    axes = figure.subplots()
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        heights = np.array([value if math.isfinite(value) else 1.0 for value in slow[name].values()])
        places = np.arange(heights.size) + (place - (len(names) - 1) / 2) * width
        bars = axes.bar(places, heights - 1, width * 0.9, bottom=1, color=colours[name], label=name)
        axes.bar_label(bars, [_number(value) for value in slow[name].values()], fontsize=7, padding=1)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(range(len(RULES) + 1), ["constant", r"$c\sqrt{n_t}$", r"$c\,n_t$", "best"])
    axes.set_xlabel("step size rule")
    axes.set_ylabel("rounds, relative to mains power")
    axes.margins(y=0.15)
    axes.legend(frameon=False, fontsize=8)
    style.tidy(axes)
    style.save(figure, path)


def draw_verified(results: Sequence[Verified], path: Path) -> None:
    """Draw measured against bound, a point an experiment with its interval, one panel per problem and K."""
    panels = list(dict.fromkeys((r.problem, r.local_steps) for r in results))
    colours = style.colours_of(list(dict.fromkeys(r.scheduler for r in results)))
    figure = style.new_figure(7.2, 1.0 + 2.6 * math.ceil(len(panels) / 2))
    grid = figure.subplots(math.ceil(len(panels) / 2), 2, squeeze=False)
    for axes, (problem, k) in zip(grid.flat, panels, strict=False):
        here = [r for r in results if (r.problem, r.local_steps) == (problem, k)]
        for r in here:
            axes.errorbar(
                r.bound, r.measured, r.margin, marker=_MARKERS[r.rule], color=colours[r.scheduler], markersize=5
            )
        share = float(np.mean([r.measured / r.bound for r in here]))
        ends = np.array([min(r.bound for r in here) * 0.99, max(r.bound for r in here) * 1.01])
        axes.plot(ends, share * ends, color="#999999", linewidth=0.8, zorder=0)
        axes.set_title(f"{problem}, K = {k}: measured = {share:.2f} x bound", fontsize=9, loc="left")
        style.tidy(axes)
    for axes in grid[-1]:
        axes.set_xlabel("realised bound")
    for axes in grid[:, 0]:
        axes.set_ylabel("measured, weighted mean of $|\\nabla f|^2$", fontsize=8)
    _legend(figure, colours)
    style.save(figure, path)


def _legend(figure: Figure, colours: Mapping[str, str]) -> None:
    schedulers = [Line2D([], [], color=colour, linewidth=3, label=name) for name, colour in colours.items()]
    rules = [
        Line2D([], [], color="#666666", marker=marker, linestyle="", label=f"{rule} steps")
        for rule, marker in _MARKERS.items()
    ]
    figure.legend(handles=schedulers + rules, loc="outside upper center", ncols=4, frameon=False, fontsize=8)


def _number(value: float) -> str:
    return f"{value:.4g}"
