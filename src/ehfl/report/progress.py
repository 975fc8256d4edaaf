"""The metric against rounds and against progress, side by side: one curve, if the noise-scale law holds."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.numbers import amount
from ehfl.analysis.one_curve import mean_progress
from ehfl.analysis.worlds import World
from ehfl.report import style
from ehfl.report.curves import draw_metric, handles
from ehfl.report.phrases import listed
from ehfl.report.time_axis import added_height, name_rounds


def with_scale(comparison: Comparison) -> tuple[World, ...]:
    """Return the worlds in which the law forecasts some arm's slowdown."""
    return tuple(world for world in comparison.contests if comparison.forecast(world).slowdowns)


def covered(comparison: Comparison, world: World) -> list[Arm]:
    """Return the arms of a world that the law covers."""
    outside = comparison.forecast(world).outside
    return [arm for arm in world.arms if arm.name not in outside]


def progress_figure(comparison: Comparison) -> Figure | None:
    """Draw the metric against rounds (left) and progress (right), a row a world; None where nothing is forecast."""
    worlds = with_scale(comparison)
    if not worlds:
        return None
    figure = style.new_figure(7.2, 0.2 + (3.0 + added_height(comparison.clock)) * len(worlds))
    for world, (left, right) in zip(worlds, figure.subplots(len(worlds), 2, squeeze=False), strict=True):
        _draw_rounds(left, comparison, world)
        _draw_progress(right, comparison, world)
        right.set_ylim(left.get_ylim())
        if len(worlds) > 1:
            left.set_title(style.as_text(world.name), loc="left", fontsize=10)
    style.legend(figure, handles(comparison, [arm.name for world in worlds for arm in covered(comparison, world)]))
    return figure


def _draw_rounds(axes: Axes, comparison: Comparison, world: World) -> None:
    clock, arms = comparison.clock, covered(comparison, world)
    draw_metric(axes, comparison, {arm.name: (clock.places(arm.name, arm.evaluated), arm.metric) for arm in arms})
    name_rounds([axes], clock)


def _draw_progress(axes: Axes, comparison: Comparison, world: World) -> None:
    """Draw means alone: intervals are those of the other panel, and would hide whether curves are one."""
    scale = comparison.forecast(world).scale
    assert scale is not None
    curves = {
        arm.name: (mean_progress(arm, range(len(arm.trials)))(scale.value)[arm.evaluated], arm.metric)
        for arm in covered(comparison, world)
    }
    draw_metric(axes, comparison, curves, bands=False)
    axes.set_ylabel("")
    axes.set_xlabel(_axis(scale.value), fontsize=10)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def _axis(noise_scale: float) -> str:
    """Return what progress is, with B as a number."""
    if math.isinf(noise_scale):
        return r"progress $\sum \eta_t n_t$ ($B = \infty$)"
    return rf"progress $\sum \eta_t / (1 + B/n_t)$ with $B = {amount(noise_scale)}$"


def say_progress(comparison: Comparison) -> str:
    """Return the figure's caption."""
    worlds = with_scale(comparison)
    shown = [arm.name for world in worlds for arm in covered(comparison, world)]
    other = [arm.name for arm in comparison.arms if arm.name not in shown]
    scales = [comparison.forecast(world).scale for world in worlds]
    sources = listed(dict.fromkeys(scale.source for scale in scales if scale is not None))
    without = f" Not shown, since it is not covered or no B is known: {listed(other)}." if other else ""
    return (
        f"{comparison.metric.name.capitalize()} on the test set against rounds, with intervals where there are several "
        "seeds (left), and against progress (right): if the noise-scale law holds, all arms have one curve there. "
        f"B is from {sources}.{without}"
    )
