"""A comparison as one HTML file that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ehfl.analysis import Comparison
from ehfl.analysis.compact import compact, setting
from ehfl.analysis.table import quantities
from ehfl.files import write_text
from ehfl.report.looks import looks_of
from ehfl.report.page_chart import chart_data
from ehfl.report.page_devices import device_parts
from ehfl.report.page_parts import render
from ehfl.report.verdict import verdict_of

if TYPE_CHECKING:  # the page shows figures, and needs no matplotlib for it
    from ehfl.report.drawings import Drawing


def write_page(
    comparison: Comparison,
    drawings: Sequence[Drawing],
    path: Path,
    *,
    spec: str,
    facts: Mapping[str, str],
    commands: Sequence[str],
) -> None:
    """Write the page, whole or not at all."""
    write_text(path, _render(comparison, drawings, spec=spec, facts=facts, commands=commands))


def _render(comparison: Comparison, drawings: Sequence[Drawing], **texts: Any) -> str:
    chart = chart_data(comparison)
    values = {
        "comparison": comparison,
        "line": setting(comparison),
        "verdict": verdict_of(comparison),
        "compact": Markup(compact(comparison).html()),
        "devices": device_parts(comparison),
        "data": _safe_json(chart),
        "paired": any(arm["difference"] for arm in chart["arms"]),
        "has_classes": any(arm["worst"] for arm in chart["arms"]),
        "baseline": chart["difference"]["goalText"],
        "seeds": _seeds(comparison),
        "clock": comparison.clock,
        "energy_unit": chart["unit"],
        "one_seed": all(len(arm.seeds) == 1 for arm in comparison.arms),
    }
    looks = list(looks_of(comparison).values())
    return render("page.html", looks, quantities(comparison), drawings, ("page.js", "narrow.js"), values | texts)


def _safe_json(data: Mapping[str, Any]) -> Markup:
    """Return JSON in which no character can end the script element around it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    escaped = text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
    return Markup(escaped)


def _seeds(comparison: Comparison) -> str:
    """Return the seeds, by arm where they differ."""
    by_arm = {arm.name: ", ".join(map(str, arm.seeds)) for arm in comparison.arms}
    if len(set(by_arm.values())) == 1:
        return next(iter(by_arm.values()))
    return "; ".join(f"{name}: {seeds}" for name, seeds in by_arm.items())
