"""Battery levels, client by client and round by round."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Colormap, FuncNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.devices import DeviceState
from ehfl.arrays import FloatArray
from ehfl.report import style
from ehfl.report.looks import looks_of
from ehfl.report.rasters import draw_raster, name_axes, say_cells, shrunk
from ehfl.report.time_axis import added_height

_FEW = 8  # levels up to which each has a colour of its own
_UNKNOWN = "#D0D0D0"  # the colour of levels that nobody knows, which are none of viridis'
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
    look, clock = looks_of(comparison), comparison.clock
    images = {arm.name: levels(arm) for arm in arms}
    top = max(float(np.nanmax(image, initial=0)) for image in images.values())
    unit = comparison.energy_scale(top)
    in_joules = arms[0].trials[0].participation.quantum is not None
    norm, colour_map = scale(unit.of(top), each=not any(say_cells(shape(arm)) for arm in arms), even=in_joules)
    unknown = any(np.isnan(image).any() for image in images.values())
    # The colour bar's label needs the least height, a legend some more.
    figure = style.new_figure(7.2, max(2.4, 0.7 + 1.2 * len(arms)) + 0.3 * unknown + added_height(clock))
    panels = figure.subplots(len(arms), 1, sharex=True, squeeze=False)[:, 0]
    for axes, arm in zip(panels, arms, strict=True):
        each = float(clock.places(arm.name, np.array(1)))
        draw_raster(axes, unit.of(images[arm.name]), shape(arm), each, norm=norm, cmap=colour_map)
        axes.set_title(style.shorten(arm.name, 60), fontsize=10, loc="left", color=style.ink(look[arm.name].colour))
    name_axes(figure, panels[-1], clock)
    _colour_bar(figure, list(panels), norm, colour_map, _ticks(unit.of(top), even=in_joules), unit.unit)
    if unknown:
        style.legend(figure, [Patch(color=_UNKNOWN, label="not heard of")])
    return figure


def shape(arm: Arm) -> tuple[int, int]:
    """Return of how many clients and at how many times levels are known: at the start of each round and at the end."""
    played = arm.trials[0].participation
    return played.n_clients, played.rounds + 1


def levels(arm: Arm) -> FloatArray:
    """Return the first seed's levels, (clients, rounds + 1); of large fleets, means over neighbours.

    They are in the comparison's unit. NaN stands where a device was dark, so that nobody knows its level.
    """
    played, log = arm.trials[0].participation, arm.trials[0].devices
    assert played.energy is not None
    energy = played.energy.astype(np.float64) * (1.0 if played.quantum is None else played.quantum)
    if log is None:
        return shrunk(energy.T)
    dark = log.states == DeviceState.DARK
    # Who did not answer in the last round may have done so after it, and then with another level.
    after = dark[-1] & (energy[-1] == energy[-2])
    return shrunk(np.where(np.vstack([dark, after]), np.nan, energy).T)


def scale(top: float, *, each: bool, even: bool = False) -> tuple[Normalize, Colormap]:
    """Return how levels become colours: one each while they are few, else by log(1 + level); joules evenly."""
    colour_map = colormaps["viridis"].with_extremes(bad=_UNKNOWN)
    if even:
        return Normalize(0, top or 1.0), colour_map
    if top > _FEW:
        return FuncNorm((np.log1p, np.expm1), vmin=0, vmax=top), colour_map
    highest = max(1, int(np.ceil(top)))
    if each:
        return BoundaryNorm(np.arange(highest + 2) - 0.5, colour_map.N), colour_map
    return Normalize(0, highest), colour_map


def _ticks(top: float, *, even: bool) -> list[float]:
    """Return the levels that the colour bar names."""
    if even:
        return [float(tick) for tick in MaxNLocator(5).tick_values(0, top or 1.0) if tick <= (top or 1.0)]
    return list(range(max(1, int(np.ceil(top))) + 1)) if top <= _FEW else [tick for tick in _TICKS if tick <= top]


def _colour_bar(
    figure: Figure, panels: list[Axes], norm: Normalize, colour_map: Colormap, ticks: list[float], unit: str
) -> None:
    bar = figure.colorbar(ScalarMappable(norm, colour_map), ax=panels, pad=0.015, fraction=0.04, aspect=25)
    bar.set_ticks(ticks, labels=[f"{tick:,g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=9)
    bar.set_label(f"battery level [{style.as_text(unit)}]", fontsize=10)
