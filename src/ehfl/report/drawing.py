"""A figure that was drawn, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure in two formats, with what a reader should see in it."""

    name: str  # "accuracy", the files' stem
    title: str
    caption: str
    png: Path
    svg: Path
