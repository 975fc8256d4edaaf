"""Learning curves: the metric and the loss against rounds, and the metric against energy spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from ehfl.analysis import Comparison, estimate
from ehfl.arrays import FloatArray
from ehfl.report.figures import style
from ehfl.report.figures.axes import LOSS, STRETCH, added_height, is_logarithmic, name_rounds
from ehfl.report.figures.looks import Look, looks_of
from ehfl.report.write import value
from ehfl.runs import Metric

_NEAR = 4  # how far a goal may lie from a logarithmic axis and still widen it, as a factor
Curve = tuple[FloatArray, FloatArray]  # x, (n_points,), and a value for each seed, (n_seeds, n_points)


def rounds_figure(comparison: Comparison) -> Figure:
    """Draw the metric (left) and the loss (right) on the test set against rounds, or time, with their intervals."""
    clock = comparison.clock
    figure = style.new_figure(7.2, 3.2 + added_height(clock))
    left, right = figure.subplots(1, 2)
    along = {arm.name: clock.places(arm.name, arm.evaluated) for arm in comparison.arms}
    draw_metric(left, comparison, {arm.name: (along[arm.name], arm.metric) for arm in comparison.arms})
    losses = {arm.name: (along[arm.name], arm.loss) for arm in comparison.arms}
    _draw_curves(right, comparison, losses)
    low, high = right.get_ylim()
    right.set_ylim(max(low, 0.0), high)
    scale_heights(right, [values for _, values in losses.values()], LOSS)
    name_rounds((left, right), clock)
    right.set_ylabel("test loss", fontsize=10)
    style.legend(figure, handles(comparison))
    return figure


def energy_figure(comparison: Comparison) -> Figure:
    """Draw the metric on the test set against the energy spent on training by each evaluation."""
    figure = style.new_figure(7.2, 3.2)
    axes = figure.subplots()
    scale = comparison.energy_scale(max(float(arm.mean_energy[-1]) for arm in comparison.arms))
    draw_metric(axes, comparison, {arm.name: (scale.of(arm.mean_energy), arm.metric) for arm in comparison.arms})
    axes.set_xlabel(f"energy spent on training [{style.as_text(scale.unit)}]", fontsize=10)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}" if x == round(x) else f"{x:g}"))
    style.legend(figure, handles(comparison))
    return figure


def band(values: FloatArray) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Return mean, low and high over the seeds, (n_points,) each; without an interval where there is one seed.

    >>> mean, low, high = band(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))  # 2 -+ 4.303 / sqrt(3)
    >>> mean.tolist(), low.round(3).tolist(), high.round(3).tolist()
    ([2.0, 5.0], [-0.484, 5.0], [4.484, 5.0])
    """
    found = [estimate(column) for column in values.T]
    mean = np.array([e.mean for e in found])
    if values.shape[0] < 2:
        return mean, None, None
    return mean, np.array([e.low for e in found], dtype=float), np.array([e.high for e in found], dtype=float)


def handles(comparison: Comparison) -> list[Line2D]:
    """Return a line for each arm, as the legend shows it."""
    looks = looks_of(comparison)
    return [Line2D([], [], **_line(look), label=style.shorten(name, 36)) for name, look in looks.items()]


def _line(look: Look) -> dict[str, Any]:
    """Return how an arm's curve is drawn, in panels and legends alike."""
    return {"color": look.colour, "linestyle": look.line, "linewidth": 1.6, "marker": look.marker, "markersize": 5}


def draw_metric(axes: Axes, comparison: Comparison, curves: Mapping[str, Curve]) -> None:
    """Draw the metric of these arms with its intervals, and the goal."""
    _draw_curves(axes, comparison, curves)
    metric = comparison.metric
    axes.set_ylabel(f"test {style.as_text(metric.name)}", fontsize=10)
    keep_within(axes, metric)
    scale_heights(axes, [values for _, values in curves.values()], metric)
    if metric.is_share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None, symbol=" %"))
    _draw_goal(axes, comparison)


def keep_within(axes: Axes, metric: Metric) -> None:
    """Let the y axis end where the metric's values do, with room above for a line that lies there."""
    bottom, top = axes.get_ylim()
    low, high = metric.within(bottom), metric.within(top)
    if low < high:  # else no value is what the metric can be
        axes.set_ylim(low, high if high == top else high + 0.01 * (high - low))


def _draw_curves(axes: Axes, comparison: Comparison, curves: Mapping[str, Curve]) -> None:
    means, looks = [], looks_of(comparison)
    for arm, (xs, values) in curves.items():
        look = looks[arm]
        mean, low, high = band(values)
        axes.plot(xs, mean, **_line(look), markevery=[-1])  # the marker at its end, where the table is
        if low is not None and high is not None:
            draw_band(axes, xs, low, high, look.colour)
        means.append(mean)
    fit(axes, np.concatenate(means))
    axes.margins(x=0.02)
    axes.set_xlim(left=0)
    style.tidy(axes)


def draw_band(
    axes: Axes, xs: FloatArray, low: FloatArray, high: FloatArray, colour: str, *, alpha: float = 0.09
) -> None:
    """Draw the interval: pale, for bands overlap, with thin edges that set each apart."""
    axes.fill_between(xs, low, high, color=colour, alpha=alpha, linewidth=0)
    for edge in (low, high):
        axes.plot(xs, edge, color=colour, alpha=0.45, linewidth=0.5)


def fit(axes: Axes, means: FloatArray) -> None:
    """Set the y axis by the means: bands of few seeds, which can be very wide, may stretch it only so far."""
    low, high = float(means.min()), float(means.max())
    room = (high - low) or abs(high) or 1.0
    bottom, top = axes.get_ylim()
    axes.set_ylim(max(bottom, low - STRETCH * room), min(top, high + STRETCH * room))


def _draw_goal(axes: Axes, comparison: Comparison) -> None:
    """Draw the goal as a thin dashed line, named right of the axes where no curve passes; beyond them, say so."""
    goal, named = comparison.goal, value(comparison.metric, comparison.goal)
    bottom, top = _with_goal(axes, goal)
    if bottom < goal < top:
        axes.axhline(goal, color="black", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1.5)
        axes.set_ylim(bottom, top)
        _note(axes, f"goal\n{named}", (1.0, goal), (3, 0), ha="left", va="center")
    else:
        corner = 0.99, axes.get_ylim()[comparison.metric.lower_is_better]
        _note(axes, f"goal {named}: beyond the axis", corner, (0, 2), ha="right", va="bottom")


def _with_goal(axes: Axes, goal: float) -> tuple[float, float]:
    """Return the axis' ends, moved so that the goal has room if it is not too far away."""
    bottom, top = axes.get_ylim()
    if axes.get_yscale() == "log":
        near = bottom / _NEAR < goal < top * _NEAR
        return (min(bottom, goal / 1.2), max(top, goal * 1.5)) if near else (bottom, top)
    spread = top - bottom
    near = bottom - STRETCH * spread < goal < top + STRETCH * spread
    return (min(bottom, goal - 0.03 * spread), max(top, goal + 0.08 * spread)) if near else (bottom, top)


def _note(axes: Axes, text: str, at: tuple[float, float], points: tuple[float, float], *, ha: str, va: str) -> None:
    """Write a small text, `points` from a share of the width and a height of the data, legible over bands."""
    axes.annotate(
        text,
        at,
        xycoords=axes.get_yaxis_transform(),
        xytext=points,
        textcoords="offset points",
        ha=ha,
        va=va,
        fontsize=style.SMALL,
        zorder=1.6,  # below the curves: where there is no room for both, these are what the figure is for
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
        annotation_clip=False,
    )


def scale_heights(axes: Axes, values: Sequence[FloatArray], metric: Metric) -> None:
    """Make the y axis logarithmic where it must be; of a band that goes down to zero it shows what it can."""
    if not is_logarithmic(values, metric):
        return
    means = np.concatenate([mine.mean(axis=0) for mine in values])
    axes.set_yscale("log", nonpositive="clip")
    axes.set_ylim(float(means.min()) / 2, float(means.max()) * 1.5)
    fine = means.max() / means.min() < 100  # powers of ten alone would be two or three
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if fine else (1,), numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
