"""How figures look and are written: without a screen, legible at half a page, complete or absent."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from ehfl.files import written_whole

FEW_ROWS = 8  # panels below each other that may be tall
SMALL = 8.5  # the smallest letters [pt]: legible where 7.2 inches are printed at half a page


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size [inch] that draws without a screen."""
    room = ConstrainedLayoutEngine(w_pad=0.07, h_pad=0.07)  # around titles and the last ticks [inch]
    figure = Figure(figsize=(width, height), layout=room)
    FigureCanvasAgg(figure)
    return figure


def row_height(rows: int) -> float:
    """Return how tall each of these panels below each other is [inch]: of many, lower ones still fit on a page."""
    return 1.2 if rows <= FEW_ROWS else 0.7


def as_text(text: str) -> str:
    r"""Return a text of the user's as matplotlib shows it unchanged: without this, dollars would begin a formula.

    >>> print(as_text("5 $ a $"))
    5 \$ a \$
    """
    return text.replace("$", r"\$")


def shorten(name: str, limit: int = 44) -> str:
    """Return a name to be drawn, cut in the middle if it is longer than a figure has room for.

    >>> shorten("a-scheduler-with-a-long-name", limit=15)
    'a-sched…ng-name'
    """
    cut = name if len(name) <= limit else f"{name[: (limit - 1) // 2]}…{name[-(limit // 2) :]}"
    return as_text(cut)


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
    room = int(figure.get_figwidth() * 13 / (longest + 7))
    columns = max(1, min(len(handles), room))
    rows = -(-len(handles) // columns)
    columns = -(-len(handles) // rows)  # rows of about the same length
    figure.set_figheight(figure.get_figheight() + 0.2 * (rows - 1))  # the panels keep their height
    figure.legend(  # samples long enough to show a whole period of any dash
        handles=handles, loc="outside upper center", ncols=columns, frameon=False, fontsize=9, handlelength=3.2
    )


def tidy(axes: Axes) -> None:
    """Leave only the lines that carry meaning."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)


def count(axis: Axis) -> None:
    """Let an axis show integers only, such as rounds."""
    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True, min_n_ticks=1))
    axis.set_major_formatter("{x:,.0f}")


def save(figure: Figure, path: Path) -> None:
    """Write the figure in the format of the path's suffix; the file is complete or absent."""
    kind = path.suffix.removeprefix(".")
    # Without a date, and with a salt of ids, the same figure is the same file. Journals refuse fonts of type 3.
    with (
        written_whole(path) as file,
        rc_context({"svg.hashsalt": "ehfl", "pdf.fonttype": 42}),
        warnings.catch_warnings(),
    ):
        # A name in letters that the font lacks is drawn as boxes: nothing that the user could mend.
        warnings.filterwarnings("ignore", r"Glyph .* missing from ", UserWarning)
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(file, format=kind, dpi=200, metadata=dated.get(kind))


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure in two formats, with what a reader should see in it."""

    name: str  # "learning", the files' stem
    title: str
    caption: str
    png: Path
    svg: Path  # a PDF of the same name stands beside both
    topic: str = ""  # figures of one topic stand together on a page


def drawn(figure: Figure, folder: Path, name: str, title: str, caption: str, topic: str = "") -> Drawing:
    """Write a figure as PNG, SVG and PDF into a folder that is there."""
    png, svg, pdf = (folder / f"{name}.{kind}" for kind in ("png", "svg", "pdf"))
    for path in (png, svg, pdf):
        save(figure, path)
    return Drawing(name, title, caption, png, svg, topic)
