"""Everything about a comparison in one folder: figures, page, and the numbers as small text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ehfl.analysis import Comparison
from ehfl.files import json_text, write_text
from ehfl.report.figures import draw_all
from ehfl.report.page import write_page
from ehfl.report.place import FIGURES, PAGE, TEXTS, made_ready
from ehfl.report.texts import as_facts, rounds_csv, table_text

if TYPE_CHECKING:
    from ehfl.analysis import Results

_FACTS = ("version", "commit", "python", "numpy", "torch", "platform", "host", "threads")


def write_report(results: Results, folder: Path, commands: Sequence[str]) -> Path:
    """Write report.html, figures/ and the numbers as small text into the folder, and return the page's path.

    `commands` are those that make it all again.
    """
    made_ready(folder)
    comparison = results.comparison
    texts = rounds_csv(comparison), json_text(as_facts(comparison), indent=2) + "\n", table_text(comparison)
    for name, text in zip(TEXTS, texts, strict=True):
        write_text(folder / name, text)
    drawings = draw_all(comparison, folder / FIGURES)
    page = folder / PAGE
    write_page(comparison, drawings, page, spec="\n".join(results.specs), facts=_facts(results), commands=commands)
    return page


def _facts(results: Results) -> dict[str, str]:
    """Return what runs say about where they ran, each value once."""
    metas = results.metas
    found = {name: dict.fromkeys(str(meta[name]) for meta in metas if meta.get(name) is not None) for name in _FACTS}
    facts = {name: _listed(list(values)) for name, values in found.items() if values}
    started = sorted(str(meta.get("started", "unknown")) for meta in metas)
    return facts | {
        "first run started": started[0],
        "last run started": started[-1],
        "time of all runs": f"{_seconds(results.comparison):,.0f} s",
    }


def _listed(values: list[str]) -> str:
    """Return values of a fact; seeds may have been added by another version, which a reader should know."""
    return values[0] if len(values) == 1 else f"{', '.join(values)} (not the same for all runs)"


def _seconds(comparison: Comparison) -> float:
    """Return how long training and evaluation took in all runs together, interruptions not counted [s]."""
    records = [record for arm in comparison.arms for trial in arm.trials for record in trial.records]
    return sum(record.seconds + record.eval_seconds for record in records)
