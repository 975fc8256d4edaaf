"""Where a report goes: what it writes, and whether it can."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ehfl.files import sweep
from ehfl.validation import InvalidValue

FIGURES = "figures"
PAGE = "report.html"
PLAN = "plan.html"
TEXTS = ("rounds.csv", "summary.json", "table.txt")


def check_place(folder: Path, written: Sequence[str] = (*TEXTS, PAGE)) -> None:
    """Refuse, before anything is written anew, a folder in which something else stands in a file's place."""
    figures = folder / FIGURES
    if figures.exists() and not figures.is_dir():
        raise InvalidValue(str(figures), "a folder, for the report's figures", "a file")
    files = [folder / name for name in written] + [*figures.glob("*.png"), *figures.glob("*.svg")]
    for path in files:
        if path.is_dir():
            raise InvalidValue(str(path), "a file, which the report writes anew", "a folder")


def made_ready(folder: Path, written: Sequence[str] = (*TEXTS, PAGE)) -> None:
    """Make the folder if it is missing, and rid it of what killed processes left half-written."""
    check_place(folder, written)
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    for place in (folder, folder / FIGURES):
        sweep(place)
