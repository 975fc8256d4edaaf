"""A plan as one HTML file that needs nothing else, and its figures beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ehfl.files import write_text
from ehfl.planning import YEAR, Plan
from ehfl.quantities import as_time
from ehfl.report.looks import looks
from ehfl.report.page_parts import render
from ehfl.report.phrases import counted
from ehfl.report.place import FIGURES, PLAN, made_ready
from ehfl.report.plan_drawing import draw_plan
from ehfl.report.plan_lines import caption, planned
from ehfl.report.plan_words import plan_headlines, plan_topics

_UNITS = re.compile(r"(\d) (?=%|[µmkM]?(?:Wh|W|J)\b|(?:s|min|h|d)\b)")


def write_plan(plan: Plan, folder: Path, *, spec: str, facts: Mapping[str, str], commands: Sequence[str]) -> Path:
    """Write plan.html and figures/ into the folder, made if missing, and return the page's path.

    `spec` is what was planned, `facts` where and with what, `commands` those that make it all again.
    """
    made_ready(folder, (PLAN,))
    page = folder / PLAN
    headlines = plan_headlines(plan)
    topics = {topic: [one for one in said if one not in headlines] for topic, said in plan_topics(plan).items()}
    values = {
        "plan": plan,
        "line": unbroken(facts_line(plan)),
        "headlines": list(map(unbroken, headlines)),
        "topics": {topic: list(map(unbroken, said)) for topic, said in topics.items() if said},
        "caption": _sentence(caption(plan)),
        "spec": spec,
        "facts": facts,
        "commands": commands,
    }
    drawings = draw_plan(plan, folder / FIGURES)
    look = [looks(plan.schedulers)[one.label] for one in plan.outlooks]
    write_text(page, render("plan.html", look, planned(plan), drawings, ("narrow.js",), values))
    return page


def facts_line(plan: Plan) -> str:
    """Return what was planned, in a line."""
    length = plan.fleet.round_length
    rounds = counted(plan.rounds, "round")
    if length is not None:
        year = " (a year)" if abs(plan.rounds * length - YEAR) < length else ""
        rounds = f"{rounds} of {as_time(length)}{year}"
    schedulers, seeds = counted(len(plan.outlooks), "scheduler"), counted(len(plan.seeds), "seed")
    return f"{counted(plan.fleet.clients, 'client')}, harvest {plan.harvest}, {rounds}, {schedulers}, {seeds}"


def unbroken(text: str) -> str:
    r"""Return a text in which no line ends between a number and its unit.

    >>> unbroken("12 Wh a day, 5 % of 3 clients")
    '12\xa0Wh a day, 5\xa0% of 3 clients'
    """
    return _UNITS.sub("\\1\u00a0", text)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
