"""What clients weigh in the mean, and what that does to the mixture of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from ehfl.analysis import Comparison
from ehfl.analysis.audit import Audit, alike
from ehfl.report.figures import style
from ehfl.report.figures.looks import Look, looks_of
from ehfl.report.tables.audit import together

_FEW = 40  # clients up to which markers are large and have their intervals
_MANY = 2000  # beyond, points are drawn as an image even in SVG
_FEW_CLASSES = 20  # whose names fit below the bars


def weights_figure(comparison: Comparison) -> Figure | None:
    """Draw the same of what was played; None where no arm's clients were heard unevenly as far as seeds can tell."""
    audits = [Audit.played(arm) for arm in comparison.arms]
    return audit_figure(audits, looks_of(comparison)) if any(audit.matters for audit in audits) else None


def audit_figure(audits: Sequence[Audit], look: Mapping[str, Look]) -> Figure:
    """Draw q_i by client beside 1/N (above), and the optimised label mixture beside the true one (below).

    Arms with the same figures are drawn once, as the first of them looks.
    """
    groups = alike(audits)
    mixed = [group for group in groups if group[0].deals and group[0].chances.has_turns]
    figure = style.new_figure(7.2, 5.0 if mixed else 2.8)
    panels = figure.subplots(2 if mixed else 1, 1, squeeze=False)[:, 0]
    _draw_weights(panels[0], groups, look)
    if mixed:
        _draw_mixtures(panels[1], mixed, look)
    handles = []
    for group in groups:
        mine, name = look[group[0].arm], style.shorten(together([audit.arm for audit in group]))
        handles.append(Line2D([], [], color=mine.colour, markerfacecolor=_fill(mine), marker=mine.marker, linestyle="",
                              label=name))  # fmt: skip
    style.legend(figure, handles)
    return figure


def _fill(look: Look) -> str:
    """Return what marks and bars are filled with: those of a dashed line are hollow."""
    return "white" if look.dash else look.colour


def _draw_weights(axes: Axes, groups: Sequence[Sequence[Audit]], look: Mapping[str, Look]) -> None:
    most = max(group[0].n_clients for group in groups)
    for place, group in enumerate(groups):
        audit, mine = group[0], look[group[0].arm]
        clients = np.arange(audit.n_clients) + _beside(place, len(groups), 0.5 if most <= _FEW else 0.0)
        size, faded = (5, 1.0) if most <= _FEW else (3, 0.6)
        axes.plot(clients, audit.chances.weights, mine.marker, color=mine.colour, markerfacecolor=_fill(mine),
                  markersize=size, alpha=faded, zorder=3, rasterized=audit.n_clients > _MANY)  # fmt: skip
        if most <= _FEW:
            found = [audit.weight_of(client) for client in range(audit.n_clients)]
            low, high = np.array([(one.low, one.high) for one in found], dtype=np.float64).T  # NaN where exact
            axes.vlines(clients, low, high, color=mine.colour, linewidth=1)
    for size in sorted({group[0].n_clients for group in groups}):
        axes.hlines(1 / size, -0.5, size - 0.5, color="#666666", linewidth=1, linestyle="--", zorder=0.5)
    axes.set_xlabel("client (dashed: 1/N, all weigh alike)")
    axes.set_ylabel("weight $q_i$ in the mean")
    style.count(axes.xaxis)
    _in_percent(axes)


def _draw_mixtures(axes: Axes, groups: Sequence[Sequence[Audit]], look: Mapping[str, Look]) -> None:
    width = 0.8 / len(groups)
    classes = list(dict.fromkeys(name for group in groups for name in group[0].classes))
    for place, group in enumerate(groups):
        audit, mine = group[0], look[group[0].arm]
        middles = np.array([classes.index(name) for name in audit.classes]) + _beside(place, len(groups), 0.8)
        axes.bar(middles, audit.optimised, 0.8 * width, color=_fill(mine), edgecolor=mine.colour, alpha=0.75)
        axes.hlines(audit.mixture, middles - width / 2, middles + width / 2, color="black", linewidth=1.4)
    axes.set_xlabel("class (black: its true share)")
    axes.set_ylabel("share of labels")
    if len(classes) <= _FEW_CLASSES:
        turned = 30 if max(map(len, classes)) > 4 else 0
        axes.set_xticks(range(len(classes)), [style.shorten(name, 14) for name in classes], rotation=turned)
    _in_percent(axes)


def _beside(place: int, of: int, room: float) -> float:
    """Return how far from the middle one of several things stands that share some room.

    >>> _beside(0, 2, 0.8), _beside(1, 2, 0.8), _beside(0, 1, 0.8)
    (-0.2, 0.2, 0.0)
    """
    return room * ((place + 0.5) / of - 0.5)


def _in_percent(axes: Axes) -> None:
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axes.margins(x=0.01)
    style.tidy(axes)
