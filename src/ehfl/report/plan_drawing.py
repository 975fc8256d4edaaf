"""All figures of a plan, in the order in which they are read, with what a reader should see in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ehfl.planning import Plan
from ehfl.report.drawings import Drawing, drawn
from ehfl.report.phrases import counted, listed, spoken
from ehfl.report.plan_curves import curves_figure, wanted_clients
from ehfl.report.plan_months import MEAN, SHORT, hour_maps, hours_figure, months_figure
from ehfl.report.plan_year import has_days, parts_of, year_figure


@dataclass(frozen=True, slots=True)
class PlanFigure:
    """A figure with its words."""

    name: str  # "year", the files' stem
    title: str
    caption: str
    figure: Figure


def plan_figures(plan: Plan) -> list[PlanFigure]:
    """Return the figures of a plan; left out are those that there is no data for."""
    made = ((name, title, make(plan), say) for name, (title, make, say) in _FIGURES.items())
    return [PlanFigure(name, title, say(plan), figure) for name, title, figure, say in made if figure is not None]


def draw_plan(plan: Plan, folder: Path) -> tuple[Drawing, ...]:
    """Write every figure as PNG and SVG into the folder, made if missing, and return them in reading order."""
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(drawn(one.figure, folder, one.name, one.title, one.caption) for one in plan_figures(plan))


def _say_year(plan: Plan) -> str:
    seeds, step = len(plan.seeds), int(np.diff(parts_of(plan)).max())
    each = "a day" if has_days(plan) else "a round" if step == 1 else f"{step:,} rounds"
    if each == "a round" and seeds == 1:
        return "Lines: each round. Grey: how many are wanted."
    means = f"Lines: mean of {each}" + (f", {seeds} seeds together" if seeds > 1 else "")
    return f"{means}. Bands: from the lowest to the highest round of it. Grey: how many are wanted."


def _say_months(plan: Plan) -> str:
    seeds = len(plan.seeds)
    weather = f" Harvest of seed {plan.seeds[0]}, participants of {seeds} seeds." if seeds > 1 else ""
    return (
        "Bars: clients a round that each month's harvest pays for, standing by taken off, if no battery were ever too "
        f"full or carried anything into the next month. Marks: how many take part on average.{weather}"
    )


def _say_hours(plan: Plan) -> str:
    best, maps = plan.best, hour_maps(plan)
    parts = ["participants"] if MEAN in maps else []
    parts += [f"the share of rounds with fewer than {counted(best.target, 'client')}"] if SHORT in maps else []
    where = "By month and by the hour at which a round begins"
    return f"{where}, under {spoken(best.label)}: {' (left) and '.join(parts)}{' (right)' if len(parts) > 1 else ''}."


def _say_curves(plan: Plan) -> str:
    names = listed((curve.name for curve in plan.curves), "or")
    clients, label = counted(wanted_clients(plan), "client"), plan.curves[0].scheduler
    return (
        f"Share of rounds with {clients} or more under {spoken(label)} with a quarter to four times the {names}, all "
        "else as it is and under the same weather."
    )


# Title, figure and caption by name, in reading order.
_FIGURES: dict[str, tuple[str, Callable[[Plan], Figure | None], Callable[[Plan], str]]] = {
    "year": ("Participants through the rounds", year_figure, _say_year),
    "months": ("What the harvest pays for", months_figure, _say_months),
    "hours": ("When clients are too few", hours_figure, _say_hours),
    "curves": ("What more or less would do", curves_figure, _say_curves),
}
