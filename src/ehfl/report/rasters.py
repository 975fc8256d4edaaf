"""Images with a line for each client and a column for each round."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ehfl.analysis.clock import Clock
from ehfl.arrays import FloatArray
from ehfl.report.phrases import listed
from ehfl.report.time_axis import name_rounds

_ROWS, _COLUMNS = 200, 1000  # cells that a panel can show; more clients or rounds are averaged


def draw_raster(axes: Axes, image: FloatArray, shape: tuple[int, int], each: float = 1.0, **colours: Any) -> None:
    """Draw what `shrunk` made of an image with so many clients and rounds; `colours` is for matplotlib's imshow.

    A round is as wide as `each`, so that it is 1 on an axis of rounds.
    """
    clients, rounds = shape
    extent = (-0.5 * each, (rounds - 0.5) * each, clients - 0.5, -0.5)
    axes.imshow(image, aspect="auto", interpolation="nearest", extent=extent, **colours)
    number_clients(axes)


def number_clients(axes: Axes) -> None:
    """Let the y axis show a few whole numbers."""
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
    """Return the means of runs of rows, so that at most so many rows are left; all runs but the last are as long.

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
