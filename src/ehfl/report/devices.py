"""What became of each device in each round: dark, online, its work lost, or in the model."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.devices import DeviceState
from ehfl.report import style
from ehfl.report.looks import looks_of
from ehfl.report.rasters import draw_raster, name_axes, number_clients, shrunk
from ehfl.report.time_axis import added_height

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
    DeviceState.DARK: "dark",
}
_FEW = 40  # clients or rounds up to which a line between two of them helps the eye
_MANY = 200  # clients beyond which no line of their own can be seen: they are counted instead


def on_devices(comparison: Comparison) -> tuple[Arm, ...]:
    """Return the arms that ran on devices."""
    return tuple(arm for arm in comparison.arms if arm.trials[0].devices is not None)


def devices_figure(comparison: Comparison) -> Figure | None:
    """Draw what became of clients in every round, one panel an arm (its first seed); None where no arm had devices."""
    arms = on_devices(comparison)
    if not arms:
        return None
    look, clock = looks_of(comparison), comparison.clock
    figure = style.new_figure(7.2, max(2.5, 0.9 + 1.3 * len(arms)) + added_height(clock))
    panels = figure.subplots(len(arms), 1, sharex=True, squeeze=False)[:, 0]
    for axes, arm in zip(panels, arms, strict=True):
        _draw_states(axes, arm, float(clock.places(arm.name, np.array(1))))
        axes.set_title(style.shorten(arm.name, 60), fontsize=10, loc="left", color=style.ink(look[arm.name].colour))
    name_axes(figure, panels[-1], clock, "clients" if any(map(is_counted, arms)) else "client")
    # A frame, because the palest of them is nearly the paper's colour.
    style.legend(figure, [Patch(facecolor=COLOURS[s], edgecolor="#888888", label=NAMES[s]) for s in NAMES])
    return figure


def is_counted(arm: Arm) -> bool:
    """Return whether there are too many clients to show each."""
    return arm.trials[0].participation.n_clients > _MANY


def _draw_states(axes: Axes, arm: Arm, each: float) -> None:
    log = arm.trials[0].devices
    assert log is not None
    if is_counted(arm):
        _draw_counts(axes, log.states, each)
    else:
        _draw_each(axes, log.states, each)


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
