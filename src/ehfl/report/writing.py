"""Everything about a comparison in one folder: figures, page, and the numbers as small text."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from ehfl.experiment import Comparison, Results, write_spec
from ehfl.files import json_text, write_text
from ehfl.report.drawings import draw_all
from ehfl.report.page import write_page
from ehfl.report.tables import comparison_table
from ehfl.report.words import summary

_RECORDED = ("round", "participants", "step_size", "train_loss", "test_loss", "test_metric")


def write_report(results: Results, folder: Path, commands: Sequence[str]) -> Path:
    """Write report.html, figures/ and the numbers as small text into the folder, and return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    compared = results.comparison
    write_text(folder / "rounds.csv", rounds_csv(compared))
    write_text(folder / "summary.json", json_text(as_facts(compared), indent=2) + "\n")
    write_text(folder / "table.txt", table_text(compared))
    drawings = draw_all(compared, folder / "figures")
    page = folder / "report.html"
    spec = "\n".join(write_spec(spec) for spec in results.specs)
    write_page(compared, drawings, page, spec=spec, facts=_facts(results), commands=commands)
    return page


def rounds_csv(compared: Comparison) -> str:
    """Return every round of every run as comma-separated text, six digits; empty where there is no value."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["arm", "seed", *_RECORDED, "energy_spent"])
    for trial in (trial for arm in compared.arms for trial in arm.trials):
        for record, spent in zip(trial.records, trial.spent, strict=True):
            cells = [getattr(record, column) for column in _RECORDED]
            shown = [f"{x:.6g}" if isinstance(x, float) else x for x in cells]
            rows.writerow([trial.arm, trial.seed, *shown, spent])
    return text.getvalue()


def table_text(compared: Comparison) -> str:
    """Return the table and the sentences as plain text."""
    text = io.StringIO()
    Console(file=text, width=100, force_terminal=False, color_system=None).print(comparison_table(compared))
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    return "\n".join([compared.name, *lines, "", *summary(compared), ""])


def as_facts(compared: Comparison) -> dict[str, Any]:
    """Return the figures of a comparison, ready for JSON."""
    return {
        "name": compared.name,
        "metric": dataclasses.asdict(compared.metric),
        "goal": compared.goal,
        "target": compared.target,
        "differences_to": compared.arms[0].name,
        "slowdowns_relative_to": compared.best,
        "missing": list(compared.missing),
        "seeds": {arm.name: list(arm.seeds) for arm in compared.arms},
        "arms": [dataclasses.asdict(row) for row in compared.rows],
    }


def _facts(results: Results) -> dict[str, str]:
    """Return what runs say about where they ran, each value once."""
    metas = results.metas
    names = ("version", "commit", "python", "numpy", "torch", "platform", "host", "threads")
    told = {name: dict.fromkeys(str(meta[name]) for meta in metas if meta.get(name) is not None) for name in names}
    facts = {name: ", ".join(values) for name, values in told.items() if values}
    started = sorted(str(meta.get("started", "unknown")) for meta in metas)
    return facts | {
        "first run started": started[0],
        "last run started": started[-1],
        "time of all runs": f"{_seconds(results.comparison):,.0f} s",
    }


def _seconds(compared: Comparison) -> float:
    """Return how long training and evaluation took in all runs together, interruptions not counted [s]."""
    records = [record for arm in compared.arms for trial in arm.trials for record in trial.records]
    return sum(record.seconds + record.eval_seconds for record in records)
