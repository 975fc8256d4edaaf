"""A plan's page and the figures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from ehfl.planning import Plan
from ehfl.report.figures.looks import looks
from ehfl.report.figures.plan import draw_plan
from ehfl.report.folder import FIGURES, PLAN, make_ready
from ehfl.report.pages.build import write_html
from ehfl.report.plan_verdict import verdict_of_plan
from ehfl.report.tables.output import unbroken
from ehfl.report.tables.plan import budget_lines, plan_lines, plan_table, setting

TABLE = "plan.csv"  # a row for each scheduler: `Plan.frame`
SIZES = "sizes.csv"  # a row for each panel and battery: `SizeMap.frame`


def write_plan(plan: Plan, folder: Path, *, spec: str, facts: Mapping[str, str], commands: Sequence[str]) -> Path:
    """Write plan.html, plan.csv and figures/ into the folder, made if missing, and return the page's path.

    `spec` is what was planned, `facts` where and with what, `commands` those that make it all again.
    """
    make_ready(folder)
    plan.frame().to_csv(folder / TABLE)
    if plan.sizes is not None:
        plan.sizes.frame().to_csv(folder / SIZES, index=False)
    look, seeds = looks(plan.schedulers), len(plan.seeds)
    mean = f"Means over {seeds} seeds; small print gives 95 % intervals" if seeds > 1 else "One seed: no intervals"
    write_html(
        folder / PLAN,
        plan_lines(plan),
        plan.outlooks,
        {one.label: look[one.label] for one in plan.outlooks},
        draw_plan(plan, folder / FIGURES),
        title=plan.name,
        setting=[unbroken(line) for line in (setting(plan), *budget_lines(plan))],
        verdict=[unbroken(sentence) for sentence in verdict_of_plan(plan)],
        chart=None,
        compact=Markup(plan_table(plan).html()),
        devices=[],
        note=f"{mean}. B: noise scale [clients], 0 if rounds alone matter, infinite if participants do.",
        spec=spec,
        facts={"seeds": ", ".join(map(str, plan.seeds)), **facts},
        commands=commands,
    )
    return folder / PLAN
