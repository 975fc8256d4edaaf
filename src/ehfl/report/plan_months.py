"""A plan by month and by hour: what the harvest pays for beside who takes part, and when that is too few."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ehfl.arrays import FloatArray
from ehfl.planning import MONTHS, Plan
from ehfl.report import style
from ehfl.report.looks import looks

_SHORT_ROUNDS = 43_200.0  # the longest that differ by the hour of the day [s]
_FLAT = 0.1  # share of the most that participants must vary by to be worth a map
_BAR = "#D9D9D9"
MEAN, SHORT = "participants, mean", "rounds short of the target [%]"
_FEWER, _MORE_SHORT = colormaps["YlOrBr_r"], colormaps["YlOrBr"]  # dark is what to mind, on both maps


def months_figure(plan: Plan) -> Figure | None:
    """Draw how many clients a round each month's harvest pays for, beside how many take part.

    None where there is no calendar, or fewer than two months.
    """
    pays = plan.budget.sustainable_by_month
    if plan.calendar is None or pays is None or np.isfinite(pays).sum() < 2:
        return None
    look, months = looks(plan.schedulers), np.flatnonzero(np.isfinite(pays))
    figure = style.new_figure(7.2, 2.8)
    axes = figure.subplots()
    axes.bar(months, pays[months], 0.8, color=_BAR, zorder=1)
    handles: list[Line2D | Patch] = [Patch(color=_BAR, label="the harvest pays for")]
    for place, one in enumerate(plan.outlooks):
        mine, beside = look[one.label], 0.6 * ((place + 0.5) / len(plan.outlooks) - 0.5)
        means = plan.calendar.by_month(one.counts.mean(axis=0))[months]
        fill = "white" if mine.dash else mine.colour
        axes.plot(months + beside, means, mine.marker, color=mine.colour, markerfacecolor=fill, markersize=5, zorder=3)
        handles.append(Line2D([], [], color=mine.colour, markerfacecolor=fill, marker=mine.marker, linestyle="",
                              label=style.shorten(one.label)))  # fmt: skip
    for target in {one.target for one in plan.outlooks}:
        axes.axhline(target, color="#666666", linewidth=1, linestyle="--", zorder=2)
    axes.set_xticks(months, [MONTHS[month][:3] for month in months])
    axes.set_ylabel("clients a round (dashed: wanted)")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    style.tidy(axes)
    style.legend(figure, handles)
    return figure


def hours_figure(plan: Plan) -> Figure | None:
    """Draw participants by month and hour under the best scheduler, and the share of rounds that are short.

    None where the hour makes no difference: with long rounds, without a calendar, or with enough clients all the time.
    """
    maps = hour_maps(plan)
    if not maps:
        return None
    lines = int(np.isfinite(next(iter(maps.values()))).any(axis=1).sum())
    figure = style.new_figure(7.2 if len(maps) > 1 else 4.4, 1.1 + 0.16 * lines)
    panels = figure.subplots(1, len(maps), sharey=True, squeeze=False)[0]
    for axes, (title, values) in zip(panels, maps.items(), strict=True):
        image = _draw_map(axes, values, _FEWER if title == MEAN else _MORE_SHORT)
        bar = figure.colorbar(image, ax=axes, location="top", aspect=30, pad=0.03, shrink=0.9)
        bar.set_label(title, fontsize=10)
        bar.ax.tick_params(labelsize=style.SMALL)
        bar.outline.set_visible(False)
    return figure


def hour_maps(plan: Plan) -> dict[str, FloatArray]:
    """Return what is drawn by month and hour, (12, 24) each: participants if they vary, rounds short if any are."""
    calendar, best = plan.calendar, plan.best
    if calendar is None or calendar.round_length > _SHORT_ROUNDS or plan.rounds * calendar.round_length < 2 * 86_400:
        return {}
    means = calendar.by_month_and_hour(best.counts.mean(axis=0))
    short = calendar.by_month_and_hour((best.counts < best.target).mean(axis=0))
    varies = np.nanmax(means) - np.nanmin(means) > _FLAT * np.nanmax(means)
    return ({MEAN: means} if varies else {}) | ({SHORT: 100 * short} if np.nanmax(short) > 0 else {})


def _draw_map(axes: Axes, values: FloatArray, colours: Colormap) -> QuadMesh:
    """Draw cells of month and hour; a row for each month and a column for each hour that rounds begin in."""
    months = np.flatnonzero(np.isfinite(values).any(axis=1))
    hours = np.flatnonzero(np.isfinite(values).any(axis=0))
    cells = values[np.ix_(months, hours)]
    image = axes.pcolormesh(np.append(hours, 24), np.arange(months.size + 1), cells, cmap=colours, vmin=0,
                            edgecolors="face", linewidth=0.3)  # fmt: skip
    axes.set_yticks(np.arange(months.size) + 0.5, [MONTHS[month][:3] for month in months])
    axes.set_ylim(months.size, 0)  # January is above
    axes.set_xticks([0, 6, 12, 18, 24])
    axes.set_xlabel("hour of the day")
    axes.tick_params(length=0, labelsize=9)
    axes.spines[:].set_visible(False)
    return image
