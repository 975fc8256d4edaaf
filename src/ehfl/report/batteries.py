"""Battery levels, client by client and round by round."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Colormap, FuncNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ehfl.analysis import Arm, Comparison
from ehfl.arrays import FloatArray
from ehfl.report import style
from ehfl.report.looks import looks_of

_ROWS, _COLUMNS = 200, 1000  # cells that a panel can show; more clients or rounds are averaged
_FEW = 8  # levels up to which each has a colour of its own
_TICKS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)


def on_batteries(comparison: Comparison) -> tuple[Arm, ...]:
    """Return the arms that live on batteries whose levels were recorded."""
    recorded = (arm for arm in comparison.arms if arm.trials[0].participation.energy is not None)
    return tuple(arm for arm in recorded if not arm.mains_powered)


def batteries_figure(comparison: Comparison) -> Figure | None:
    """Draw levels as colours, one panel an arm (its first seed); None where no arm lives on recorded batteries."""
    arms = on_batteries(comparison)
    if not arms:
        return None
    look = looks_of(comparison)
    images = {arm.name: levels(arm) for arm in arms}
    top = max(float(image.max()) for image in images.values())
    norm, colour_map = scale(top, each=all(cell(arm) == (1, 1) for arm in arms))
    figure = style.new_figure(7.2, max(2.4, 0.7 + 1.2 * len(arms)))  # the colour bar's label needs that
    panels = figure.subplots(len(arms), 1, sharex=True, squeeze=False)[:, 0]
    for axes, arm in zip(panels, arms, strict=True):
        _draw_levels(axes, arm, images[arm.name], norm, colour_map)
        axes.set_title(style.shorten(arm.name, 60), fontsize=10, loc="left", color=style.ink(look[arm.name].colour))
    panels[-1].set_xlabel("round", fontsize=10)
    style.count(panels[-1].xaxis)  # which all share
    figure.supylabel("client", fontsize=10)
    _colour_bar(figure, list(panels), norm, colour_map, top, comparison.unit)
    return figure


def levels(arm: Arm) -> FloatArray:
    """Return the first seed's levels, (clients, rounds + 1); of large fleets, means over neighbours."""
    energy = arm.trials[0].participation.energy
    assert energy is not None
    return block_means(block_means(energy.T, _ROWS).T, _COLUMNS).T


def block_means(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]], most: int) -> FloatArray:
    """Return the means of runs of rows, so that at most so many rows are left; all runs but the last are as long.

    >>> block_means(np.array([[1], [3], [5], [7], [9]]), most=3).tolist()
    [[2.0], [6.0], [9.0]]
    """
    size = -(-len(values) // most)
    starts = np.arange(0, len(values), size)
    lengths = np.diff(np.append(starts, len(values)))
    means: FloatArray = np.add.reduceat(values.astype(np.float64), starts, axis=0) / lengths[:, None]
    return means


def scale(top: float, *, each: bool) -> tuple[Normalize, Colormap]:
    """Return how levels become colours: one each while they are few, else by log(1 + level)."""
    colour_map = colormaps["viridis"]
    if top > _FEW:
        return FuncNorm((np.log1p, np.expm1), vmin=0, vmax=top), colour_map
    highest = max(1, int(np.ceil(top)))
    if each:
        return BoundaryNorm(np.arange(highest + 2) - 0.5, colour_map.N), colour_map
    return Normalize(0, highest), colour_map


def cell(arm: Arm) -> tuple[int, int]:
    """Return over how many clients and rounds each of the image's cells is a mean."""
    played = arm.trials[0].participation
    return -(-played.n_clients // _ROWS), -(-(played.rounds + 1) // _COLUMNS)


def _draw_levels(axes: Axes, arm: Arm, image: FloatArray, norm: Normalize, colour_map: Colormap) -> None:
    played = arm.trials[0].participation
    extent = (-0.5, played.rounds + 0.5, played.n_clients - 0.5, -0.5)
    axes.imshow(image, aspect="auto", interpolation="nearest", extent=extent, norm=norm, cmap=colour_map)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(labelsize=9)


def _colour_bar(
    figure: Figure, panels: list[Axes], norm: Normalize, colour_map: Colormap, top: float, unit: str
) -> None:
    highest = max(1, int(np.ceil(top)))
    ticks = list(range(highest + 1)) if top <= _FEW else [tick for tick in _TICKS if tick <= top]
    bar = figure.colorbar(ScalarMappable(norm, colour_map), ax=panels, pad=0.015, fraction=0.04, aspect=25)
    bar.set_ticks(ticks, labels=[f"{tick:,}" for tick in ticks])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=9)
    bar.set_label(f"battery level [{style.as_text(unit)}]", fontsize=10)
