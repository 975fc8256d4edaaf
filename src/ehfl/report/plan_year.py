"""Participants of a plan through the year, scheduler by scheduler."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ehfl.analysis.numbers import amount
from ehfl.arrays import FloatArray, IntArray
from ehfl.planning import MONTHS, Outlook, Plan
from ehfl.report import style
from ehfl.report.looks import Look, looks

_DAY = 86_400.0  # [s]
_FEW = 400  # rounds up to which each is drawn where there are no days
_PARTS = 200  # that more of them are drawn in


def year_figure(plan: Plan) -> Figure:
    """Draw n_t by day, one row a scheduler on one scale: the mean, and from the lowest to the highest of all seeds."""
    look, outlooks = looks(plan.schedulers), plan.outlooks
    figure = style.new_figure(7.2, max(2.2, 0.7 + 1.15 * len(outlooks)))
    grid = figure.subplots(len(outlooks), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    top = max(int(one.counts.max()) for one in outlooks)
    for axes, one in zip(grid, outlooks, strict=True):
        _draw(axes, plan, one, look[one.label])
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


def _draw(axes: Axes, plan: Plan, one: Outlook, look: Look) -> None:
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
