"""Images with a row for each client and a column for each round: battery levels, and what became of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Colormap, FuncNorm, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.devices import DeviceState
from ehfl.analysis.units import Clock
from ehfl.arrays import FloatArray
from ehfl.report.figures import style
from ehfl.report.figures.axes import added_height, name_rounds
from ehfl.report.figures.looks import looks_of
from ehfl.report.write import listed

_ROWS, _COLUMNS = 200, 1000  # cells that a panel can show; more clients or rounds are averaged
_FEW_LEVELS = 8  # levels up to which each has a colour of its own
_UNKNOWN = "#D0D0D0"  # the colour of unknown levels, not one of viridis'
_TICKS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)
# Okabe and Ito's blue and orange between black and white: the four can be told apart in grey, too.
COLOURS = {
    DeviceState.TOOK_PART: "#0072B2",
    DeviceState.LOST: "#E69F00",
    DeviceState.ONLINE: "#E8E8E8",
    DeviceState.DARK: "#2B2B2B",
}
NAMES = {
    DeviceState.TOOK_PART: "took part",
    DeviceState.LOST: "work lost",
    DeviceState.ONLINE: "online, idle",
    DeviceState.DARK: "offline",
}
_FEW = 40  # clients or rounds up to which a line between two of them helps the eye
_MANY = 200  # clients beyond which no line of their own can be seen: they are counted instead


def on_batteries(comparison: Comparison) -> tuple[Arm, ...]:
    """Return the arms that live on batteries whose levels were recorded."""
    recorded = (arm for arm in comparison.arms if arm.trials[0].participation.energy is not None)
    return tuple(arm for arm in recorded if not arm.mains_powered)


def batteries_figure(comparison: Comparison) -> Figure | None:
    """Draw levels as colours, one panel an arm (its first seed); None where no arm has recorded levels."""
    arms = on_batteries(comparison)
    if not arms:
        return None
    clock = comparison.clock
    images = {arm.name: levels(arm) for arm in arms}
    top = max(float(np.nanmax(image, initial=0)) for image in images.values())
    unit = comparison.energy_scale(top)
    in_joules = arms[0].trials[0].participation.quantum is not None
    norm, colour_map = scale(unit.of(top), each=not any(say_cells(shape(arm)) for arm in arms), even=in_joules)
    unknown = any(np.isnan(image).any() for image in images.values())
    # The colour bar's label needs the least height, a legend some more.
    figure = style.new_figure(
        7.2, max(2.4, 0.7 + style.row_height(len(arms)) * len(arms)) + 0.3 * unknown + added_height(clock)
    )
    panels = _panels(figure, comparison, arms)
    for axes, arm in zip(panels, arms, strict=True):
        each = float(clock.places(arm.name, np.array(1)))
        draw_raster(axes, unit.of(images[arm.name]), shape(arm), each, norm=norm, cmap=colour_map)
    name_axes(figure, panels[-1], clock)
    bar = figure.colorbar(ScalarMappable(norm, colour_map), ax=panels, pad=0.015, fraction=0.04, aspect=25)
    ticks = _ticks(unit.of(top), even=in_joules)
    bar.set_ticks(ticks, labels=[f"{tick:,g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=9)
    bar.set_label(f"battery level [{style.as_text(unit.unit)}]", fontsize=10)
    if unknown:
        style.legend(figure, [Patch(color=_UNKNOWN, label="no answer: level unknown")])
    return figure


def shape(arm: Arm) -> tuple[int, int]:
    """Return of how many clients and at how many times levels are known: at the start of each round and at the end."""
    played = arm.trials[0].participation
    return played.n_clients, played.rounds + 1


def levels(arm: Arm) -> FloatArray:
    """Return the first seed's levels, (clients, rounds + 1); of large fleets, means over neighbours.

    They are in the comparison's unit. NaN stands where a device did not answer.
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
    if top > _FEW_LEVELS:
        return FuncNorm((np.log1p, np.expm1), vmin=0, vmax=top), colour_map
    highest = max(1, int(np.ceil(top)))
    if each:
        return BoundaryNorm(np.arange(highest + 2) - 0.5, colour_map.N), colour_map
    return Normalize(0, highest), colour_map


def _ticks(top: float, *, even: bool) -> list[float]:
    """Return the levels that the colour bar names."""
    if even:
        return [float(tick) for tick in MaxNLocator(5).tick_values(0, top or 1.0) if tick <= (top or 1.0)]
    if top <= _FEW_LEVELS:
        return list(range(max(1, int(np.ceil(top))) + 1))
    return [tick for tick in _TICKS if tick <= top]


def batteries_note(comparison: Comparison) -> str:
    """Return what a caption must say of cells that stand for several clients or rounds."""
    cells = say_cells(shape(on_batteries(comparison)[0]))
    return f" Each cell is a mean over {cells}." if cells else ""


def on_devices(comparison: Comparison) -> tuple[Arm, ...]:
    """Return the arms that ran on devices."""
    return tuple(arm for arm in comparison.arms if arm.trials[0].devices is not None)


def devices_figure(comparison: Comparison) -> Figure | None:
    """Draw what became of clients in every round, one panel an arm (its first seed); None where no arm had devices."""
    arms = on_devices(comparison)
    if not arms:
        return None
    clock = comparison.clock
    figure = style.new_figure(7.2, max(2.5, 0.9 + style.row_height(len(arms)) * len(arms)) + added_height(clock))
    panels = _panels(figure, comparison, arms)
    for axes, arm in zip(panels, arms, strict=True):
        log = arm.trials[0].devices
        assert log is not None
        (_draw_counts if is_counted(arm) else _draw_each)(axes, log.states, float(clock.places(arm.name, np.array(1))))
    name_axes(figure, panels[-1], clock, "clients" if any(map(is_counted, arms)) else "client")
    # A frame, because the palest of them is nearly the paper's colour.
    style.legend(figure, [Patch(facecolor=COLOURS[s], edgecolor="#888888", label=NAMES[s]) for s in NAMES])
    return figure


def is_counted(arm: Arm) -> bool:
    """Return whether there are too many clients to show each."""
    return arm.trials[0].participation.n_clients > _MANY


def _draw_each(axes: Axes, states: NDArray[np.int8], each: float) -> None:
    """Draw a line for each client; in very many rounds, which are as wide as `each`, colours are mixed."""
    rounds, clients = states.shape
    palette = np.array([to_rgb(COLOURS[state]) for state in DeviceState])
    draw_raster(axes, shrunk(palette[states.T]), (clients, rounds), each)
    if clients <= _FEW:
        axes.hlines(np.arange(clients - 1) + 0.5, -0.5 * each, (rounds - 0.5) * each, color="white", linewidth=0.8)
    if rounds <= _FEW:
        axes.vlines((np.arange(rounds - 1) + 0.5) * each, -0.5, clients - 0.5, color="white", linewidth=0.4)


def _draw_counts(axes: Axes, states: NDArray[np.int8], each: float) -> None:
    """Draw how many clients were in each state, on top of each other, from round to round."""
    rounds, clients = states.shape
    heights = [np.repeat((states == state).sum(axis=1), 2) for state in NAMES]
    edges = each * np.repeat(np.arange(rounds + 1) - 0.5, 2)[1:-1]  # a round is as wide as it is in other figures
    axes.stackplot(edges, heights, colors=[COLOURS[state] for state in NAMES], linewidth=0)
    axes.set_xlim(-0.5 * each, (rounds - 0.5) * each)
    axes.set_ylim(0, clients)
    number_clients(axes)


def _panels(figure: Figure, comparison: Comparison, arms: Sequence[Arm]) -> list[Axes]:
    """Return a panel for each arm, below each other, named and on common rounds."""
    look = looks_of(comparison)
    panels = list(figure.subplots(len(arms), 1, sharex=True, squeeze=False)[:, 0])
    for axes, arm in zip(panels, arms, strict=True):
        axes.set_title(style.shorten(arm.name, 60), fontsize=10, loc="left", color=style.ink(look[arm.name].colour))
    return panels


def draw_raster(axes: Axes, image: FloatArray, shape: tuple[int, int], each: float = 1.0, **colours: Any) -> None:
    """Draw the output of `shrunk`, of an image whose shape is (clients, rounds); `colours` is for matplotlib's imshow.

    A round is as wide as `each`, so that it is 1 on an axis of rounds.
    """
    clients, rounds = shape
    extent = (-0.5 * each, (rounds - 0.5) * each, clients - 0.5, -0.5)
    axes.imshow(image, aspect="auto", interpolation="nearest", extent=extent, **colours)
    number_clients(axes)


def number_clients(axes: Axes) -> None:
    """Let the y axis show a few integers."""
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(labelsize=9)


def name_axes(figure: Figure, lowest: Axes, clock: Clock, clients: str = "client") -> None:
    """Say what the axes of panels below each other are; they share the rounds."""
    name_rounds([lowest], clock, name="round")
    figure.supylabel(clients, fontsize=10)


def shrunk(image: FloatArray) -> FloatArray:
    """Return an image with as many rows and columns as a panel can show; what is not known has no part in means."""
    return block_means(block_means(image, _ROWS).swapaxes(0, 1), _COLUMNS).swapaxes(0, 1)


def say_cells(shape: tuple[int, int]) -> str:
    """Return what each cell of a shrunk image stands for; empty where it is one client in one round.

    >>> say_cells((1_000, 50)), say_cells((200, 1_000))
    ('5 clients', '')
    """
    sizes = -(-shape[0] // _ROWS), -(-shape[1] // _COLUMNS)
    found = [f"{n:,} {of}" for n, of in zip(sizes, ("clients", "rounds"), strict=True) if n > 1]
    return listed(found) if found else ""


def block_means(values: FloatArray, most: int) -> FloatArray:
    """Return the means of blocks of rows, at most `most` of them; all blocks but the last are of one size.

    NaN has no part in a mean, and is one where there is nothing else.

    >>> block_means(np.array([[1], [3], [5], [np.nan], [np.nan]]), most=3).tolist()
    [[2.0], [5.0], [nan]]
    """
    size = -(-len(values) // most)
    starts = np.arange(0, len(values), size)
    known = np.isfinite(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts, axis=0)
    numbers = np.add.reduceat(known.astype(np.int64), starts, axis=0)
    means: FloatArray = np.divide(sums, numbers, out=np.full(sums.shape, np.nan), where=numbers > 0)
    return means
