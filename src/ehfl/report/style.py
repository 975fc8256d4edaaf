"""How figures look: one colour a scheduler, safe for colour-blind readers, legible at half a page."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ehfl.files import written_whole

# Okabe and Ito, "Color Universal Design", 2008. Fixed, so that a scheduler looks the same in every figure.
_COLOURS = {
    "myopic": "#0072B2",
    "greedy": "#D55E00",
    "round-robin": "#009E73",
    "uniform-random": "#CC79A7",
    "always-on": "#444444",
}
_OTHERS = ("#E69F00", "#56B4E9", "#8C6D31")


def colours_of(names: list[str]) -> dict[str, str]:
    """Return a colour for each name; "round-robin:1" has a lighter one of its own beside "round-robin".

    >>> colours_of(["myopic", "mine"])["myopic"]
    '#0072B2'
    """
    chosen: dict[str, str] = {}
    spare = iter(_OTHERS * len(names))
    for name in names:
        known = _COLOURS.get(name.partition(":")[0])
        chosen[name] = known if known and known not in chosen.values() else next(spare)
    return chosen


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size [inch] that draws without a screen."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def tidy(axes: Axes) -> None:
    """Leave only the lines that carry meaning."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)


def save(figure: Figure, path: Path) -> None:
    """Write the figure: aside first and then renamed, so that the file is whole or absent."""
    with written_whole(path) as aside:
        figure.savefig(aside, dpi=200, metadata={"Date": None} if path.suffix == ".svg" else None)
