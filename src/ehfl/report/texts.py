"""A comparison as small text: every round as a table, the figures as JSON, and the tables with the verdict."""

from __future__ import annotations

import csv
import dataclasses
import io
from textwrap import wrap
from typing import Any

from rich.console import Console

from ehfl.analysis import Comparison
from ehfl.analysis.audit import Audit
from ehfl.analysis.compact import compact
from ehfl.analysis.round_table import round_columns, round_rows
from ehfl.analysis.rows import figures_of
from ehfl.analysis.served import common_classes, final_by_class
from ehfl.analysis.worlds import World
from ehfl.report.tables import comparison_table
from ehfl.report.verdict import verdict_of

_WIDTH = 100  # letters of a line in table.txt


def rounds_csv(comparison: Comparison) -> str:
    """Return every round of every run as comma-separated text, six digits; empty where there is no value.

    Where tasks have classes, accuracies by class and by client stand beside each other in a cell, with blanks between.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(round_columns(comparison))
    for arm, *values in round_rows(comparison):
        rows.writerow([_no_formula(str(arm)), *map(_text, values)])
    return text.getvalue()


def _text(x: object) -> object:
    if isinstance(x, tuple):
        return " ".join("nan" if share is None else f"{share:.6g}" for share in x)
    return f"{x:.6g}" if isinstance(x, float) else x


def _no_formula(label: str) -> str:
    """Return a label with an apostrophe before what a spreadsheet would run, which tells it that it is a text."""
    return f"'{label}" if label.startswith(("=", "+", "-", "@")) else label


def table_text(comparison: Comparison) -> str:
    """Return the compact table, the verdict and the table of all figures as plain text."""
    text = io.StringIO()
    Console(file=text, width=_WIDTH, force_terminal=False, color_system=None).print(comparison_table(comparison))
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    table, says = compact(comparison), [line for one in verdict_of(comparison) for line in wrap(one, _WIDTH)]
    return "\n".join([table.title, "", table.text(_WIDTH), "", *says, "", "All figures", *lines, ""])


def as_facts(comparison: Comparison) -> dict[str, Any]:
    """Return the figures of a comparison, ready for JSON; times are in seconds, energies in its unit."""
    figures = figures_of(comparison.rows)
    return {
        "name": comparison.name,
        "metric": dataclasses.asdict(comparison.metric),
        "goal": comparison.goal,
        "unit": comparison.unit,
        "shared": list(comparison.shared),
        "worlds": [_world(world) for world in comparison.worlds],
        "missing": list(map(str, comparison.missing)),
        "seeds": {arm.name: list(arm.seeds) for arm in comparison.arms},
        **_lengths(comparison),
        "arms": [{name: facts[name] for name in figures} for facts in map(dataclasses.asdict, comparison.rows)],
        "weights": [_weights(Audit.played(arm)) for arm in comparison.arms],
        **_served(comparison),
        **_devices(comparison),
    }


def _lengths(comparison: Comparison) -> dict[str, Any]:
    """Return how long each arm's rounds take [s], where that is known."""
    lengths = comparison.clock.lengths
    return {"round_lengths": dict(lengths)} if lengths else {}


def _served(comparison: Comparison) -> dict[str, Any]:
    """Return the accuracy of each class at the end by arm, mean over seeds, where arms have the same classes."""
    classes = common_classes(comparison.arms)
    found = {arm.name: final_by_class(arm) for arm in comparison.arms}
    means = {arm: shares.mean(axis=0).tolist() for arm, shares in found.items() if shares is not None}
    return {"classes": list(classes), "by_class": means} if classes else {}


def _world(world: World) -> dict[str, Any]:
    return {
        "arms": [arm.name for arm in world.arms],
        "target": world.target,
        "differences_to": world.baseline,
        "slowdowns_relative_to": world.best,
    }


def _weights(audit: Audit) -> dict[str, Any]:
    """Return what each client weighed in a plain mean, and what that did to labels, where they are known."""
    mixed = {"mixture": audit.mixtures()} if audit.deals and audit.chances.anybody else {}
    return {"arm": audit.arm, "weights": audit.chances.weights.tolist(), **mixed}


def _devices(comparison: Comparison) -> dict[str, Any]:
    """Return what became of devices, run by run, where there were any."""
    runs = [
        {"arm": trial.arm, "seed": trial.seed, **trial.devices.as_facts()}
        for arm in comparison.arms
        for trial in arm.trials
        if trial.devices is not None
    ]
    return {"devices": runs} if runs else {}
