"""Everything about a comparison in one folder: figures, page, and the numbers as small text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehfl.analysis import Comparison
from ehfl.files import json_text, write_text
from ehfl.report.figures import draw_all
from ehfl.report.page import write_page
from ehfl.report.place import FIGURES, PAGE, TEXTS, made_ready
from ehfl.report.texts import as_facts, rounds_csv, table_text
from ehfl.validation import path_of

if TYPE_CHECKING:
    from ehfl.analysis import Results

_FACTS = ("version", "commit", "python", "numpy", "torch", "platform", "host", "threads")


def write_report(found: Comparison | Results, folder: str | os.PathLike[str], commands: Sequence[str] = ()) -> Path:
    """Write report.html, figures/ and the numbers as small text into the folder, and return the page's path.

    `found` is what `ehfl.compare` or `ehfl.read` returned. `commands` are those that make it all again; the page shows
    them.
    """
    folder = path_of("folder", folder)
    made_ready(folder)
    comparison = found if isinstance(found, Comparison) else found.comparison
    texts = rounds_csv(comparison), json_text(as_facts(comparison), indent=2) + "\n", table_text(comparison)
    for name, text in zip(TEXTS, texts, strict=True):
        write_text(folder / name, text)
    drawings = draw_all(comparison, folder / FIGURES)
    page = folder / PAGE
    facts = _facts(found.metas, comparison)
    write_page(comparison, drawings, page, spec="\n".join(found.specs), facts=facts, commands=commands)
    return page


def _facts(metas: Sequence[Mapping[str, Any]], comparison: Comparison) -> dict[str, str]:
    """Return what runs say about where they ran, each value once."""
    found = {name: dict.fromkeys(str(meta[name]) for meta in metas if meta.get(name) is not None) for name in _FACTS}
    facts = {name: _listed(list(values)) for name, values in found.items() if values}
    if started := sorted(str(meta.get("started", "unknown")) for meta in metas):
        facts |= {"first run started": started[0], "last run started": started[-1]}
    return facts | {"time of all runs": f"{_seconds(comparison):,.0f} s"}


def _listed(values: list[str]) -> str:
    """Return values of a fact; seeds may have been added by another version, which a reader should know."""
    return values[0] if len(values) == 1 else f"{', '.join(values)} (not the same for all runs)"


def _seconds(comparison: Comparison) -> float:
    """Return how long training and evaluation took in all runs together, interruptions not counted [s]."""
    records = [record for arm in comparison.arms for trial in arm.trials for record in trial.records]
    return sum(record.seconds + record.eval_seconds for record in records)
