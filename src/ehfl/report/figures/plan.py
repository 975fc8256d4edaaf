"""A plan's figures in reading order: the year, months, hours that are short, what more or less would do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

from ehfl.arrays import FloatArray, IntArray
from ehfl.planning import MONTHS, Curve, Outlook, Plan, months_of
from ehfl.report.figures import style
from ehfl.report.figures.looks import Look, looks
from ehfl.report.figures.style import Drawing, drawn
from ehfl.report.write import amount, counted, listed

_DAY = 86_400.0  # [s]
_FEW = 400  # rounds up to which each is drawn where there are no days
_PARTS = 200  # that more of them are drawn in
_SHORT_ROUNDS = 43_200.0  # the longest that differ by the hour of the day [s]
_FLAT = 0.1  # share of the most that participants must vary by to be worth a map
_BAR = "#D9D9D9"
MEAN, SHORT = "participants, mean", "rounds short of the target [%]"
_FEWER, _MORE_SHORT = colormaps["YlOrBr_r"], colormaps["YlOrBr"]  # dark is what to mind, on both maps
_LOW = 0.5  # share of rounds below which the axis begins at zero
_LONG = 5  # letters of a label that are still drawn level
_NOW: dict[str, Any] = {"color": "#BBBBBB", "linewidth": 4}
_WANTED: dict[str, Any] = {"color": "#666666", "linewidth": 1, "linestyle": "--"}
_FOUND: dict[str, Any] = {"color": "black", "marker": "*", "markersize": 10, "linestyle": ""}


# Participants through the year.


def year_figure(plan: Plan) -> Figure:
    """Draw n_t by day, one row a scheduler on one scale: the mean, and from the lowest to the highest of all seeds."""
    look, outlooks = looks(plan.schedulers), plan.outlooks
    figure = style.new_figure(7.2, max(2.2, 0.7 + 1.15 * len(outlooks)))
    grid = figure.subplots(len(outlooks), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    top = max(int(one.counts.max()) for one in outlooks)
    for axes, one in zip(grid, outlooks, strict=True):
        _draw_year(axes, plan, one, look[one.label])
        style.tidy(axes)
    grid[0].set_ylim(-0.03 * top - 0.1, 1.05 * max(top, *(one.target for one in outlooks)) + 0.3)
    grid[0].yaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]))
    grid[0].yaxis.set_major_formatter("{x:,.0f}")
    _name_times(grid[-1], plan)
    if plan.calendar is not None:  # names stand between the marks, which begin months
        for axes in grid:
            axes.tick_params(axis="x", which="major", length=0)
            axes.tick_params(axis="x", which="minor", length=4)
    targets = " or ".join(dict.fromkeys(f"{one.target:,}" for one in outlooks))
    figure.supylabel(f"participants $n_t$ (grey: {targets} wanted)", fontsize=10)
    return figure


def _draw_year(axes: Axes, plan: Plan, one: Outlook, look: Look) -> None:
    edges = parts_of(plan)
    places = (edges[:-1] + edges[1:] - 1) / 2  # the middle of the rounds
    first = edges[:-1]
    low = np.minimum.reduceat(one.counts.min(axis=0), first)
    high = np.maximum.reduceat(one.counts.max(axis=0), first)
    mean = np.add.reduceat(one.counts.mean(axis=0), first) / np.diff(edges)
    axes.axhline(one.target, color="#CCCCCC", linewidth=4, zorder=0.5)  # broad and pale, so that lines on it are seen
    axes.fill_between(places, low, high, color=look.colour, alpha=0.2, linewidth=0, step="mid")
    axes.plot(places, mean, color=look.colour, linewidth=1.2)
    short = float(f"{100 * (one.counts < one.target).mean():.2g}")
    label = f"{style.shorten(one.label)}   mean {amount(one.counts.mean())}, short in {short:g} % of rounds"
    axes.set_title(label, fontsize=10, loc="left", color=style.ink(look.colour))
    axes.margins(x=0.005)


def parts_of(plan: Plan) -> IntArray:
    """Return the rounds at which the parts begin that are drawn as one point each, and the end: days where there are.

    Days begin at midnight, so that the first may be shorter where a record begins later.
    """
    if not has_days(plan):
        step = 1 if plan.rounds <= _FEW else -(-plan.rounds // _PARTS)
        return np.append(np.arange(0, plan.rounds, step), plan.rounds)
    begins = _seconds(plan) // _DAY
    return np.append(np.flatnonzero(np.diff(begins, prepend=-1) > 0), plan.rounds)


def has_days(plan: Plan) -> bool:
    """Return whether several rounds make a day."""
    return plan.fleet.round_length is not None and plan.fleet.round_length <= _DAY / 2


def _seconds(plan: Plan) -> FloatArray:
    """Return when each round begins, from the first midnight on [s]."""
    assert plan.fleet.round_length is not None
    start = 0.0 if plan.calendar is None else plan.calendar.first_second
    return np.asarray(start + np.arange(plan.rounds) * plan.fleet.round_length + 1e-6)


def _name_times(axes: Axes, plan: Plan) -> None:
    """Put months below the axis where the plan has a calendar, else days or rounds."""
    length = plan.fleet.round_length
    if plan.calendar is not None:
        months = plan.calendar.months(range(plan.rounds))
        begins = [0, *(np.flatnonzero(np.diff(months)) + 1).tolist()]
        ends = [*begins[1:], plan.rounds]
        axes.set_xticks(begins, minor=True)
        middles = [(begin + end - 1) / 2 for begin, end in zip(begins, ends, strict=True)]
        axes.set_xticks(middles, [MONTHS[months[begin]][:3] for begin in begins])
    elif length is not None and has_days(plan):
        whole = MaxNLocator(8, integer=True, steps=[1, 2, 5, 10])
        days = [day for day in whole.tick_values(0, plan.rounds * length / _DAY) if day * _DAY <= plan.rounds * length]
        axes.set_xticks([day * _DAY / length for day in days], [f"{day:,.0f}" for day in days])
        axes.set_xlabel("day")
    else:
        style.count(axes.xaxis)
        axes.set_xlabel("round")


# By month and by hour.


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
        means = [month.mean for month in months_of(one, plan.calendar)]
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


# What more or less would do.


def curves_figure(plan: Plan) -> Figure | None:
    """Draw a panel for each curve; None where none was played."""
    if not plan.curves:
        return None
    figure = style.new_figure(7.2 if len(plan.curves) > 1 else 4.4, 2.9)
    panels = figure.subplots(1, len(plan.curves), sharey=True, squeeze=False)[0]
    colour = looks(plan.schedulers)[plan.curves[0].scheduler].colour
    for axes, curve in zip(panels, plan.curves, strict=True):
        _draw_curve(axes, plan, curve, colour)
    panels[0].set_ylabel(f"rounds with {plan.wanted_clients:,} or more")
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    least = min(float(curve.shares.min()) for curve in plan.curves)
    panels[0].set_ylim(-0.03 if least < _LOW else 1 - 1.15 * (1 - least) - 0.005, 1.03 if least < _LOW else 1.005)
    style.legend(figure, _handles(plan, colour))
    return figure


def _draw_curve(axes: Axes, plan: Plan, curve: Curve, colour: str) -> None:
    style.tidy(axes)
    axes.set_xscale("log")
    axes.axvline(curve.now, zorder=0.5, **_NOW)
    if plan.want is not None:
        axes.axhline(plan.want.share, zorder=1, **_WANTED)
    if curve.shares.shape[1] > 1:
        axes.plot(curve.values, curve.shares, color=colour, linewidth=0.7, alpha=0.5)
    axes.plot(curve.values, curve.shares.mean(axis=1), color=colour, linewidth=1.6, marker="o", markersize=3.5)
    if plan.answer is not None and _is_found(plan, curve):
        assert plan.want is not None
        ends = [plan.answer.value if end is None else end for end in plan.answer.ends]
        axes.plot(ends, [plan.want.share] * 2, color="black", linewidth=2, zorder=3)
        axes.plot([plan.answer.value], [plan.want.share], zorder=4, **_FOUND)
    axes.xaxis.set_minor_locator(NullLocator())
    unit, ticks = in_one_unit(curve.shown)
    axes.set_xticks(curve.values, [style.as_text(text) for text in ticks])
    if max(map(len, ticks)) > _LONG:
        _slant(axes)
    axes.set_xlabel(f"{curve.name} [{unit}]" if unit and unit != curve.name else curve.name)
    room = 0.06 * np.log(curve.values[-1] / curve.values[0]) if len(curve.values) > 1 else 0.5
    axes.set_xlim(curve.values[0] * np.exp(-room), curve.values[-1] * np.exp(room))


def _slant(axes: Axes) -> None:
    for label in axes.get_xticklabels():
        label.set(rotation=30, ha="right", rotation_mode="anchor")


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
        handles.append(Line2D([], [], label="smallest that does it, and its interval", **_FOUND))
    return handles


# Batteries and panels together.


def sizes_figure(plan: Plan) -> Figure | None:
    """Draw the share of rounds as wanted by panel and battery, with the line of the smallest batteries that do."""
    sizes = plan.sizes
    if sizes is None:
        return None
    figure = style.new_figure(5.2, 3.6)
    axes = figure.subplots()
    shares = np.ma.masked_invalid(100 * sizes.shares.T)
    edges = _edges(sizes.panels), _edges(sizes.batteries)
    image = axes.pcolormesh(*edges, shares, cmap=_FEWER, vmin=min(float(shares.min()), 99.0), vmax=100,
                            edgecolors="face", linewidth=0.3)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="panel", ylabel="battery", xlim=edges[0][[0, -1]],
             ylim=edges[1][[0, -1]])  # fmt: skip
    handles = [axes.plot(sizes.panels, sizes.line, color="black", linewidth=1.6, marker="o", markersize=3.5,
                         label="smallest battery as wanted")[0]]  # fmt: skip
    if sizes.cheapest is not None:
        design = sizes.panels[sizes.cheapest], sizes.answers[sizes.cheapest].value
        handles += axes.plot(*design, **_FOUND | {"markersize": 13}, zorder=4, label="cheapest")
    for axis, free, values in ((axes.xaxis, sizes.panel, sizes.panels), (axes.yaxis, sizes.battery, sizes.batteries)):
        axis.set_minor_locator(NullLocator())
        axis.set_ticks(values, [style.as_text(free.shown(value)) for value in values])
    _slant(axes)
    figure.colorbar(image, ax=axes).set_label(f"rounds with {counted(plan.wanted_clients, 'client')} [%]")
    style.legend(figure, handles)
    return figure


def _edges(middles: Sequence[float]) -> FloatArray:
    """Return the edges of cells around values on a logarithmic axis."""
    logs = np.log(middles)
    between = (logs[1:] + logs[:-1]) / 2
    edges: FloatArray = np.exp(np.concatenate([[2 * logs[0] - between[0]], between, [2 * logs[-1] - between[-1]]]))
    return edges


# All of them.


@dataclass(frozen=True, slots=True)
class PlanFigure:
    """A figure with its words."""

    name: str  # "year", the files' stem
    title: str
    caption: str
    figure: Figure


def plan_figures(plan: Plan) -> list[PlanFigure]:
    """Return the figures of a plan; left out are those that there is no data for."""
    made = ((name, title, make(plan), say) for name, (title, make, say) in _FIGURES.items())
    return [PlanFigure(name, title, say(plan), figure) for name, title, figure, say in made if figure is not None]


def draw_plan(plan: Plan, folder: Path) -> tuple[Drawing, ...]:
    """Write every figure as PNG and SVG into the folder, made if missing, and return them in reading order."""
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(drawn(one.figure, folder, one.name, one.title, one.caption) for one in plan_figures(plan))


def _say_year(plan: Plan) -> str:
    seeds, step = len(plan.seeds), int(np.diff(parts_of(plan)).max())
    each = "a day" if has_days(plan) else "a round" if step == 1 else f"{step:,} rounds"
    if each == "a round" and seeds == 1:
        return "Lines: each round. Grey: how many are wanted."
    means = f"Lines: mean of {each}" + (f", {seeds} seeds together" if seeds > 1 else "")
    return f"{means}. Bands: from the lowest to the highest round of it. Grey: how many are wanted."


def _say_months(plan: Plan) -> str:
    seeds = len(plan.seeds)
    weather = f" Harvest of seed {plan.seeds[0]}, participants of {seeds} seeds." if seeds > 1 else ""
    return (
        "Bars: clients a round that each month's harvest pays for, standing by taken off, if no battery were ever too "
        f"full or carried anything into the next month. Marks: how many take part on average.{weather}"
    )


def _say_hours(plan: Plan) -> str:
    best, maps = plan.best, hour_maps(plan)
    parts = ["participants"] if MEAN in maps else []
    parts += [f"the share of rounds with fewer than {counted(best.target, 'client')}"] if SHORT in maps else []
    where = "By month and by the hour at which a round begins"
    return f"{where}, under {best.label}: {' (left) and '.join(parts)}{' (right)' if len(parts) > 1 else ''}."


def _say_curves(plan: Plan) -> str:
    names = listed((curve.name for curve in plan.curves), "or")
    clients, label = counted(plan.wanted_clients, "client"), plan.curves[0].scheduler
    return (
        f"Share of rounds with {clients} or more under {label} with a quarter to four times the {names}, all "
        "else as it is and under the same weather."
    )


def _say_sizes(plan: Plan) -> str:
    assert plan.sizes is not None
    return (
        f"Share of rounds as wanted by panel and battery under {plan.sizes.scheduler}, mean of the first years; white "
        "cells cannot hold a turn. Line: the smallest battery for each panel that does in the first "
        f"{counted(plan.sizes.years, 'year')}. Star: the cheapest panel on the line, with its battery in 9 of 10 years."
    )


# Title, figure and caption by name, in reading order.
_FIGURES: dict[str, tuple[str, Callable[[Plan], Figure | None], Callable[[Plan], str]]] = {
    "year": ("Participants through the rounds", year_figure, _say_year),
    "months": ("What the harvest pays for", months_figure, _say_months),
    "hours": ("When clients are too few", hours_figure, _say_hours),
    "sizes": ("Batteries and panels", sizes_figure, _say_sizes),
    "curves": ("What more or less would do", curves_figure, _say_curves),
}
