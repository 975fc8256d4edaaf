"""What more or less of a thing would do: the share of rounds with enough clients, by battery, panel and clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator, PercentFormatter

from ehfl.planning import Curve, Plan
from ehfl.report import style
from ehfl.report.looks import looks

_LOW = 0.5  # share of rounds below which the axis begins at zero
_LONG = 5  # letters of a label that are still drawn level
_NOW: dict[str, Any] = {"color": "#BBBBBB", "linewidth": 4}
_WANTED: dict[str, Any] = {"color": "#666666", "linewidth": 1, "linestyle": "--"}
_FOUND: dict[str, Any] = {"color": "black", "marker": "*", "markersize": 10, "linestyle": ""}


def curves_figure(plan: Plan) -> Figure | None:
    """Draw a panel for each curve; None where none was played."""
    if not plan.curves:
        return None
    figure = style.new_figure(7.2 if len(plan.curves) > 1 else 4.4, 2.9)
    panels = figure.subplots(1, len(plan.curves), sharey=True, squeeze=False)[0]
    colour = looks(plan.schedulers)[plan.curves[0].scheduler].colour
    for axes, curve in zip(panels, plan.curves, strict=True):
        _draw(axes, plan, curve, colour)
    panels[0].set_ylabel(f"rounds with {wanted_clients(plan):,} or more")
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    least = min(float(curve.shares.min()) for curve in plan.curves)
    panels[0].set_ylim(-0.03 if least < _LOW else 1 - 1.15 * (1 - least) - 0.005, 1.03 if least < _LOW else 1.005)
    style.legend(figure, _handles(plan, colour))
    return figure


def wanted_clients(plan: Plan) -> int:
    """Return how many clients the shares of curves are of."""
    return plan.best.target if plan.want is None else plan.want.clients


def _draw(axes: Axes, plan: Plan, curve: Curve, colour: str) -> None:
    style.tidy(axes)
    axes.set_xscale("log")
    axes.axvline(curve.now, zorder=0.5, **_NOW)
    if plan.want is not None:
        axes.axhline(plan.want.share, zorder=1, **_WANTED)
    if curve.shares.shape[1] > 1:
        axes.plot(curve.values, curve.shares, color=colour, linewidth=0.7, alpha=0.5)
    axes.plot(curve.values, curve.shares.mean(axis=1), color=colour, linewidth=1.6, marker="o", markersize=3.5)
    if plan.answer is not None and _is_found(plan, curve):
        axes.plot([plan.answer.value], [plan.answer.share], zorder=4, **_FOUND)
    axes.xaxis.set_minor_locator(NullLocator())
    unit, ticks = in_one_unit(curve.shown)
    axes.set_xticks(curve.values, [style.as_text(text) for text in ticks])
    if max(map(len, ticks)) > _LONG:
        for label in axes.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")
    axes.set_xlabel(f"{curve.name} [{unit}]" if unit and unit != curve.name else curve.name)
    room = 0.06 * np.log(curve.values[-1] / curve.values[0]) if len(curve.values) > 1 else 0.5
    axes.set_xlim(curve.values[0] * np.exp(-room), curve.values[-1] * np.exp(room))


def in_one_unit(shown: Sequence[str]) -> tuple[str, list[str]]:
    """Return the unit that all texts share, for the axis, and the texts without it; else none, and the texts.

    >>> in_one_unit(["2.5 Wh", "5 Wh"]), in_one_unit(["500 mW", "1 W"]), in_one_unit(["1 unit", "2 units"])
    (('Wh', ['2.5', '5']), ('', ['500 mW', '1 W']), ('units', ['1', '2']))
    """
    numbers, units = zip(*(text.split(maxsplit=1) for text in shown), strict=True)
    several = {"units" if unit == "unit" else unit for unit in units}
    return ("", list(shown)) if len(several) > 1 else (several.pop(), list(numbers))


def _is_found(plan: Plan, curve: Curve) -> bool:
    """Return whether the inverse was asked for what a curve varies."""
    found = plan.answer is not None and plan.answer.found
    return found and plan.free is not None and plan.free.name == curve.name


def _handles(plan: Plan, colour: str) -> list[Line2D]:
    seeds = len(plan.seeds)
    label = f"mean of {seeds} seeds" if seeds > 1 else "one seed"
    handles = [Line2D([], [], color=colour, linewidth=1.6, marker="o", markersize=3.5, label=label)]
    if seeds > 1:
        handles.append(Line2D([], [], color=colour, linewidth=0.7, alpha=0.5, label="single seeds"))
    handles.append(Line2D([], [], label="now", **_NOW))
    if plan.want is not None:
        handles.append(Line2D([], [], label="wanted", **_WANTED))
    if any(_is_found(plan, curve) for curve in plan.curves):
        handles.append(Line2D([], [], label="smallest that does it", **_FOUND))
    return handles
