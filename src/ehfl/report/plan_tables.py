"""Plans for the terminal."""

from __future__ import annotations

from ehfl.planning import Plan
from ehfl.report.plan_lines import caption, planned
from ehfl.report.tables import SideBySide, lines_of


def plan_table(plan: Plan) -> SideBySide:
    """Return schedulers side by side, a figure a line."""
    names = tuple(one.label for one in plan.outlooks)
    return SideBySide(names, lines_of(planned(plan), plan.outlooks), caption(plan))
