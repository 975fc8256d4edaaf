"""The pages of a plan and of several fleets side by side, and the figures beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ehfl.planning import Designs, Plan
from ehfl.report.designs import designs_lines, designs_output
from ehfl.report.figures.looks import looks
from ehfl.report.figures.plan import draw_plan
from ehfl.report.folder import FIGURES, PLAN, make_ready
from ehfl.report.pages.build import write_html
from ehfl.report.tables.output import Output, unbroken
from ehfl.report.tables.plan import plan_lines, plan_output
from ehfl.report.write import listed
from ehfl.runs import slug

TABLE = "plan.csv"  # a row for each scheduler: `Plan.frame`
SIZES = "sizes.csv"  # a row for each panel and battery: `SizeMap.frame`
DESIGNS = "designs.csv"  # a row for each design and scheduler: `Designs.frame`


def write_plan(plan: Plan, folder: Path, *, spec: str, facts: Mapping[str, str], commands: Sequence[str]) -> Path:
    """Write plan.html, plan.csv and figures/ into the folder, made if missing, and return the page's path.

    `spec` is what was planned, `facts` where and with what, `commands` those that make it all again.
    """
    make_ready(folder)
    plan.frame().to_csv(folder / TABLE)
    if plan.sizes is not None:
        plan.sizes.frame().to_csv(folder / SIZES, index=False)
    seeds = len(plan.seeds)
    mean = f"Means over {seeds} seeds; small print gives 95 % intervals" if seeds > 1 else "One seed: no intervals"
    look = looks(plan.schedulers)
    parts = (plan_lines(plan), plan.outlooks, {one.label: look[one.label] for one in plan.outlooks},
             draw_plan(plan, folder / FIGURES))  # fmt: skip
    return _write(folder, plan_output(plan), *parts,
                  title=plan.name,
                  note=f"{mean}. B: noise scale [clients], 0 if rounds alone matter, infinite if participants do.",
                  spec=spec,
                  facts={"seeds": ", ".join(map(str, plan.seeds)), **facts},
                  commands=commands)  # fmt: skip


def write_designs(
    designs: Designs, folder: Path, *, specs: Sequence[str], facts: Mapping[str, str], commands: Sequence[str]
) -> Path:
    """Write plan.html, designs.csv and the figures of all plans into the folder, and return the page's path."""
    make_ready(folder)
    designs.frame().to_csv(folder / DESIGNS)
    names = [one.name for one in designs.plans]
    drawings = [replace(drawing, topic=one.name) for one in designs.plans
                for drawing in draw_plan(one, folder / FIGURES / slug(one.name))]  # fmt: skip
    return _write(folder, designs_output(designs), designs_lines(designs), designs.plans,
                  looks(dict.fromkeys(names, "")), drawings,
                  title=listed(names),
                  note="Each design under its best scheduler: means over seeds; small print gives 95 % intervals.",
                  spec="\n".join(specs),
                  facts=facts,
                  commands=commands)  # fmt: skip


def _write(folder: Path, output: Output, *parts: Any, **values: Any) -> Path:
    """Write the page of what a command prints; `parts` and `values` are those of `write_html`."""
    write_html(
        folder / PLAN,
        *parts,
        setting=[unbroken(line) for line in output.facts],
        verdict=[unbroken(sentence) for sentence in output.verdict],
        chart=None,
        compact=Markup(output.table.html()),
        devices=[],
        **values,
    )
    return folder / PLAN
