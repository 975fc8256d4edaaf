"""How well each class is served by each arm: a map with a line for each class and a column for each arm."""

from __future__ import annotations

from textwrap import wrap

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.served import common_classes, final_by_class
from ehfl.arrays import FloatArray
from ehfl.report.figures import style
from ehfl.report.figures.looks import looks_of
from ehfl.report.tables.comparison import ACCURACY
from ehfl.report.write import listed

MOST = 30  # classes that are drawn, each with its name and numbers
_ABREAST = 6  # arms whose names stand side by side, in lines; those of more are slanted
_COLOURS = colormaps["YlOrBr_r"]  # the darker, the fewer are right: what is to be seen stands out on white


def classes_figure(comparison: Comparison) -> Figure | None:
    """Draw the accuracy of each class at the end, mean over seeds; None where arms have no classes, or unlike ones."""
    arms, names = with_classes(comparison), common_classes(comparison.arms)
    if not names:
        return None
    means = class_means(arms)
    drawn = drawn_classes(means)
    average = np.array([arm.metric[:, -1].mean() for arm in arms]) if comparison.metric == ACCURACY else None
    above = 0.0 if average is None else 1.4  # lines that the average of all takes, with a gap below
    slanted = len(arms) > _ABREAST
    height = 0.24 * (len(drawn) + above) + (1.5 if slanted else 0.8)
    figure = style.new_figure(min(7.2, 1.6 + 1.15 * len(arms)), height)
    axes = figure.subplots()
    _draw_cells(axes, means[drawn], 0.0)
    if average is not None:
        _draw_cells(axes, average[None, :], -above)
    _frame_lowest(axes, means[drawn])
    _part_worlds(axes, comparison, arms)
    _name_classes(axes, [names[place] for place in drawn], above)
    _name_arms(axes, comparison, arms, slanted=slanted)
    return figure


def classes_note(comparison: Comparison) -> str:
    """Return which classes are not shown."""
    means, names = class_means(with_classes(comparison)), common_classes(comparison.arms)
    untested = [name for name, lowest in zip(names, means.min(axis=1), strict=True) if np.isnan(lowest)]
    drawn, tested = len(drawn_classes(means)), len(names) - len(untested)
    worst = f" Shown are the {drawn} classes, of {tested}, that some arm serves worst." if drawn < tested else ""
    return worst + (f" Not shown (no test examples): {listed(untested)}." if untested else "")


def with_classes(comparison: Comparison) -> list[Arm]:
    """Return the arms whose runs say how each class fared."""
    return [arm for arm in comparison.arms if final_by_class(arm) is not None]


def class_means(arms: list[Arm]) -> FloatArray:
    """Return the accuracy of each class, mean over seeds, (n_classes, n_arms)."""
    found = [final_by_class(arm) for arm in arms]
    return np.array([shares.mean(axis=0) for shares in found if shares is not None]).T


def drawn_classes(means: FloatArray) -> list[int]:
    """Return which classes are drawn: all that were tested, of many those that some arm serves worst, in their order.

    >>> drawn_classes(np.array([[0.9, 0.8], [np.nan, np.nan], [0.1, 0.2]]))
    [0, 2]
    """
    lowest = means.min(axis=1)
    tested = np.flatnonzero(~np.isnan(lowest))
    return sorted(tested[np.argsort(lowest[tested], kind="stable")[:MOST]].tolist())


def _draw_cells(axes: Axes, shares: FloatArray, top: float) -> None:
    """Draw lines of cells with their numbers, the first at a height of the y axis, which points down."""
    lines, columns = shares.shape
    extent = (-0.5, columns - 0.5, top + lines - 0.5, top - 0.5)
    axes.imshow(shares, cmap=_COLOURS, vmin=0, vmax=1, aspect="auto", interpolation="nearest", extent=extent)
    axes.hlines(top + np.arange(lines - 1) + 0.5, -0.5, columns - 0.5, color="white", linewidth=1)
    axes.vlines(np.arange(columns - 1) + 0.5, top - 0.5, top + lines - 0.5, color="white", linewidth=1)
    for (line, column), share in np.ndenumerate(shares):
        red, green, blue, _ = _COLOURS(float(share))
        dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.55
        text = axes.text(column, top + line, f"{100 * share:.0f}", ha="center", va="center_baseline",
                         fontsize=style.SMALL, color="white" if dark else "black")  # fmt: skip
        text.set_in_layout(False)  # it lies within the axes, and hundreds would take the layout seconds


def _part_worlds(axes: Axes, comparison: Comparison, arms: list[Arm]) -> None:
    """Leave a gap between arms of different worlds, which are not compared."""
    worlds = [comparison.world(arm.name) for arm in arms]
    for column in range(1, len(arms)):
        if worlds[column] is not worlds[column - 1]:
            axes.axvline(column - 0.5, color="white", linewidth=6)


def _frame_lowest(axes: Axes, shares: FloatArray) -> None:
    """Frame the lowest of each column: just within its cell, and clear of the gap between worlds."""
    for column, line in enumerate(shares.argmin(axis=0)):
        corner, width, height = (column - 0.46, line - 0.45), 0.92, 0.9
        axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor="black", linewidth=1.4, zorder=3))


def _name_classes(axes: Axes, names: list[str], above: float) -> None:
    labels = [style.shorten(name, 20) for name in names]
    places = list(range(len(names)))
    axes.set_yticks([-above, *places] if above else places, labels=["all", *labels] if above else labels, fontsize=9)
    axes.set_ylim(len(names) - 0.5, -above - 0.5)
    axes.set_ylabel("class", fontsize=10)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _name_arms(axes: Axes, comparison: Comparison, arms: list[Arm], *, slanted: bool) -> None:
    axes.xaxis.tick_top()
    labels = [style.shorten(arm.name, 30) if slanted else "\n".join(wrap(style.shorten(arm.name), 14)) for arm in arms]
    axes.set_xticks(range(len(arms)), labels=labels, fontsize=9)
    axes.tick_params(axis="x", length=0)
    look = looks_of(comparison)
    for label, arm in zip(axes.get_xticklabels(), arms, strict=True):
        label.set_color(style.ink(look[arm.name].colour))
        if slanted:
            label.set(rotation=35, ha="left", rotation_mode="anchor")
