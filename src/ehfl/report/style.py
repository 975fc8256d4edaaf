"""How figures look: one colour a scheduler, safe for colour-blind readers, legible at half a page."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ehfl.files import written_whole

Line = Literal["-"] | tuple[float, tuple[float, ...]]  # as matplotlib writes line styles

# Okabe and Ito, "Color Universal Design", 2008. Fixed, so that a scheduler looks the same in every figure.
_COLOURS = {
    "myopic": "#0072B2",
    "greedy": "#D55E00",
    "round-robin": "#009E73",
    "uniform-random": "#CC79A7",
    "always-on": "#444444",
}
_OTHERS = ("#E69F00", "#56B4E9", "#8C6D31")


_DASHES: tuple[Line, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
_MARKERS = "os^DvP<X>"
SMALL = 8.5  # the smallest letters [pt]: legible where 7.2 inches are printed at half a page


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each name: a scheduler's own if the name is or contains the scheduler's, and it is free.

    Who bears the very name comes first, then "round-robin:1", then "paper/myopic" or "Myopic, linear steps".

    >>> colours_of(["paper/myopic", "mine"])["paper/myopic"], colours_of(["paper/myopic", "myopic"])["myopic"]
    ('#0072B2', '#0072B2')
    """
    chosen: dict[str, str] = {}
    for name in sorted(names, key=_remoteness):
        known = _COLOURS.get(_scheduler_in(name))
        if known and known not in chosen.values():
            chosen[name] = known
    free = [colour for colour in (*_OTHERS, *_COLOURS.values()) if colour not in chosen.values()]
    spare, others = iter(free), itertools.cycle((*_OTHERS, *_COLOURS.values()))
    for name in names:
        if name not in chosen:  # when none is left, colours repeat: the scheduler's own if there is one
            chosen[name] = next(spare, None) or _COLOURS.get(_scheduler_in(name)) or next(others)
    return {name: chosen[name] for name in names}


def lines_of(names: Sequence[str]) -> dict[str, Line]:
    """Return a line style for each name: solid, and another one for each further name of the same colour."""
    colours = colours_of(names)
    seen: list[str] = []
    lines: dict[str, Line] = {}
    for name in names:
        lines[name] = _DASHES[seen.count(colours[name]) % len(_DASHES)]
        seen.append(colours[name])
    return lines


def markers_of(names: Sequence[str]) -> dict[str, str]:
    """Return a marker for each name, by its place."""
    return dict(zip(names, itertools.cycle(_MARKERS), strict=False))


def shorten(name: str, limit: int = 44) -> str:
    """Return the name, cut in the middle if it is longer than a figure has room for.

    >>> shorten("a-scheduler-with-a-long-name", limit=15)
    'a-sched…ng-name'
    """
    if len(name) <= limit:
        return name
    return f"{name[: (limit - 1) // 2]}…{name[-(limit // 2) :]}"


def ink(colour: str) -> str:
    """Return a darker shade of the colour, for letters.

    >>> ink("#ff0080")
    '#bf0060'
    """
    red, green, blue = to_rgb(colour)
    return to_hex((0.75 * red, 0.75 * green, 0.75 * blue))


def legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Put a legend above the panels, in as many columns as its longest label leaves room for."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    room = int(figure.get_figwidth() * 13 / (longest + 5))
    columns = max(1, min(len(handles), room))
    rows = -(-len(handles) // columns)
    columns = -(-len(handles) // rows)  # rows of about the same length
    figure.set_figheight(figure.get_figheight() + 0.2 * (rows - 1))  # the panels keep their height
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False, fontsize=9)


def _scheduler_in(name: str) -> str:
    plain = _plain(name)
    return max((known for known in _COLOURS if known in plain), key=len, default="")


def _remoteness(name: str) -> int:
    """Return 0 for a scheduler's very name, 1 for one with its width, 2 for anything else."""
    plain = _plain(name)
    return 0 if plain in _COLOURS else 1 if plain.partition(":")[0] in _COLOURS else 2


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(" ", "-")


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


def count(axis: Axis) -> None:
    """Let an axis show whole numbers only, such as rounds."""
    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True, min_n_ticks=1))
    axis.set_major_formatter("{x:,.0f}")


def save(figure: Figure, path: Path) -> None:
    """Write the figure: aside first and then renamed, so that the file is whole or absent."""
    # the salt makes the same figure the same file
    with written_whole(path) as aside, rc_context({"svg.hashsalt": "ehfl"}), warnings.catch_warnings():
        # a name in letters that the font lacks is drawn as boxes: nothing that the user could mend
        warnings.filterwarnings("ignore", r"Glyph .* missing from ", UserWarning)
        figure.savefig(aside, dpi=200, metadata={"Date": None} if path.suffix == ".svg" else None)
