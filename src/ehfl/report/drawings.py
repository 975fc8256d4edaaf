"""A figure in two formats, with its words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from ehfl.report import style


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure in two formats, with what a reader should see in it."""

    name: str  # "learning", the files' stem
    title: str
    caption: str
    png: Path
    svg: Path
    topic: str = ""  # figures of one topic stand together on a page


def drawn(figure: Figure, folder: Path, name: str, title: str, caption: str, topic: str = "") -> Drawing:
    """Write a figure as PNG and SVG into a folder that is there."""
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    for path in (png, svg):
        style.save(figure, path)
    return Drawing(name, title, caption, png, svg, topic)
