"""A report's folder: the page, the figures, and the numbers as small text: rounds.csv, summary.json, table.txt."""

from __future__ import annotations

import csv
import dataclasses
import io
import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.audit import Audit
from ehfl.analysis.frames import round_columns, round_rows
from ehfl.analysis.rows import figures_of
from ehfl.analysis.served import common_classes, final_by_class
from ehfl.files import json_text, sweep, write_text
from ehfl.report.tables.compact import compact_table
from ehfl.report.tables.comparison import comparison_table
from ehfl.report.verdict import verdict_of
from ehfl.validation import InvalidValue

FIGURES = "figures"
PAGE = "report.html"
PLAN = "plan.html"
TEXTS = ("rounds.csv", "summary.json", "table.txt")
_WIDTH = 100  # letters of a line in table.txt
_FACTS = ("version", "commit", "python", "numpy", "torch", "platform", "host")


def write_report(comparison: Comparison, folder: str | os.PathLike[str], commands: Sequence[str] = ()) -> Path:
    """Write report.html, figures/ and the numbers as small text into the folder, and return the page's path.

    The comparison is what `ehfl.compare` or `ehfl.read` returned. The page shows `commands`, which make it all again.
    """
    from ehfl.report.figures.comparison import draw_all  # matplotlib and Jinja, which the numbers alone do not need
    from ehfl.report.pages.comparison import write_page

    if not isinstance(comparison, Comparison):
        raise InvalidValue("comparison", "what ehfl.compare or ehfl.read returned", repr(comparison))
    folder = Path(folder)
    make_ready(folder)
    texts = rounds_csv(comparison), json_text(as_facts(comparison), indent=2) + "\n", table_text(comparison)
    for name, text in zip(TEXTS, texts, strict=True):
        write_text(folder / name, text)
    drawings = draw_all(comparison, folder / FIGURES)
    page = folder / PAGE
    facts = _facts(comparison)
    write_page(comparison, drawings, page, spec="\n".join(comparison.specs), facts=facts, commands=commands)
    return page


def _facts(comparison: Comparison) -> dict[str, str]:
    """Return what runs say about where they ran, each value once."""
    metas, facts = comparison.metas, {}
    for name in _FACTS:
        values = list(dict.fromkeys(str(meta[name]) for meta in metas if meta.get(name) is not None))
        if values:  # seeds may have been added by another version, which a reader should know
            facts[name] = ", ".join(values) + (" (not the same for all runs)" if len(values) > 1 else "")
    if started := sorted(str(meta.get("started", "unknown")) for meta in metas):
        facts |= {"first run started": started[0], "last run started": started[-1]}
    records = [record for arm in comparison.arms for trial in arm.trials for record in trial.records]
    seconds = sum(record.seconds + record.eval_seconds for record in records)  # interruptions are not counted
    return facts | {"time of all runs": f"{seconds:,.0f} s"}


def make_ready(folder: Path) -> None:
    """Make the folder if it is missing, and rid it of what killed processes left half-written."""
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    for place in (folder, folder / FIGURES):
        sweep(place)


def rounds_csv(comparison: Comparison) -> str:
    """Return every round of every run as comma-separated text, six digits; empty where there is no value.

    Where tasks have classes, accuracies by class and by client stand beside each other in a cell, with blanks between.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(round_columns(comparison))
    for label, *values in round_rows(comparison):
        # An apostrophe tells a spreadsheet that a label is a text and not a formula.
        text_label = f"'{label}" if str(label).startswith(("=", "+", "-", "@")) else label
        rows.writerow([text_label, *map(_text, values)])
    return text.getvalue()


def _text(x: object) -> object:
    if isinstance(x, tuple):
        return " ".join("nan" if share is None else f"{share:.6g}" for share in x)
    return f"{x:.6g}" if isinstance(x, float) else x


def table_text(comparison: Comparison) -> str:
    """Return the compact table, the verdict and the table of all figures as plain text."""
    table, every = compact_table(comparison), comparison_table(comparison)
    says = [line for one in verdict_of(comparison) for line in wrap(one, _WIDTH)]
    return "\n".join([table.title, "", table.text(_WIDTH), "", *says, "", "Full table", every.text(_WIDTH), ""])


def as_facts(comparison: Comparison) -> dict[str, Any]:
    """Return the figures of a comparison, ready for JSON; times are in seconds, energies in its unit."""
    figures, arms = figures_of(comparison.rows), comparison.arms
    facts: dict[str, Any] = {
        "name": comparison.name,
        "metric": dataclasses.asdict(comparison.metric),
        "goal": comparison.goal,
        "unit": comparison.unit,
        "shared": list(comparison.shared),
        "worlds": [
            {
                "arms": [arm.name for arm in world.arms],
                "target": world.target,
                "differences_to": world.baseline,
                "slowdowns_relative_to": world.best,
            }
            for world in comparison.worlds
        ],
        "missing": list(map(str, comparison.missing)),
        "seeds": {arm.name: list(arm.seeds) for arm in arms},
    }
    if lengths := comparison.clock.lengths:  # of a round, by arm [s]
        facts["round_lengths"] = dict(lengths)
    rows = map(dataclasses.asdict, comparison.rows)
    facts |= {"arms": [{name: row[name] for name in figures} for row in rows], "weights": list(map(_weights, arms))}
    if classes := common_classes(arms):  # whose accuracy at the end is a mean over seeds
        found = {arm.name: final_by_class(arm) for arm in arms}
        means = {arm: shares.mean(axis=0).tolist() for arm, shares in found.items() if shares is not None}
        facts |= {"classes": list(classes), "by_class": means}
    logs = [(trial, trial.devices) for arm in arms for trial in arm.trials]
    if devices := [{"arm": one.arm, "seed": one.seed, **log.as_facts()} for one, log in logs if log is not None]:
        facts["devices"] = devices
    return facts


def _weights(arm: Arm) -> dict[str, Any]:
    """Return what each client weighed in a plain mean, and what that did to labels, where they are known."""
    audit = Audit.played(arm)
    mixed = {"mixture": audit.mixtures()} if audit.deals and audit.chances.has_turns else {}
    return {"arm": audit.arm, "weights": audit.chances.weights.tolist(), **mixed}
