"""Plans of several fleets side by side: one table, a verdict and facts (`pages.plan` has their page)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ehfl.planning import RELIABLE, Designs, Outlook, Plan
from ehfl.report.plan_verdict import exact, is_apart, verdict_of_plan
from ehfl.report.tables import cells
from ehfl.report.tables.output import Output, table_of
from ehfl.report.tables.plan import budget_lines, plan_columns, plan_lines, setting
from ehfl.report.tables.plan_facts import plan_facts
from ehfl.report.tables.render import Quantity, Table, lines_of
from ehfl.report.write import DASH, amount, counted, listed

_FEW = 4  # designs up to which each has a line of facts and its answer a sentence


def designs_output(designs: Designs) -> Output:
    """Return what `ehfl plan` prints of several fleets."""
    full = Table(tuple(one.name for one in designs.plans), lines_of(designs_lines(designs), designs.plans))
    verdict, table = tuple(verdict_of_designs(designs)), designs_table(designs)
    return Output(tuple(_facts(designs)), table, verdict, (full,), "a page with figures: --out FOLDER")


def designs_facts(designs: Designs) -> dict[str, Any]:
    """Return the plans' figures, and the verdict on them together."""
    found = {one.name: plan_facts(one) for one in designs.plans}
    return {"designs": found, "best": designs.ranked[0].name, "sentences": verdict_of_designs(designs)}


def _facts(designs: Designs) -> Iterator[str]:
    plans = designs.plans
    yield f"{len(plans)} designs: {listed(one.name for one in plans)}"
    for one in plans[: _FEW if len(plans) <= _FEW else 0]:
        yield f"{one.name}: {setting(one)}. {next(budget_lines(one))}"


def designs_table(designs: Designs) -> Table:
    """Return designs as rows, each under one scheduler."""
    names = {one.name: one.schedulers[_outlook(one).label] or _outlook(one).label for one in designs.plans}
    columns = {"scheduler": names}
    for one in designs.plans:
        for head, texts in plan_columns(one, alike=False):
            columns.setdefault(head, dict.fromkeys(columns["scheduler"], DASH))[one.name] = texts[_outlook(one).label]
    return table_of(list(columns.items()), list(names), "each design under its best scheduler")


def _outlook(plan: Plan) -> Outlook:
    """Return the outlook under the scheduler that needs the least, where that was searched, else under the best."""
    return next((one for one in plan.outlooks if one.label == plan.answered_by), plan.best)


def verdict_of_designs(designs: Designs) -> list[str]:
    """Return which design is best by what was asked, and where they are few, the answer for each."""
    best, second, *others = designs.ranked
    mine, theirs = best.scores(best.best), second.scores(second.best)
    seeds = f"{len(best.seeds)} seed{'s' * (len(best.seeds) > 1)}"
    if mine.size == theirs.size and mine.size > 1 and not is_apart(mine, theirs):
        sure = f" (the first two are not told apart by {seeds})"
    else:
        sure = " (one seed: chance cannot be judged)" if mine.size == 1 else ""
    measure, reached = _measure(best)
    ranking = listed(f"{reached(one)} with {one.name}" for one in (best, second, *others)[:_FEW])
    asked = [f"{one.name}: {verdict_of_plan(one)[0]}" for one in designs.plans if one.answers or one.sizes is not None]
    return [f"{measure}: {ranking}{sure}.", *asked[:_FEW]]


def _measure(asked: Plan) -> tuple[str, Callable[[Plan], str]]:
    """Return what designs are ranked by (`Plan.merit`), and what gives that of a plan."""
    want, sustain = asked.want, asked.sustain
    if want is not None:
        what = f"Rounds with {counted(want.clients, 'client')}{want.when}"
        return what, lambda plan: exact(float(plan.scores(plan.best).mean()), want.share)
    if sustain is not None:
        return f"Clients that can be wanted in {100 * sustain:g} % of rounds", _sustained
    if asked.has_target:
        return "Rounds on target", lambda plan: exact(float(plan.scores(plan.best).mean()))
    return f"Clients to count on in {100 * RELIABLE:g} % of rounds", lambda plan: f"{plan.best.count_on(RELIABLE):,}"


def _sustained(plan: Plan) -> str:
    held = plan.sustained.get(plan.best.label)
    return amount(held.value) if held is not None and held.found else "none"


def designs_lines(designs: Designs) -> list[Quantity[Plan]]:
    """Return the lines of every plan by label, with the cell of its best scheduler."""
    of_plan = {one.name: {(line.group, line.label): line for line in plan_lines(one)} for one in designs.plans}
    merged = {key: line for lines in of_plan.values() for key, line in lines.items()}

    def line_of(key: tuple[str, str]) -> Quantity[Plan]:
        def cell(plan: Plan) -> Any:
            line = of_plan[plan.name].get(key)
            return cells.NONE if line is None else line.cell(_outlook(plan))

        one = merged[key]
        return Quantity(one.group, one.label, one.meaning, cell, one.nested)

    return [line_of(key) for key in merged]
