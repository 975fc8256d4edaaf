"""A comparison as one HTML file that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ehfl.analysis import Comparison
from ehfl.analysis.table import quantities
from ehfl.files import write_text
from ehfl.quantities import as_time
from ehfl.report.looks import looks_of
from ehfl.report.page_chart import chart_data
from ehfl.report.page_devices import device_parts
from ehfl.report.page_parts import render
from ehfl.report.phrases import counted, listed
from ehfl.report.story import headlines
from ehfl.report.words import topics

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
        "line": _facts_line(comparison),
        "headlines": headlines(comparison),
        "topics": topics(comparison),
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


def _facts_line(comparison: Comparison) -> str:
    arms = comparison.arms
    return ", ".join(
        [
            counted(len(arms), "arm"),
            _from_to([len(arm.seeds) for arm in arms], "seed"),
            _from_to([arm.rounds for arm in arms], "round") + _length(comparison),
            f"{_wanted(comparison)} wanted in each",
            f"judged by {comparison.metric.name} on test data",
        ]
    )


def _length(comparison: Comparison) -> str:
    """Return how long rounds take, and how long all of them; empty where that is not known."""
    clock = comparison.clock
    if not clock.is_known:
        return ""
    each = listed(dict.fromkeys(map(as_time, clock.lengths.values())), "or")
    seconds = {clock.lengths[arm.name] * arm.rounds for arm in comparison.arms}
    whole = f" ({clock.scale.text(seconds.pop())})" if len(seconds) == 1 else ""
    return f" of {each}{whole}"


def _wanted(comparison: Comparison) -> str:
    """Return how many of how many clients are wanted a round, once for all worlds that agree."""
    clients = [world.arms[0].trials[0].participation.n_clients for world in comparison.worlds]
    pairs = zip(comparison.worlds, clients, strict=True)
    return listed(dict.fromkeys(f"{world.target:,} of {counted(n, 'client')}" for world, n in pairs), "or")


def _from_to(found: Sequence[int], noun: str) -> str:
    """Return the number, or the range of numbers.

    >>> _from_to([8, 8], "round"), _from_to([20, 8, 1000], "round")
    ('8 rounds', '8 to 1,000 rounds')
    """
    least, most = min(found), max(found)
    return counted(most, noun) if least == most else f"{least:,} to {counted(most, noun)}"


def _seeds(comparison: Comparison) -> str:
    """Return the seeds, by arm where they differ."""
    by_arm = {arm.name: ", ".join(map(str, arm.seeds)) for arm in comparison.arms}
    if len(set(by_arm.values())) == 1:
        return next(iter(by_arm.values()))
    return "; ".join(f"{name}: {seeds}" for name, seeds in by_arm.items())
